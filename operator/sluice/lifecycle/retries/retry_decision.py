"""Whether a failed attempt is followed by another one, and when: by the class of its failure, and by what its job and the policies
of its tables say of that."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256

from sluice.api import names
from sluice.api.durations import seconds
from sluice.api.job import DeltaWriteJobSpec, Retry, RetryCause
from sluice.api.job_status import Attempt, Outcome, Phase
from sluice.api.reasons import CONFLICTS, Reason, reason_of
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.evidence.driver_ends import DELETED
from sluice.lifecycle.evidence.outcome import COMMITTED_NOTHING, may_have_committed
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.lifecycle.job.table_rules import retries_said
from sluice.tables import Declarations, TableKey

BACKOFF = 30
"""Seconds before the first retry, where nobody says how many."""
LONGEST_BACKOFF = 600
"""Seconds up to which it doubles. One that is longer from the start stays as it is."""
_MOST_DOUBLINGS = 32
_JITTER = 0.5
"""Up to this part of it a pause is shorter or longer, so that jobs that failed together don't come back together."""
LONGEST_QUOTE = 1400
"""Characters of what went wrong, so that what follows from it has room, too."""

DEFAULT_ON = frozenset(RetryCause) - {RetryCause.ERROR}

NEVER_RETRIED = frozenset(
    {
        "AccessDeniedException",
        "HistoryLost",
        "MissingSecretError",
        "MissingTableError",
        "NotADeltaTableError",
        "NotAsJudgedError",
        "PlanError",
        "PromiseBrokenException",
        "RefusedStatementError",
        "RunKeyReused",
        "RunsForgottenError",
        "Superseded",
        "Terminated",
        "UncheckedPromiseError",
        "UnknownOutcomeException",
        "UnknownTargetError",
        "UnreachableStorageError",
        "UnsafeStoreException",
    }
)
"""Exceptions that another attempt would meet again, or that a person has to look at first, whatever a runner says of them."""


@dataclass(frozen=True)
class RetryRules:
    limit: int = 0
    backoff: int = BACKOFF
    """Seconds."""
    on: frozenset[RetryCause] = DEFAULT_ON


@dataclass(frozen=True)
class Again:
    """Another attempt follows."""

    cause: RetryCause
    change: StatusChange


@dataclass(frozen=True)
class Final:
    """None follows."""

    message: str
    """What went wrong, and why it isn't retried."""


def cause_of(attempt: Attempt) -> RetryCause | None:
    """The class of its failure; None: another attempt would end the same, or wouldn't be wanted."""
    match attempt.outcome:
        case Outcome.NOT_STARTED:
            return RetryCause.NOT_STARTED
        case Outcome.DRIVER_LOST:
            return RetryCause.DRIVER_LOST
        case Outcome.FAILED | Outcome.KILLED | Outcome.UNKNOWN:
            return _cause_of_failure(attempt)
        case _:
            return None


def _cause_of_failure(attempt: Attempt) -> RetryCause | None:
    if was_deleted(attempt):
        return None
    exception = attempt.exception
    if exception is None:
        return RetryCause.ERROR
    if exception.retriable is False or exception.class_ in NEVER_RETRIED:
        return None
    return RetryCause.CONFLICT if reason_of(exception.class_) in CONFLICTS else RetryCause.ERROR


def was_deleted(attempt: Attempt) -> bool:
    """Whether it ended because somebody deleted its application."""
    return (attempt.message or "").startswith(DELETED)


def rules_of(spec: DeltaWriteJobSpec, tables: Iterable[TableKey], declarations: Declarations) -> RetryRules:
    """What the job says, field by field; what it leaves open the policies of its tables say, of which the most careful counts. Of
    an application only its own word counts."""
    own = spec.retry or Retry()
    theirs = [] if spec.application is not None else list(retries_said(tables, declarations))
    limits = [one.limit for one in theirs if one.limit is not None]
    backoffs = [seconds(one.backoff) for one in theirs if one.backoff is not None]
    causes = [frozenset(one.on) for one in theirs if one.on is not None]
    return RetryRules(
        limit=own.limit if own.limit is not None else min(limits, default=0),
        backoff=seconds(own.backoff) if own.backoff is not None else max(backoffs, default=BACKOFF),
        on=frozenset(own.on)
        if own.on is not None
        else frozenset.intersection(*causes)
        if causes
        else DEFAULT_ON,
    )


def rules_for(job: JobView, declarations: Declarations) -> RetryRules:
    """The same of a job whose statements are known: a policy's word doesn't make a run of those that can't be one."""
    found = rules_of(job.spec, job.tables, declarations)
    says_so_itself = job.spec.retry is not None and job.spec.retry.limit is not None
    may_run_again = says_so_itself or job.spec.stream is not None or job.unrepeatable is None
    return found if may_run_again else replace(found, limit=0)


def is_to_have_a_slot(job: JobView, declarations: Declarations) -> bool:
    """Whether its commits are to be known by a slot from now on, because another attempt may follow or precede this one."""
    spec, attempts = job.spec, job.status.attempts
    if spec.stream is not None:
        return False  # its checkpoint tells what is done
    if spec.write is not None and spec.write.txn_app_id is not None:
        return False
    if spec.application is not None and attempts:
        # A program begins no step in a later attempt without a run. So it has none where steps may have been done without a number,
        # which nobody would miss once a log is cleaned up; and one where nothing was done, such as where no driver had a node.
        are_all_known = attempts[0].number == 1
        return are_all_known and not any(map(may_have_committed, attempts)) and job.unrepeatable is None
    has_run = any(one.outcome not in COMMITTED_NOTHING for one in attempts)
    return has_run or rules_for(job, declarations).limit > 0


