"""How a driver has ended, in words: what its container says, what ended it, and what its result names as its failure."""

import re
from collections.abc import Callable
from datetime import datetime

from sluice.api.job_status import Attempt, AttemptException, EndingReason, Outcome
from sluice.engines import Observation
from sluice.engines.disruption import Disruption
from sluice.engines.result import RunResult
from sluice.lifecycle.evidence import lost_commits

_FAILURE = 1600
"""Characters for what went wrong, so that what was committed has room in the message, too."""

DELETED = "its SparkApplication was deleted while it ran"

_RAISED = re.compile(
    r'(?:Exception in thread "[^"]*" |Caused by: )?(?:[A-Za-z_$][\w$]*\.)*[A-Z][\w$]*(?:Error|Exception)(?:: |$)'
)
"""A line by which Python or Java names an exception, with or without its message. Lines of a trace are indented."""

_OUT_OF_MEMORY = "OOMKilled"
"""A kubelet's word."""
_HEAP_FULL = "OutOfMemoryError"
"""Java's."""

_SIGNALS = {130: "interrupted", 137: "killed", 143: "terminated"}

_ENDS_BY_ITSELF = (None, 0, 1, 130, 143)
"""Exit codes of a driver that came to its end though Spark had been stopped, or though it had been told to end."""

_QUEUES_AGAIN = (EndingReason.WAITING_FOR_COMPUTE, EndingReason.PAUSE_EXCEEDED)
"""Endings of a start after which its job queues again, as if it had not been granted anything."""

_MORE_MEMORY = (
    "it needed more memory than its pod may have, and another attempt has no more: create the job with a higher "
    "runtime.driver.memory; in the template of an application it is driver.memory, or for Apache's operator "
    "spark.driver.memory in its sparkConf"
)
_LARGER_HEAP = (
    "Java had too little memory, and another attempt has no more: create the job with a higher runtime.driver.memory, or where a "
    "task failed of it with a higher runtime.executor.memory"
)

AsTold = Callable[[AttemptException | None], AttemptException | None]
"""Leaves out of an exception what its job may not be told."""


def observed(attempt: Attempt, seen: Observation) -> Attempt:
    """The attempt with what was seen of its driver, whatever came of it."""
    started_at = attempt.started_at or seen.started_at
    return attempt.model_copy(update={"started_at": started_at, "exit_code": seen.exit_code})


def told_to(job: str | None, result: RunResult | None, as_told: AsTold) -> RunResult | None:
    """What the driver left, as the job's status may have it. `job`: its name, as namespace/name."""
    if result is None:
        return None
    return result.model_copy(update={"exception": as_told(result.exception), "of_job": job})


def never_started(attempt: Attempt, ended: datetime, detail: str) -> Attempt:
    ending = attempt.ending
    if ending is not None and ending.reason in _QUEUES_AGAIN:
        why = f"attempt {attempt.number} was taken back before its driver ran: {ending.message}"
        return ended_as(attempt, ended, Outcome.WITHDRAWN, why)
    why = detail if ending is None else ending.message
    return ended_as(attempt, ended, Outcome.NOT_STARTED, f"no driver was started: {why}")


def was_told_to_end(seen: Observation, result: RunResult | None) -> bool:
    """Whether its driver did not come to its end by itself, so that an attempt that is being ended was ended by that."""
    if result is not None:
        return result.was_ended_from_outside
    return seen.exit_code is None or seen.exit_code in _SIGNALS


def why_lost(seen: Observation, result: RunResult | None) -> str | None:
    """Why the driver did not end by itself, where that is known."""
    if seen.exit_code is None:
        return seen.detail
    disruption = seen.disruption
    if disruption is None or not _ended_from_outside(seen, result, disruption):
        return None
    where = f" on node {seen.node}" if seen.node is not None else ""
    return f"the driver{where} was ended from outside: {disruption}, exit code {seen.exit_code}"


def _ended_from_outside(seen: Observation, result: RunResult | None, disruption: Disruption) -> bool:
    if disruption.meaning is None:
        return False
    if result is not None:
        return result.was_ended_from_outside
    return seen.exit_code != 0 and disruption.may_have_ended(seen.ended_at)


def died_meanwhile(seen: Observation, result: RunResult | None) -> bool:
    """Whether its container says how the driver died, and its result only that Spark was gone: Python may outlive its JVM, and
    whether it is quick enough to tell that is to change nothing."""
    if result is None or not result.was_ended_from_outside:
        return False
    return seen.detail == _OUT_OF_MEMORY or seen.exit_code not in _ENDS_BY_ITSELF


def ended_as(attempt: Attempt, ended: datetime, outcome: Outcome, message: str) -> Attempt:
    return attempt.model_copy(
        update={"ended_at": ended, "outcome": outcome, "message": message[:2048], "progress": None}
    )


def failure_of(result: RunResult) -> str | None:
    if result.exception is None:
        return None
    statement = f"statement {result.exception.statement}: " if result.exception.statement else ""
    lost = lost_commits.what_happened(result.exception, result.of_job)
    what = lost or f"{result.exception.class_}: {_in_short(result.exception.message)}"
    return f"{statement}{what}"[:_FAILURE]


def _in_short(message: str) -> str:
    """What goes wrong, on one line: Spark puts plans and the statement's text below it, and kubectl shows no more in a table. The
    attempt's exception has all of it."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    told: list[str] = []
    for line in lines:
        told.append(line)
        if not line.endswith(":"):
            break
    return " ".join(told).rstrip(" ;")


def outcome_of(seen: Observation) -> Outcome:
    if seen.exit_code == 0:
        return Outcome.UNKNOWN
    return Outcome.KILLED if seen.exit_code in _SIGNALS else Outcome.FAILED


def with_advice_on_memory(exception: AttemptException | None) -> AttemptException | None:
    if exception is None or exception.advice is not None:
        return exception
    if exception.class_ != _HEAP_FULL and f"caused by {_HEAP_FULL}" not in exception.message:
        return exception
    return exception.model_copy(update={"advice": _LARGER_HEAP})


def death_of(seen: Observation, result: RunResult | None = None) -> str:
    """`result`: that of one that died meanwhile."""
    if seen.exit_code is None:
        return f"the driver left no result: {seen.detail or 'its end was not seen'}"
    signal = _SIGNALS.get(seen.exit_code)
    how = f"was {signal}" if signal else "ended"
    reason = f", {seen.detail}" if seen.detail and seen.detail not in ("Error", "Completed") else ""
    memory = _needs_memory(seen)
    beside = f"; {seen.disruption}" if seen.disruption is not None else ""
    died = f"the driver {how} (exit code {seen.exit_code}{reason})"
    if result is not None:
        return f"{died}{memory}{beside}; its last word is {failure_of(result)!r}"
    return f"{died} without a result{memory}{beside}{_last_words(seen.message)}"


def _needs_memory(seen: Observation) -> str:
    if seen.detail == _OUT_OF_MEMORY:
        return f": {_MORE_MEMORY}"
    return f": {_LARGER_HEAP}" if _HEAP_FULL in (seen.message or "") else ""


def _last_words(log: str | None) -> str:
    """The last words of a driver without a result: Kubernetes then gives the end of its log as its message. After an exception
    Spark itself still says how it stops."""
    lines = [line.rstrip() for line in (log or "").splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line) is not None]
    if raised:
        return f"; the last exception in its log is {raised[-1][:400]!r}"
    return f"; its log ends with {lines[-1].strip()[:400]!r}" if lines else ""
