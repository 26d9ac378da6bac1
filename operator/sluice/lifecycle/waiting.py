"""What becomes of a job that others are in the way of, and the sentence that says so."""

from sluice.admission import Decision
from sluice.api.job import WhenBlocked
from sluice.api.job_status import Phase
from sluice.api.reasons import Reason
from sluice.conflicts.oracle import MAX_WRITERS
from sluice.lifecycle.table_rules import Patience


def outcome_of_waiting(
    when_blocked: WhenBlocked,
    patience: Patience | None,
    decision: Decision,
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


def is_for_a_place(decision: Decision) -> bool:
    """Whether nothing conflicts with it, and its table's policy lets no more write it at a time."""
    return any(one.conflict.verdict.rule == MAX_WRITERS.rule for one in decision.blocked_by[:1])


def _whom(decision: Decision) -> str:
    """Names the first in the way, and counts the others. The rule's own sentence stands apart: it speaks of statements by their
    kind, and both jobs may have one of that kind."""
    first = decision.blocked_by[0]
    state = "is ahead of it in the queue for"
    if first.holds:
        state = "is at rest, and will go on with" if first.by.at_rest else "runs on"
    conflict = first.conflict
    return f"{first.by.job}, which {state} {conflict.table} ({conflict.verdict.reason}){_others(decision)}"


def _others(decision: Decision) -> str:
    more = decision.count - 1
    if more < 1:
        return ", and perhaps for more jobs" if decision.at_least else ""
    return f", and for {'at least ' if decision.at_least else ''}{more} more {'job' if more == 1 else 'jobs'}"
