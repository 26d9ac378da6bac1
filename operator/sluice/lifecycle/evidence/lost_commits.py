"""Tells people of a commit that Delta refused: on which table, who won, by which rule, and what to change."""

from sluice.api.job_status import AttemptException
from sluice.conflicts.lost_commit_rule import LostCommit, advice_on_others, explained
from sluice.engines.result import RunResult
from sluice.lifecycle.job.visible_blockers import ANOTHER


def what_happened(exception: AttemptException, of_job: str | None) -> str | None:
    """Returns None if it isn't known which commit won. `of_job`: the job that lost."""
    winner = _winner(exception, of_job)
    if winner is None:
        return None
    return f"{exception.class_}{_place(exception)}: {winner} was committed first"


def with_advice(result: RunResult) -> AttemptException | None:
    """Returns the run's exception with the rule that it went by and with advice, where these can be told for sure."""
    exception = result.exception
    if exception is None or exception.conflicting_commit is None:
        return exception
    won = exception.conflicting_commit
    found, advice = None, None
    if won.operation is not None:
        lost = LostCommit(
            exception.class_,
            exception.error_class,
            exception.message,
            result.failed_operation,
            won.operation,
            won.version,
        )
        found = explained(lost)
        advice = advice_on_others(lost) if won.foreign else found.advice if found is not None else None
    if won.job is not None and won.job == result.of_job:
        advice = None  # no other writer: another attempt finds what its other driver has done
    if found is not None:
        exception = exception.model_copy(update={"rule": found.rule})
    return exception.model_copy(update={"advice": advice})


def _place(exception: AttemptException) -> str:
    won = exception.conflicting_commit
    places = [
        *([won.table] if won is not None and won.table is not None else []),
        *([_called(exception.partition)] if exception.partition is not None else []),
    ]
    return f" on {', '.join(places)}" if places else ""


def _called(partition: str) -> str:
    """Delta names a partition by its values; its other words speak for themselves."""
    return f"partition {partition}" if "=" in partition and "/" not in partition else partition


def _winner(exception: AttemptException, of_job: str | None) -> str | None:
    won = exception.conflicting_commit
    if won is None or won.version is None:
        return None
    operation = f" ({won.operation})" if won.operation else ""
    if won.job is not None and won.job == of_job:
        return f"version {won.version}{operation} of this job itself, by another driver of it,"
    if won.job is not None:
        whose = won.job if won.job == ANOTHER else f"job {won.job}"
        return f"version {won.version}{operation} of {whose}"
    if not won.foreign:
        return f"version {won.version}{operation}"
    engine = f" ({won.engine})" if won.engine else ""
    return f"version {won.version}{operation} by no Sluice job{engine}"
