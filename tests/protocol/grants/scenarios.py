"""The grant model under chosen faults: one scenario a question, each small enough to be searched to its end."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from protocol.design import DESIGN
from protocol.grants import invariants
from protocol.grants.epochs import IDLE
from protocol.grants.operators import Operators
from protocol.grants.state import NEW, Budget, Job, Operator, Redis, Setting, State
from protocol.grants.surroundings import Surroundings
from protocol.grants.workers import Workers
from protocol.search import Step


class Grants(Setting):
    """A model for the search. Operator A leads under epoch 1 when it begins."""

    def initial(self) -> State:
        hands = (IDLE,) * len(self.specs)
        return State(
            operators=(Operator("leading", 1, hands=hands), Operator(hands=hands)),
            holder=0,
            lease_epoch=1,
            floor=1,
            enforced=1,
            redis=Redis(1, NEW, frozenset()),
            saved=None,
            jobs=tuple(Job(uid, spec) for uid, spec in enumerate(self.specs)),
            runs=(),
            late=frozenset(),
            uids=len(self.specs),
            budget=self.budget,
        )

    @cached_property
    def actors(self) -> tuple[Operators, Surroundings]:
        return Workers(self) if self.under_way else Operators(self), Surroundings(self)

    def steps(self, state: State) -> Iterator[Step]:
        for actor in self.actors:
            yield from actor.steps(state)

    def violated(self, state: State) -> tuple[str, str] | None:
        return invariants.violated(state, self)

    def unfinished(self, state: State) -> str | None:
        return invariants.unfinished(state)

    def unmet(self, states: list[State]) -> str:
        if all(any(s.budget) for s in states):
            return "in no state have all its faults happened"
        never = self.late - {request.kind for s in states for request in s.late}
        return f"{', '.join(sorted(never))}: such a request is never late" if never else ""


def _late(*kinds: str) -> frozenset[str]:
    return frozenset(kinds)


PAUSED_LEADER = Grants(
    "a paused leader, its requests late",
    budget=Budget(takeovers=1, late=1),
    late=_late("grant", "intent", "create", "release"),
)
DEAD_LEADER = Grants(
    "a leader that never comes back, its requests late",
    budget=Budget(takeovers=1, late=1),
    late=_late("grant", "intent", "create", "release"),
    dead_leaders=True,
)
LAGGING_POLICY = Grants(
    "a dead leader's create, and an API server that never sees the policy's new parameter",
    budget=Budget(takeovers=1, late=1),
    late=_late("create"),
    dead_leaders=True,
    lagging_policy=True,
)
LEASE_OBJECT_DELETED = Grants("the Lease object deleted", budget=Budget(takeovers=1, lease_deletions=1))
LEASE_OBJECT_AND_REDIS = Grants(
    "the Lease object deleted, and Redis loses everything",
    budget=Budget(takeovers=1, lease_deletions=1, losses=1),
)
REDIS_LOSES_ALL = Grants("Redis loses everything", budget=Budget(takeovers=1, losses=1))
REDIS_GOES_BACK = Grants("Redis goes back", budget=Budget(takeovers=1, saves=1, restores=1))
REDIS_GOES_BACK_LATE = Grants(
    "Redis goes back, and a grant or release is late",
    budget=Budget(late=1, saves=1, restores=1),
    late=_late("grant", "release"),
)
REDIS_GOES_BACK_THREE = Grants(
    "Redis goes back, a grant is late, and a third job moves the table's version without a conflict",
    specs="aab",
    budget=Budget(late=1, saves=1, restores=1),
    late=_late("grant"),
)
SPARK_OPERATOR_LIES = Grants("the Spark operator errs", budget=Budget(wrong_failures=1, app_deletions=1))
RETRIES = Grants("retries", budget=Budget(driver_failures=1, wrong_failures=1), attempts=2)
NODE_LOST = Grants("a node is lost, fenceable jobs", budget=Budget(node_losses=1, takeovers=1), attempts=2)
NODE_LOST_RETRY_DIES = Grants(
    "a node is lost, and the retry dies", budget=Budget(node_losses=1, driver_failures=1), attempts=2
)
NODE_LOST_UNFENCEABLE = Grants(
    "a node is lost, jobs that can't be fenced",
    budget=Budget(node_losses=1, driver_failures=1),
    attempts=2,
    fenceable=False,
)
TOMBSTONES = Grants(
    "a job is deleted while its node is lost",
    budget=Budget(node_losses=1, job_deletions=1, takeovers=1),
    fenceable=False,
)
USER_EDITS = Grants("the user edits", specs="ab", budget=Budget(edits=1, takeovers=1))
USER_EDITS_AWAY = Grants("the user edits a conflict away", specs="aa", budget=Budget(edits=1, takeovers=1))
USER_RECREATES = Grants("the user deletes and re-creates", budget=Budget(job_deletions=1, creations=1))
NAME_FREED = Grants(
    "a paused leader frees a name while the new one's create is late",
    budget=Budget(job_deletions=1, late=1, takeovers=1),
    late=_late("create"),
)
WATCH_LAGS = Grants(
    "the leader's watch lags, and the user deletes", budget=Budget(job_deletions=1, watch_lags=1)
)
CREATE_TWICE = Grants(
    "a create lands twice, and the user deletes", budget=Budget(job_deletions=1, late=1), late=_late("create")
)
GIVEN_BACK_LATE = Grants(
    "a release is late, after the user edited",
    specs="ab",
    budget=Budget(edits=1, late=1),
    late=_late("release"),
)
STRIPPED = Grants("finalizers are stripped, and the user deletes", budget=Budget(strips=2, job_deletions=1))
STRIPPED_ON_LOST_NODE = Grants(
    "a lost node's driver is stripped of its finalizer, and the user deletes",
    budget=Budget(node_losses=1, strips=1, job_deletions=1),
)
EARLY_WORD = Grants(
    "a person says that a driver is dead before its node is lost",
    budget=Budget(node_losses=1, strips=1, early_words=1, job_deletions=1),
)
DRIVERS_ACCOUNT = Grants(
    "a driver's account makes its pod go, and another of its name",
    budget=Budget(removals=1, forgeries=1, job_deletions=1),
)
PLACEHOLDER_DELETED = Grants(
    "a placeholder is deleted",
    budget=Budget(unblocked=1, job_deletions=1, wrong_failures=1),
)
SUBMITTED_AGAIN = Grants(
    "an application is submitted again after its driver's end",
    budget=Budget(resubmissions=1, pod_deletions=1, job_deletions=1),
)
NAME_TAKEN = Grants("another's application bears the name", budget=Budget(foreign_applications=1))
REFUSED = Grants(
    "a create is refused, and another one is late",
    budget=Budget(refusals=2, late=1),
    late=_late("create"),
    attempts=3,
)
API_GOES_BACK = Grants(
    "the API server goes back to a backup", budget=Budget(backups=1, api_restores=1), attempts=2
)
API_GOES_BACK_TAKEOVER = Grants(
    "the API server goes back to a backup, and a dead leader",
    budget=Budget(backups=1, api_restores=1, takeovers=1),
    attempts=2,
    dead_leaders=True,
)
TWO_TAKEOVERS = Grants("two takeovers", budget=Budget(takeovers=2))
THREE_JOBS = Grants("three jobs", specs="aab", budget=Budget(late=1), late=_late("grant", "intent"))

ANY_KIND = _late("grant", "intent", "create", "release", "status", "objects")
SEVERAL = Grants("several requests under way", specs="ab", under_way=True)
SEVERAL_UNANSWERED = Grants(
    "several requests under way, and one has no answer",
    under_way=True,
    budget=Budget(late=1),
    late=ANY_KIND,
)
SEVERAL_TAKEOVER = Grants(
    "several requests under way, and a takeover", under_way=True, budget=Budget(takeovers=1)
)
SEVERAL_DELETED = Grants(
    "several requests under way, and the user deletes", under_way=True, budget=Budget(job_deletions=1)
)
SEVERAL_REDIS_LOST = Grants(
    "several requests under way, one has no answer, and Redis loses everything",
    under_way=True,
    budget=Budget(losses=1, late=1),
    late=ANY_KIND,
)
SEVERAL_REDIS_BACK = Grants(
    "several requests under way, and Redis goes back", under_way=True, budget=Budget(saves=1, restores=1)
)
SEVERAL_NO_POLICY = Grants(
    "several requests under way, no policy, and Redis loses everything",
    under_way=True,
    budget=Budget(losses=1),
    design=replace(DESIGN, policy_on_creates=False, policy_on_status=False, policy_on_finalizers=False),
)
SEVERAL_API_BACK = Grants(
    "several requests under way, and the API server goes back to a backup",
    under_way=True,
    budget=Budget(backups=1, api_restores=1),
    attempts=2,
)

# Too large to be searched to its end here: it serves to show what steps protect from.
ONLY_MUTATED = (REDIS_GOES_BACK_THREE,)
ONLY_LONG = (NAME_FREED, API_GOES_BACK_TAKEOVER)
ALL = tuple(
    value
    for value in list(globals().values())
    if isinstance(value, Grants) and value not in ONLY_LONG + ONLY_MUTATED
)

ALL_KINDS = _late("grant", "intent", "create", "release")
LONG = (
    *ONLY_LONG,
    Grants(
        "finalizers are stripped, a deleted job, a takeover",
        budget=Budget(strips=2, job_deletions=1, takeovers=1),
    ),
    Grants(
        "a refused create, another one is late, a takeover",
        budget=Budget(refusals=1, late=1, takeovers=1),
        late=_late("create"),
        attempts=2,
    ),
    Grants("three jobs, a takeover", specs="aab", budget=Budget(takeovers=1)),
    Grants("two takeovers, late requests", budget=Budget(takeovers=2, late=1), late=ALL_KINDS),
    Grants("a lost Redis, late requests", budget=Budget(losses=1, late=1), late=ALL_KINDS),
    Grants("a re-created job, a takeover", budget=Budget(job_deletions=1, creations=1, takeovers=1)),
    Grants(
        "a lagging watch, a deleted job, a takeover",
        budget=Budget(watch_lags=1, job_deletions=1, takeovers=1),
    ),
    Grants(
        "a failed driver, a false failure, a takeover",
        budget=Budget(driver_failures=1, wrong_failures=1, takeovers=1),
    ),
    Grants(
        "a lost node, a Redis that goes back", budget=Budget(node_losses=1, saves=1, restores=1), attempts=2
    ),
    Grants(
        "a lost node, a deleted job, a late create",
        budget=Budget(node_losses=1, job_deletions=1, late=1),
        late=_late("create"),
        attempts=2,
    ),
    Grants(
        "a lost node, a deleted job, a retry",
        budget=Budget(node_losses=1, job_deletions=1, driver_failures=1),
        attempts=2,
    ),
    Grants(
        "several requests under way, one has no answer, and Redis goes back",
        under_way=True,
        budget=Budget(saves=1, restores=1, late=1),
        late=ANY_KIND,
    ),
    Grants(
        "several requests under way, one has no answer, and the user deletes",
        under_way=True,
        budget=Budget(job_deletions=1, late=1),
        late=ANY_KIND,
    ),
    Grants(
        "several requests under way, no policy, one has no answer, and Redis loses everything",
        under_way=True,
        budget=Budget(losses=1, late=1),
        late=ANY_KIND - {"create"},
        design=SEVERAL_NO_POLICY.design,
    ),
    Grants(
        "several requests under way, and the Spark operator errs",
        under_way=True,
        budget=Budget(wrong_failures=1, app_deletions=1),
    ),
    Grants(
        "several requests under way, a create is refused, and another one has no answer",
        under_way=True,
        budget=Budget(refusals=1, late=1),
        late=_late("create", "status"),
        attempts=2,
    ),
    Grants(
        "several requests under way, finalizers are stripped, and the user deletes",
        under_way=True,
        budget=Budget(strips=2, job_deletions=1),
    ),
    Grants("several requests under way, three jobs", specs="aab", under_way=True),
    Grants(
        "several requests under way, no policy, the user edits, and Redis loses everything",
        specs="ab",
        under_way=True,
        budget=Budget(losses=1, edits=1),
        design=SEVERAL_NO_POLICY.design,
    ),
)
