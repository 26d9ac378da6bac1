"""What there is: two operators' memories, Redis, the API server's objects, and the processes that really run.

Everything is an immutable tuple, so that a state is its own key in the search. All conflict is told by one
letter: two specs with the same letter conflict. One application's name stands for (job, uid, attempt).
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from protocol.design import DESIGN, Design


class Token(NamedTuple):
    epoch: int
    number: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.number}"


class Key(NamedTuple):
    """An attempt: its application's name, and what its lease is kept under."""

    job: int
    uid: int
    attempt: int

    def __str__(self) -> str:
        return f"job{self.job}/uid{self.uid}/attempt{self.attempt}"


class Job(NamedTuple):
    """A DeltaWriteJob. There is no resourceVersion: the precondition compares the whole object."""

    uid: int
    spec: str
    phase: str = "waiting"  # waiting | granted (the intent is written) | ended
    attempt: int = 0
    token: Token | None = None
    leased: str = ""  # the spec that the intent's lease was granted for


class Version(NamedTuple):
    """A table's version: it counts the changes, and is marked by the request that made the last one."""

    number: int = 0
    mark: str = ""

    def __str__(self) -> str:
        return str(self.number)


NEW = Version()


class Lease(NamedTuple):
    key: Key
    token: Token
    spec: str
    on: Version | None = None  # the version that its grant was decided on; a rebuild doesn't know it


class Redis(NamedTuple):
    epoch: int
    version: Version
    leases: frozenset[Lease]
    unexplained: frozenset[Token] = (
        frozenset()
    )  # held by nothing that Kubernetes shows, until a person revokes them


class Run(NamedTuple):
    """All that exists under one application's name, in Kubernetes and on the node."""

    key: Key
    token: Token
    spec: str
    app: str = "new"  # new | submitted | ended | gone
    deleting: bool = False
    held: bool = True  # our finalizer on the application
    submitting: bool = False  # the Spark operator has read the application and will create the driver
    pod: str = "none"  # none | running | terminated | lost | gated | forged (another pod of its name, which has ended)
    pod_held: bool = False  # our finalizer on the driver pod
    told: bool = False  # the application says that it has had its driver
    word: str = ""  # a person's: owed (its node was lost, or its pod made to go) | given: it is dead
    early: bool = False  # somebody has said that it is dead before anybody was told of a loss
    process: str = "none"  # none | alive | dead: the truth on the node, which nobody sees
    fenced: bool = False
    succeeded: bool = False
    tombstone: bool = False
    birth: int = (
        0  # how many applications bore the name before; only where requests are under way beside each other
    )

    @property
    def writes(self) -> bool:
        return self.process == "alive" and not self.fenced

    @property
    def may_write(self) -> bool:
        """It writes now, or a driver can still come of it."""
        coming = self.submitting or (self.app == "new" and not self.deleting)
        return self.writes or (coming and self.pod == "none")


class Hand(NamedTuple):
    """What an operator is about to do for one job; it may be paused here for as long as it likes."""

    doing: str = "idle"  # idle | granting | intending | creating | refused | returning
    job: Job | None = None  # as it was read
    version: Version = NEW
    token: Token | None = None


class Request(NamedTuple):
    """A request that left its sender: judged by what the server knows when it lands."""

    kind: str  # grant | intent | create | release
    epoch: int
    job: int
    seen: Job
    token: Token | None = None
    version: Version = NEW


class Write(NamedTuple):
    """Any other write of an operator: to a job's status, under its resourceVersion, or to what bears one application's
    name, under its uid."""

    kind: str  # status | objects
    epoch: int
    job: int
    uid: int
    seen: Job | None = None
    then: Job | None = None
    key: Key | None = None
    birth: int = 0
    changes: tuple[tuple[str, object], ...] = ()


class Sent(NamedTuple):
    """A request under way beside what else its leader does: not there yet, or its answer is on the way back."""

    request: Request | Write
    answer: object = None
    twin: bool = False  # of one that is the same and under way, too


class Operator(NamedTuple):
    role: str = "follower"
    epoch: int = 0
    version: Version = NEW  # as it left it in Redis
    held: frozenset[Lease] = frozenset()  # by its own memory, which decides
    found: frozenset[Lease] = frozenset()
    hands: tuple[Hand, ...] = ()
    unsure: bool = False  # a create of this epoch has no answer
    # Only where requests are under way beside each other:
    under_way: frozenset[Sent] = frozenset()
    releasing: frozenset[Token] = frozenset()  # decided on, and not sent yet
    mistrusts: bool = False  # its lease table: it'll begin anew


