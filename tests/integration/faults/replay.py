"""What two conflicting jobs of a round went through, replayed through the model of leases (tests/protocol/grants).

The servers' records show part of a model's state: which leases Redis has and under which epoch, the epochs of the Lease object and
of the admission policy's parameter, the jobs' phases, what is left of their applications and drivers. Everything else of a state
(what an operator is about to do, what it has listed, whether an API server lags) is hidden. So the replay keeps all the model's
states that fit what was seen so far; a change of what is seen must be one step of the model from one of them, after any number of
steps that change nothing of it. Where none fits, the operator did what the model does not allow.

How much of the model it is: the design as decided, two jobs on one table, one attempt each, takeovers at any moment, a Redis that
loses everything, a user who deletes one job. It follows landings: a request that lands late is a leader that was paused before it.
Not replayed are jobs with a second attempt or an attempt that was withdrawn, and rounds in which somebody strips finalizers.

Where the model is coarser than what happens, the replay adds to it. Its two operators are never killed but paused without end,
which is not enough for more than two leaders in a row: an operator may be started anew at any moment. Its intents meet a conflict
only if the spec was edited: others touch jobs, too. Its applications say that they have their driver as soon as it is there: real
ones may be deleted before (see `refused`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from integration.faults.attempts import exit_code
from integration.faults.audited import Landed
from integration.faults.lease_history import LeaseHistory
from protocol.grants.epochs import Epochs
from protocol.grants.scenarios import Grants
from protocol.grants.state import Budget, Key, State, with_hand
from sluice.api import names
from sluice.engines import is_placeholder
from sluice.kube.resources import KUBEFLOW_APPLICATIONS

MOST_STATES = 200_000
TAKEN = "an epoch in the Lease object"
LOSS = "Redis loses everything"
GIVEN_BACK = "GrantGivenBack"
"""The reason that an operator writes to a job so that an intent without an answer can't land any more; the model repeats it."""


class Run(NamedTuple):
    application: str = "none"  # none | held | deleted (and held) | free
    driver: str = "none"  # none | running | terminated | gated | free


class Seen(NamedTuple):
    """What the records show of a state."""

    lease_epoch: int
    parameter: int
    redis_epoch: int
    leases: frozenset[int]
    phases: tuple[str | None, ...]
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Change:
    at: float
    what: str
    change: Callable[[Seen], Seen]


@dataclass(frozen=True)
class Refused:
    """A change that is no step of the model."""

    what: str
    before: Seen
    after: Seen

    def __str__(self) -> str:
        return f"the model does not allow: {self.what}; before it {self.before}, after it {self.after}"


def shown(s: State) -> Seen:
    runs = [s.run(Key(at, at, 1)) for at in range(2)]
    return Seen(
        s.lease_epoch,
        s.floor,
        s.redis.epoch,
        frozenset(lease.key.job for lease in s.redis.leases),
        tuple(None if job is None else job.phase for job in s.jobs),
        tuple(Run() if run is None else Run(_application(run), _driver(run)) for run in runs),
    )


def _application(run: object) -> str:
    app, held, deleting = (getattr(run, name) for name in ("app", "held", "deleting"))
    if app == "gone" or not held:
        return "free"
    return "deleted" if deleting else "held"


def _driver(run: object) -> str:
    pod, held, process = (getattr(run, name) for name in ("pod", "pod_held", "process"))
    if pod == "gated" or (pod != "none" and held):
        return str(pod)
    return "free" if process == "dead" else "none"


def refused(changes: Sequence[Change], *, jobs_are_touched: bool = False, unsaid: int = 0) -> Refused | None:
    """The first change that the model does not allow. `jobs_are_touched`: whether a write of an intent may have met a job that
    somebody has changed, in something that the model does not have; the operator itself does that where it has no answer to
    such a write. `unsaid`: applications that never came to say that they have
    their driver; in the model they say so at once, and may lose that word."""
    takeovers = sum(change.what == TAKEN for change in changes)
    losses = sum(change.what == LOSS for change in changes)
    model = Grants(
        "a trace",
        budget=Budget(takeovers=takeovers, job_deletions=1, losses=losses, resubmissions=unsaid),
        attempts=1,
        fenceable=False,
    )
    states = {model.initial()}
    now = shown(next(iter(states)))
    for change in changes:
        then = change.change(now)
        if then == now:
            continue
        states = set(_after(model, states, now, then, jobs_are_touched))
        if not states:
            return Refused(change.what, now, then)
        now = then
    return None


