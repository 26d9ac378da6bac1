"""What must hold in every state, told by what really runs, not by what anybody believes."""

from protocol.design import Design
from protocol.grants.state import FOREIGN, Key, Lease, Request, Run, Setting, State

NO_DOUBLE_GRANT = "no double grant"
REDIS_AS_LEFT = "a table with its leader's version holds what its leader holds"
OUTCOME_IS_OWN = "an outcome is that of the attempt's own driver"
REBUILD_FINDS_ALL = "whatever holds a lease is found by a rebuild"
WRITERS_ARE_HELD = "its leader holds the lease of whatever can write"
TRUSTED = "a Redis that forgot nothing is trusted"


def violated(s: State, setting: Setting) -> tuple[str, str] | None:
    if s.missed:
        return REBUILD_FINDS_ALL, s.missed
    found = _double_grant(s, setting.fenceable) or _anothers_outcome(s) or _parted(s)
    if found is None and setting.under_way:
        return _unheld(s) or _mistrusted(s, setting)
    return found


def _double_grant(s: State, fenceable: bool) -> tuple[str, str] | None:
    writers = [run for run in s.runs if run.writes]
    for n, one in enumerate(writers):
        for other in writers[n + 1 :]:
            same_job = (
                one.key[:2] == other.key[:2]
            )  # whose newer attempt fences the older first, where it can
            if one.spec == other.spec and not (same_job and fenceable):
                return (
                    NO_DOUBLE_GRANT,
                    f"the drivers of {one.key} and {other.key} can both write, and they conflict",
                )
    leases = sorted(s.redis.leases)
    for n, lease in enumerate(leases):
        for rival in leases[n + 1 :]:
            if lease.spec == rival.spec and lease.key[:2] != rival.key[:2]:
                return NO_DOUBLE_GRANT, f"{lease.key} and {rival.key} hold leases together, and they conflict"
    return None


def _anothers_outcome(s: State) -> tuple[str, str] | None:
    for run in s.runs:
        job = s.jobs[run.key.job] if run.token == FOREIGN else None
        if job and (job.uid, job.attempt, job.phase) == (*run.key[1:], "ended"):
            return OUTCOME_IS_OWN, f"job{run.key.job} is told to have ended as another's {run.key} did"
    return None


def _parted(s: State) -> tuple[str, str] | None:
    for operator in s.operators:
        if operator.role == "leading" and (operator.epoch, operator.version) == s.redis[:2]:
            differing = {lease.token for lease in operator.held ^ s.redis.leases}
            if differing:
                tokens = ", ".join(map(str, sorted(differing)))
                return REDIS_AS_LEFT, f"its leader and Redis don't agree on who holds {tokens}"
    return None


def _unheld(s: State) -> tuple[str, str] | None:
    leader = s.operators[s.holder]
    if leader.role == "leading" and s.redis.epoch == leader.epoch > s.went_back:
        tokens = {lease.token for lease in leader.held}
        for run in s.runs:
            if _may_write(s, run) and run.token not in tokens:
                return (
                    WRITERS_ARE_HELD,
                    f"{run.key} (token {run.token}) can write, and its leader doesn't hold it",
                )
    return None


def _mistrusted(s: State, setting: Setting) -> tuple[str, str] | None:
    if any(setting.budget) or not any(operator.mistrusts for operator in s.operators):
        return None
    return TRUSTED, "its leader takes its own requests for amnesia"


def _may_write(s: State, run: Run) -> bool:
    return run.writes if s.went_back else run.may_write  # the Spark operator is stopped then


def missed_by(s: State, found: frozenset[Lease], design: Design) -> str:
    """What can write, now or later, and isn't in a rebuilt lease table."""
    tokens = {lease.token for lease in found}
    for run in s.runs:
        if _may_write(s, run) and run.token not in tokens:
            return f"{run.key} (token {run.token}) can write and the rebuild doesn't know it"
    under_way = (
        sent.request for operator in s.operators for sent in operator.under_way if sent.answer is None
    )
    for request in (*s.late, *under_way):
        if not isinstance(request, Request) or request.kind != "create" or request.token in tokens:
            continue
        there = s.run(Key(request.job, request.seen.uid, request.seen.attempt))
        name_free = there is None or there.app == "gone"
        if name_free and (not design.policy_on_creates or request.epoch >= s.enforced):
            return f"a create for job{request.job} (token {request.token}) can still land and the rebuild doesn't know it"
    return ""


def unfinished(s: State) -> str | None:
    for at, job in enumerate(s.jobs):
        if job is not None and job.phase != "ended":
            return f"job{at} is {job.phase}"
    for run in s.runs:
        if (run.held and run.app != "gone") or run.pod_held or run.tombstone:
            return f"{run.key} is still held"
    if s.went_back:
        return "the Spark operator is stopped"
    for lease in s.redis.leases:
        return f"the lease of {lease.key} is never released"
    return None
