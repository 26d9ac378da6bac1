"""What becomes of a job that others are in the way of, and the sentence that says so."""

from sluice.admission import AdmissionDecision, Blocking
from sluice.api.job import WhenBlocked
from sluice.api.job_status import Phase
from sluice.api.reasons import Reason
from sluice.conflicts.oracle import MAX_WRITERS
from sluice.footprint.model import JobFootprint
from sluice.lifecycle.job.table_rules import Patience
from sluice.tables import TableKey


def outcome_of_waiting(
    when_blocked: WhenBlocked,
    patience: Patience | None,
    decision: AdmissionDecision,
    waited: float,
    *,
    again: bool = False,
) -> tuple[Phase, Reason, str]:
    """Returns phase, reason and message of a job that has been blocked for so many seconds. `again`: an attempt of it has failed,
    so that what it was to do is not done, or half done."""
    whom, once_more = _whom(decision), " again" if again else ""
    if when_blocked is WhenBlocked.SKIP and not again:
        return Phase.SKIPPED, Reason.BLOCKED, f"skipped, because it would have to wait for {whom}"
    if when_blocked is not WhenBlocked.WAIT:
        return Phase.FAILED, Reason.BLOCKED, f"not run{once_more}, because it would have to wait for {whom}"
    if patience is not None and waited >= patience.seconds:
        what_now = (
            "what its earlier attempts committed stays: see status.attempts before you create it again"
            if again
            else "create it again, with a longer admission.timeout if it is to wait longer"
        )
        return (
            Phase.FAILED,
            Reason.TIMED_OUT,
            f"not run{once_more}, because after {patience} it still waited for {whom}; {what_now}",
        )
    starts = "there is a place for it" if is_for_a_place(decision) else "nothing conflicts with it"
    return Phase.WAITING, Reason.BLOCKED, f"waits for {whom}; this job starts once {starts}"


def is_for_a_place(decision: AdmissionDecision) -> bool:
    """Whether nothing conflicts with it, and its table's policy lets no more write it at a time."""
    return any(one.conflict.verdict.rule == MAX_WRITERS.rule for one in decision.blocked_by[:1])


def _whom(decision: AdmissionDecision) -> str:
    """Names the first in the way, and counts the others. The rule's own sentence stands apart: it speaks of statements by their
    kind, and both jobs may have one of that kind."""
    first = decision.blocked_by[0]
    table, why = first.conflict.table, first.conflict.verdict.reason
    waiting = decision.waiter.footprint
    perhaps = _one_by_its_id(waiting, first) or _perhaps_one(waiting, first)
    if perhaps is not None:
        state = "is ahead of it in the queue"
        if first.holds:
            state = "is at rest, and will go on" if first.by.at_rest else "runs"
        return f"{first.by.job}, which {state} ({perhaps}; {why}){_others(decision)}"
    state = "is ahead of it in the queue for"
    if first.holds:
        state = "is at rest, and will go on with" if first.by.at_rest else "runs on"
    return f"{first.by.job}, which {state} {table} ({why}){_others(decision)}"


def _one_by_its_id(waiting: JobFootprint, first: Blocking) -> str | None:
    """Says that the two call one table differently, or a table and a copy of its log, which nothing tells apart. The other's is
    not named: it may be in another namespace."""
    other, table = first.by.footprint, first.conflict.table
    if table in waiting.keys and table in other.keys:
        return None
    is_own = table in waiting.keys
    known, sought = (waiting, other) if is_own else (other, waiting)
    ids = {one.table_id for one in known.tables if one.table == table} - {None}
    found = next((one.table for one in sought.tables if one.table_id in ids and one.table != table), None)
    if found is None:
        return None
    return f"{table if is_own else found} has the same table id as the table that {first.by.job} writes"


def _does(job: JobFootprint, table: TableKey) -> str:
    return "writes" if table in job.keys else "reads"


def _perhaps_one(waiting: JobFootprint, first: Blocking) -> str | None:
    """Says why the other may touch the waiting job's table, where no run has shown that it does. Its own table is not named: it may
    be in another namespace."""
    job, other, table = first.by.job, first.by.footprint, first.conflict.table
    mine, theirs = _touched(waiting), _touched(other)
    if table in mine and table in theirs:
        return None
    if table in mine:
        found = [(table, one) for one in theirs if table.may_equal(one)]
    else:
        found = [(own, table) for own in mine if table in theirs and table.may_equal(own)]
    if not found:
        return None
    own, one = found[0]
    does = _does(other, one)
    if own.is_name and not own.bound:
        return f"{own} is bound to no path, so it may be the table that {job} {does}"
    if one.is_name and not one.bound:
        return f"{job} {does} a table whose name is bound to no path, so it may be {own}"
    return f"{own} may be the table that {job} {does}"


def _touched(job: JobFootprint) -> tuple[TableKey, ...]:
    return tuple(dict.fromkeys((*job.keys, *job.streamed, *job.reads.tables)))


def _others(decision: AdmissionDecision) -> str:
    more = decision.count - 1
    if more < 1:
        return ", and perhaps for more jobs" if decision.at_least else ""
    return f", and for {'at least ' if decision.at_least else ''}{more} more {'job' if more == 1 else 'jobs'}"