def _after(
    model: Grants, states: set[State], now: Seen, then: Seen, jobs_are_touched: bool
) -> Iterator[State]:
    """The states to which one step leads that shows, after any number of hidden ones."""
    known, queue = set(states), list(states)
    for state in queue:  # grows while it is walked
        for after in (*_one_step(model, state), *(_conflicts(state) if jobs_are_touched else ())):
            told = shown(after)
            if told == then:
                yield after
            elif told == now and after not in known:
                known.add(after)
                queue.append(after)
        assert len(known) < MOST_STATES, "the trace tells too little of what is hidden"


def _one_step(model: Grants, state: State) -> Iterator[State]:
    for step in model.steps(state):
        after = step.state
        assert isinstance(after, State)
        yield after
    if model.budget.takeovers:
        for who, operator in enumerate(state.operators):
            if operator.role != "follower":
                yield Epochs(model).deposed(state, who)  # its process is killed and started anew


def _conflicts(state: State) -> Iterator[State]:
    """An intent that could not be written, for a change of its job."""
    for who, operator in enumerate(state.operators):
        for job, hand in enumerate(operator.hands):
            if hand.doing == "intending":
                yield with_hand(state, who, job, hand._replace(doing="returning"))


def changes_of(
    uids: Sequence[str], writes: Sequence[Landed], leases: LeaseHistory, epoch: int
) -> list[Change]:
    """What happened to two jobs. `epoch`: the one that was in force before."""
    reading = _Reading(uids, epoch)
    for write, at in _in_order(writes):
        reading.write(write, at)
    reading.leases(leases)
    ranks = {epoch: rank for rank, epoch in enumerate(sorted(reading.epochs), 1)}
    return [
        Change(at, what, lambda seen, make=make: make(seen, ranks))  # type: ignore[misc]  # bound now
        for at, what, make in sorted(reading.found, key=lambda one: one[0])
    ]


def _in_order(writes: Sequence[Landed]) -> Iterator[tuple[Landed, float]]:
    """With a moment at which each may have landed: in the order of its object's versions where there is one, and as early as may
    be. Versions of other objects tell nothing: a request that changes nothing is answered with an old one. An object's end comes
    after all of its versions, even after those that were asked for when its deletion was on its way."""
    fresh = [write for write in writes if write.version is not None and not write.is_gone]
    latest: dict[str, float] = {}
    for write in sorted(fresh, key=lambda one: one.version or 0):
        latest[write.of] = max(latest.get(write.of, 0.0), write.received)
        yield write, latest[write.of]
    for write in writes:
        if write.is_gone:
            yield write, min(max(latest.get(write.of, 0.0), write.received), write.answered)
        elif write.version is None:
            yield write, write.received


def is_given_back(uids: Sequence[str], writes: Sequence[Landed]) -> bool:
    """Whether an operator wrote to one of these jobs that its grant was given back."""
    return any(
        (write.body.get("status") or {}).get("reason") == GIVEN_BACK
        for write in writes
        if write.kind == names.JOB_PLURAL and write.metadata.get("uid") in uids
    )


Make = Callable[[Seen, dict[int, int]], Seen]