def pause(rules: RetryRules, retry: int, uid: str, attempt: int) -> timedelta:
    """The pause before this retry, from 1. It differs from job to job, and is the same for whoever works it out."""
    longest = max(LONGEST_BACKOFF, rules.backoff)
    doubled = min(rules.backoff << min(retry - 1, _MOST_DOUBLINGS), longest)
    drawn = int.from_bytes(sha256(f"{uid}/{attempt}".encode()).digest()[:4]) / 2**32
    return timedelta(seconds=doubled * (1 - _JITTER + 2 * _JITTER * drawn))


def followed(
    job: JobView, ended: Attempt, declarations: Declarations, message: str, now: datetime
) -> Again | Final:
    """What follows the failed attempt. `ended`: as it isn't in the job's status yet. `message`: what went wrong."""
    used = job.status.retries or 0
    try:
        rules = rules_for(job, declarations)
    except NotUnderstoodError as error:
        return Final(f"{message}; it is not retried, because its spec is not understood any more: {error}")
    attempts = (*(one for one in job.status.attempts if one.number != ended.number), ended)
    after = _counted(attempts, used)
    cause = cause_of(ended)
    if rules.limit == 0 and cause is not None and _lacks_a_limit(job, declarations):
        return Final(
            f"{after}{message[:LONGEST_QUOTE]}; it is not retried, because its retry sets no limit, and nobody else does"
        )
    if rules.limit == 0:
        return Final(f"{after}{message}{_offered(job, ended, attempts) if cause is not None else ''}")
    why = _why_not(job, ended, cause, rules, attempts)
    if why is not None:
        return Final(f"{after}{message[:LONGEST_QUOTE]}; it is not retried, because {why}")
    if cause is None or used >= rules.limit:
        return Final(f"{after}{message}")
    return _again(job, ended, rules, cause, message, now=now)


def _lacks_a_limit(job: JobView, declarations: Declarations) -> bool:
    """Whether it says which failures are retried, or when, and was left without a word of how often."""
    spec = job.spec
    if spec.retry is None or spec.retry.limit is not None:
        return False
    said = [] if spec.application is not None else list(retries_said(job.tables, declarations))
    return all(one.limit is None for one in said)


def _why_not(
    job: JobView, ended: Attempt, cause: RetryCause | None, rules: RetryRules, attempts: Iterable[Attempt]
) -> str | None:
    if cause is None:
        if was_deleted(ended):
            return "somebody ended it"
        return "another attempt would end the same, or a person has to look at it first"
    if cause not in rules.on:
        return f"retry.on doesn't name {cause.value}"
    return None if cause is RetryCause.NOT_STARTED else why_it_cannot_run_again(job, attempts)


def why_it_cannot_run_again(job: JobView, attempts: Iterable[Attempt]) -> str | None:
    """Why another attempt could do twice what these have done; None if it can't, or if its job says that it may."""
    spec = job.spec
    if spec.stream is not None:
        return None  # its checkpoint tells what is done
    if spec.application is not None or job.footprint_from_spec.run is not None or job.status.run is not None:
        return None
    if spec.write is not None and spec.write.txn_app_id is not None:
        return None  # Delta leaves out what it has seen
    numbers = [str(one.number) for one in attempts if may_have_committed(one)]
    if not numbers:
        return None
    which = f"attempt {numbers[0]}" if len(numbers) == 1 else f"attempts {', '.join(numbers)}"
    return (
        f"{which} committed something, or may have, under no id by which another attempt could leave it out"
    )


def _counted(attempts: Iterable[Attempt], used: int) -> str:
    known = sum(one.outcome not in (Outcome.WITHDRAWN, Outcome.PAUSED) for one in attempts)
    count = max(known, used + 1)
    return f"after {count} attempts: " if count > 1 else ""


def _offered(job: JobView, ended: Attempt, attempts: Iterable[Attempt]) -> str:
    """Of a driver that others ended, nobody's fault tells, and people ask what to do now."""
    if ended.outcome is not Outcome.DRIVER_LOST:
        return ""
    if why_it_cannot_run_again(job, attempts) is not None:
        return ". Look at its tables before you create it again; with retry it would have run again by itself"
    return f". With retry it would run again by itself; to have it run once more: {command_for(job, ended.number)}"


def command_for(job: JobView, number: int) -> str:
    return f"kubectl annotate deltawritejob -n {job.namespace} {job.name} --overwrite {names.ANNOTATION_RETRY}={number}"


def _again(
    job: JobView, ended: Attempt, rules: RetryRules, cause: RetryCause, message: str, *, now: datetime
) -> Again:
    retry = (job.status.retries or 0) + 1
    since = min(ended.ended_at or now, now)
    # Its patience counts from there: what passed before anybody could tell that it failed is none of its wait.
    at = max(since + pause(rules, retry, job.uid, ended.number), now)
    exception = ended.exception
    advice = f"; what to change: {exception.advice}" if exception is not None and exception.advice else ""
    told = (
        f"attempt {ended.number} ended as {cause.value}: {message[:LONGEST_QUOTE]}; it queues again, keeping its age, at "
        f"{time_told(at, now)} UTC, for retry {retry} of {rules.limit}{advice}"
    )
    change = StatusChange(Phase.BACKING_OFF, Reason.RETRYING, told, attempt=ended, retries=retry, retry_at=at)
    return Again(cause, change)


def time_told(at: datetime, now: datetime) -> str:
    """With its day, where it is another one than today."""
    return f"{at:%H:%M:%S}" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M:%S}"