class Budget(NamedTuple):
    """How many of each fault, and of each whim of the user, may still come."""

    takeovers: int = 0
    late: int = 0
    losses: int = 0
    saves: int = 0
    restores: int = 0
    lease_deletions: int = 0
    watch_lags: int = 0
    job_deletions: int = 0
    creations: int = 0
    edits: int = 0
    app_deletions: int = 0
    wrong_failures: int = 0
    node_losses: int = 0
    driver_failures: int = 0
    strips: int = 0  # of our finalizers, by hand
    early_words: int = 0  # that a driver is dead, before anybody was told of its loss
    resubmissions: int = 0
    pod_deletions: int = 0
    removals: int = 0  # of drivers' pods, by force, while they run
    forgeries: int = 0  # of pods that bear a driver's name and record
    unblocked: int = 0  # deletions of a placeholder
    foreign_applications: int = 0
    refusals: int = 0  # of creates, for certain: a quota, a webhook
    backups: int = 0  # of the API server
    api_restores: int = 0


NO_FAULTS = Budget()


@dataclass(frozen=True)
class Setting:
    """What one scenario allows; the actors read it, and nothing in it changes."""

    name: str
    specs: str = "aa"  # one letter a job; the same letter conflicts
    budget: Budget = NO_FAULTS
    late: frozenset[str] = frozenset()  # the kinds of request that a network may delay
    attempts: int = 1
    fenceable: bool = True
    under_way: bool = False  # requests of one leader are under way beside each other
    dead_leaders: bool = False  # who loses the Lease never acts again (its requests may)
    lagging_policy: bool = (
        False  # an API server that no probe reaches never sees the policy's parameter raised
    )
    design: Design = DESIGN

    @property
    def jobs_alike(self) -> bool:
        """Exchanging two jobs exchanges their states, so that it does to let the user touch the first one."""
        return len(set(self.specs)) == 1


class Backup(NamedTuple):
    """The API server as it was."""

    holder: int
    lease_epoch: int
    floor: int
    jobs: tuple[Job | None, ...]
    runs: tuple[Run, ...]


class State(NamedTuple):
    operators: tuple[Operator, ...]
    holder: int  # of the Lease object
    lease_epoch: int
    floor: int  # the admission policy's parameter as stored
    enforced: int  # and as the slowest API server enforces it
    redis: Redis
    saved: Redis | None
    jobs: tuple[Job | None, ...]
    runs: tuple[Run, ...]
    late: frozenset[Request | Write]
    uids: int
    budget: Budget
    backup: Backup | None = None
    went_back: int = (
        0  # the API server, when Redis served this epoch; the Spark operator is stopped meanwhile
    )
    missed: str = ""  # what a rebuild failed to find, by the omniscient

    def run(self, key: Key) -> Run | None:
        return next((run for run in self.runs if run.key == key), None)


T = TypeVar("T")


def put(items: tuple[T, ...], at: int, item: T) -> tuple[T, ...]:
    return (*items[:at], item, *items[at + 1 :])


def with_operator(s: State, who: int, **changes: object) -> State:
    return s._replace(operators=put(s.operators, who, s.operators[who]._replace(**changes)))  # type: ignore[arg-type]


def with_hand(s: State, who: int, job: int, hand: Hand) -> State:
    return with_operator(s, who, hands=put(s.operators[who].hands, job, hand))


def with_job(s: State, at: int, job: Job | None) -> State:
    return s._replace(jobs=put(s.jobs, at, job))


def with_run(s: State, run: Run) -> State:
    return s._replace(runs=tuple(sorted((*(r for r in s.runs if r.key != run.key), run))))


def spend(s: State, **costs: int) -> State:
    return s._replace(budget=s.budget._replace(**{k: getattr(s.budget, k) - v for k, v in costs.items()}))


FOREIGN = Token(0, 0)
"""An application that bears the name of one of ours."""


def lease_of(run: Run) -> Lease:
    return Lease(run.key, run.token, run.spec)


def intent_of(at: int, job: Job) -> Lease:
    assert job.token is not None
    return Lease(Key(at, job.uid, job.attempt), job.token, job.leased)