class _Reading:
    def __init__(self, uids: Sequence[str], epoch: int) -> None:
        self._uids = list(uids)
        self._names: dict[str, int] = {}
        self.epochs = {epoch}
        self.found: list[tuple[float, str, Make]] = []

    def write(self, write: Landed, at: float) -> None:
        if write.kind == "leases":
            epoch = (write.metadata.get("annotations") or {}).get(names.ANNOTATION_EPOCH)
            if epoch is not None:
                self._epoch(at, TAKEN, lambda seen, rank: seen._replace(lease_epoch=rank), int(epoch))
        elif write.kind == "configmaps" and write.name.endswith("-epoch"):
            epoch = int(write.body["data"][names.EPOCH_KEY])
            what = "the parameter is raised"
            self._epoch(at, what, lambda seen, rank: seen._replace(parameter=rank), epoch)
        elif write.kind == names.JOB_PLURAL:
            self._job(write, at)
        else:
            self._object(write, at)

    def leases(self, history: LeaseHistory) -> None:
        for held in history.held:
            job = self._index(held.uid)
            if job is not None and not held.is_of_rebuild:
                self._note(held.since, f"a grant to job {job}", _leases(add=job))
            if job is not None and held.until is not None and held.released:
                self._note(held.until, f"a release of job {job}", _leases(drop=job))
        for rebuild in history.rebuilds:
            own = frozenset(
                job
                for holder in rebuild.holders
                if (job := self._index(holder.partition("/")[0])) is not None
            )
            self.epochs.add(rebuild.epoch)
            self._note(rebuild.at, f"a rebuild with {sorted(own)}", _rebuilt(rebuild.epoch, own))
        for moment in history.forgot:
            self._note(moment, LOSS, lambda seen, _: seen._replace(redis_epoch=0, leases=frozenset()))

    def _index(self, uid: str | None) -> int | None:
        return self._uids.index(uid) if uid in self._uids else None

    def _note(self, at: float, what: str, make: Make) -> None:
        self.found.append((at, what, make))

    def _epoch(self, at: float, what: str, change: Callable[[Seen, int], Seen], epoch: int) -> None:
        self.epochs.add(epoch)
        self._note(at, what, lambda seen, ranks: change(seen, ranks[epoch]))

    def _job(self, write: Landed, at: float) -> None:
        if write.is_gone:
            job = self._names.get(write.name)
            phase = None
        else:
            job = self._index(write.metadata["uid"])
            if job is not None:
                self._names[write.name] = job
            attempts = (write.body.get("status") or {}).get("attempts") or []
            phase = "waiting" if not attempts else "ended" if attempts[-1].get("outcome") else "granted"
        if job is not None:
            self._note(at, f"job {job} is {phase}", _phase(job, phase))

    def _object(self, write: Landed, at: float) -> None:
        labels = write.metadata.get("labels") or {}
        job = self._index(labels.get(names.LABEL_JOB_UID))
        if job is None:
            return
        held = names.FINALIZER_LEASE in (write.metadata.get("finalizers") or [])
        if write.kind == KUBEFLOW_APPLICATIONS.plural:
            deleted = "deletionTimestamp" in write.metadata
            state = ("deleted" if deleted else "held") if held else "free"
            self._note(at, f"the application of job {job} is {state}", _run(job, application=state))
        else:
            state = _pod_state(write, held=held)
            self._note(at, f"the driver of job {job} is {state}", _run(job, driver=state))


def _pod_state(write: Landed, *, held: bool) -> str:
    if is_placeholder(write.body):
        return "gated"
    if not held:
        return "free"
    return "running" if exit_code(write.body.get("status") or {}) is None else "terminated"


def _leases(*, add: int | None = None, drop: int | None = None) -> Make:
    def change(seen: Seen, _: dict[int, int]) -> Seen:
        left = {job for job in seen.leases if job != drop}
        return seen._replace(leases=frozenset(left if add is None else left | {add}))

    return change


def _rebuilt(epoch: int, own: frozenset[int]) -> Make:
    return lambda seen, ranks: seen._replace(redis_epoch=ranks[epoch], leases=own)


def _phase(job: int, phase: str | None) -> Make:
    return lambda seen, _: seen._replace(phases=(*seen.phases[:job], phase, *seen.phases[job + 1 :]))


def _run(job: int, **changes: str) -> Make:
    return lambda seen, _: seen._replace(
        runs=(*seen.runs[:job], seen.runs[job]._replace(**changes), *seen.runs[job + 1 :])
    )
