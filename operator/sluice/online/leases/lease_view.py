"""Leases as a cluster's objects and its Redis tell of them: each may be missing, and where they differ both are told."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Attempt, Phase, ShownFootprint
from sluice.engines import Stage
from sluice.engines.disruption import silent_since
from sluice.engines.progress import progress_of
from sluice.leases import Grant
from sluice.lifecycle.evidence.attempt_evidence import (
    Doubt,
    Evidence,
    UnreadableRecordError,
    evidence_of,
    labels_of,
    record_of,
    words,
)
from sluice.lifecycle.evidence.deletion import how_to_declare_it_dead
from sluice.lifecycle.evidence.finished_jobs import is_done_with, is_over
from sluice.lifecycle.evidence.lease_states import BY_STAGE, LeaseState
from sluice.lifecycle.job.job_view import JobView

_BY_PHASE = {Phase.RUNNING: LeaseState.RUNNING, Phase.STARTING: LeaseState.STARTING}
_ALIVE_FIRST = (LeaseState.RUNNING, LeaseState.LOST, LeaseState.STARTING, LeaseState.ENDING)


@dataclass(frozen=True)
class LeaseView:
    """One lease, with whatever anybody says of it."""

    holder: str
    job: str
    state: LeaseState
    attempt: int | None = None
    token: int | None = None
    since: datetime | None = None
    last_seen: datetime | None = None
    """When its driver last told of itself, or its node of the driver."""
    tables: tuple[str, ...] = ()
    footprint: tuple[ShownFootprint, ...] = ()
    message: str | None = None
    in_kubernetes: bool | None = True
    """Whether an object holds it; None: that could not be asked."""
    in_redis: bool | None = None
    differences: tuple[str, ...] = ()
    may_be_revoked: bool = False
    """Whether the operator has noted that nothing explains it."""

    @property
    def all_tables(self) -> tuple[str, ...]:
        """Those of its record; and where there is none, those that its job's status shows."""
        return self.tables or tuple(dict.fromkeys(each.table for each in self.footprint))


@dataclass(frozen=True)
class Objects:
    """What the API server has. A kind that could not be listed is None."""

    jobs: Sequence[Json] | None = ()
    applications: Sequence[Json] | None = ()
    pods: Sequence[Json] | None = ()
    unexplained: Sequence[Grant] = ()


@dataclass(frozen=True)
class RedisLeases:
    """By holders."""

    grants: Mapping[str, Grant]
    passing: Mapping[str, Grant] = field(default_factory=dict)
    """Granted or released while the objects were listed: that these do not agree says nothing."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with a line."""


def held(objects: Objects, redis: RedisLeases | None, now: datetime) -> list[LeaseView]:
    """Returns all leases. `redis`: None if it was not asked."""
    views = {str(body["metadata"]["uid"]): JobView(body, {}, now) for body in objects.jobs or ()}
    found: dict[str, LeaseView] = {}
    for one in _by_kubernetes(objects, views):
        _add(found, one)
    for grant in objects.unexplained:
        known = found.get(grant.lease.holder)
        if known is None or known.state in (
            LeaseState.STARTING,
            LeaseState.LOST,
        ):  # an intent alone may have been carried out
            noted = known or _of_grant(grant, LeaseState.UNEXPLAINED)
            found[grant.lease.holder] = replace(noted, state=LeaseState.UNEXPLAINED, may_be_revoked=True)
    if redis is not None:
        found = _with_redis(found, redis, objects, views)
    return sorted(found.values(), key=lambda one: (one.token is None, one.token or 0, one.job, one.holder))


def _by_kubernetes(objects: Objects, views: Mapping[str, JobView]) -> Iterator[LeaseView]:
    applications, pods = _by_job(objects.applications), _by_job(objects.pods)
    for uid in dict.fromkeys((*views, *applications, *pods)):
        job = views.get(uid)
        if job is not None and (objects.applications is None or objects.pods is None):
            yield from _by_status(job)
        else:
            yield from _of_job(uid, job, applications.get(uid, []), pods.get(uid, []))


def _by_job(bodies: Iterable[Json] | None) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for body in bodies or ():
        found.setdefault(labels_of(body).get(names.LABEL_JOB_UID, ""), []).append(body)
    return found


def _of_job(uid: str, job: JobView | None, applications: list[Json], pods: list[Json]) -> Iterator[LeaseView]:
    who = job.key if job is not None else f"the job with the uid {uid}"
    try:
        if job is not None and is_done_with(job.body, applications, pods):
            return
        if job is not None and job.unreadable is not None:
            yield _unreadable(f"{uid}/?", who, job.unreadable, job)
        evidence = evidence_of(uid, job, applications, pods)
        for one in evidence.by_application.values():
            if one.holds:
                yield _of_evidence(uid, job, one)
        for doubt in evidence.doubts:
            if doubt.holds:
                yield _of_doubt(uid, doubt)
    except Exception as error:  # noqa: BLE001 - the operator holds whatever it fails on, and so it is shown
        yield _unreadable(f"{uid}/?", who, f"its objects cannot be judged: {error!r}", job)


def _of_evidence(uid: str, job: JobView | None, one: Evidence) -> LeaseView:
    body = one.application or one.pod
    record = _record(one)
    attempt = one.intent
    place = body["metadata"]["namespace"] if body is not None else "?"
    return LeaseView(
        holder=f"{uid}/{one.number}",
        job=job.key if job is not None else record.lease.job if record is not None else f"{place}/?",
        state=BY_STAGE[one.seen.stage],
        attempt=one.number,
        token=record.token if record is not None else attempt.token if attempt is not None else None,
        since=attempt.granted_at if attempt is not None else _created(one),
        last_seen=_last_seen(one),
        tables=record.lease.tables if record is not None else (),
        footprint=job.status.footprint if job is not None else (),
        message=_message(job, one),
    )


def _record(one: Evidence) -> Grant | None:
    for body in (one.application, one.pod):
        if body is not None:
            with suppress(UnreadableRecordError):  # the other one, or the status, says it
                return record_of(body)
    return None


def _created(one: Evidence) -> datetime | None:
    first = [body["metadata"]["creationTimestamp"] for body in (one.application, one.pod) if body is not None]
    return datetime.fromisoformat(min(first)) if first else None


def _last_seen(one: Evidence) -> datetime | None:
    progress = progress_of(one.pod) or (one.intent.progress if one.intent is not None else None)
    silent = silent_since(one.pod) if one.pod is not None else None
    told = (
        one.intent.started_at if one.intent is not None else None,
        one.seen.started_at,
        one.seen.ended_at,
        progress.since if progress is not None else None,
        datetime.fromisoformat(silent) if silent is not None else None,
    )
    return max((at for at in told if at is not None), default=None)


def _message(job: JobView | None, one: Evidence) -> str | None:
    """What the job itself says of an attempt that goes on; what its objects say where there is none to say it."""
    if job is not None and one.is_open:
        return job.status.message
    told = one.how_lost if one.seen.stage is Stage.LOST else one.seen.detail
    body = one.witness
    how = how_to_declare_it_dead(one, body["metadata"]["namespace"]) if body is not None else None
    return f"{told}; {how}" if how is not None else told or None


def _of_doubt(uid: str, doubt: Doubt) -> LeaseView:
    number = labels_of(doubt.body).get(names.LABEL_ATTEMPT, "?")
    return LeaseView(f"{uid}/{number}", words(doubt.body), LeaseState.UNREADABLE, message=doubt.why)


def _unreadable(holder: str, who: str, why: str, job: JobView | None) -> LeaseView:
    footprint = job.status.footprint if job is not None else ()
    return LeaseView(holder, who, LeaseState.UNREADABLE, message=why, footprint=footprint)


def _by_status(job: JobView) -> Iterator[LeaseView]:
    """What the job's status alone tells, which may be late."""
    if is_over(job.body):
        return
    status = job.status
    if job.unreadable is not None:
        yield _unreadable(f"{job.uid}/?", job.key, job.unreadable, job)
    for attempt in status.attempts:
        if attempt.outcome is None:
            yield LeaseView(
                holder=f"{job.uid}/{attempt.number}",
                job=job.key,
                state=_state_in(job),
                attempt=attempt.number,
                token=attempt.token,
                since=attempt.granted_at,
                last_seen=_told_in(attempt),
                footprint=status.footprint,
                message=status.message,
            )


def _state_in(job: JobView) -> LeaseState:
    if job.phase is Phase.ENDING:
        return LeaseState.LOST if job.status.reason == "DriverLost" else LeaseState.ENDING
    return LeaseState.UNKNOWN if job.phase is None else _BY_PHASE.get(job.phase, LeaseState.UNKNOWN)


def _told_in(attempt: Attempt) -> datetime | None:
    return attempt.progress.since if attempt.progress is not None else attempt.started_at


def _add(found: dict[str, LeaseView], one: LeaseView) -> None:
    """Adds it; of several witnesses of one lease, what is most alive decides."""
    other = found.get(one.holder)
    if other is None:
        found[one.holder] = one
    elif LeaseState.UNREADABLE not in (one.state, other.state):
        first, second = sorted((other, one), key=lambda each: _ALIVE_FIRST.index(each.state))
        tables = tuple(dict.fromkeys((*first.tables, *second.tables)))
        found[one.holder] = replace(first, tables=tables)
    else:
        messages = [each.message for each in (other, one) if each.message]
        found[one.holder] = replace(other, state=LeaseState.UNREADABLE, message="; ".join(messages))


def _of_grant(grant: Grant, state: LeaseState) -> LeaseView:
    lease = grant.lease
    return LeaseView(
        lease.holder,
        lease.job,
        state,
        attempt=lease.attempt,
        token=grant.token,
        tables=lease.tables,
        in_kubernetes=False,
    )


def _with_redis(
    found: Mapping[str, LeaseView], redis: RedisLeases, objects: Objects, views: Mapping[str, JobView]
) -> dict[str, LeaseView]:
    merged = {
        holder: _compared(
            one, redis.grants.get(holder) or redis.passing.get(holder), is_there=holder in redis.unreadable
        )
        for holder, one in found.items()
    }
    for holder, grant in redis.grants.items():
        if holder not in merged:
            merged[holder] = _in_redis_alone(grant, objects, views.get(grant.lease.uid))
    for holder, why in redis.unreadable.items():
        if holder in merged:
            one = merged[holder]
            merged[holder] = replace(one, differences=(*one.differences, f"Redis: {why}"))
        else:
            merged[holder] = LeaseView(
                holder,
                "?",
                LeaseState.UNREADABLE,
                message=f"Redis: {why}",
                in_kubernetes=False,
                in_redis=True,
            )
    return merged


def _compared(one: LeaseView, grant: Grant | None, *, is_there: bool) -> LeaseView:
    if grant is None:
        told = () if is_there or one.holder.endswith("/?") else (_NOT_IN_REDIS,)
        return replace(one, in_redis=is_there, differences=told)
    differences = []
    if one.token is not None and one.token != grant.token:
        differences.append(f"its objects say token {one.token}, Redis says {grant.token}")
    if one.tables and set(one.tables) != set(grant.lease.tables):
        differences.append(f"Redis says that it is on {', '.join(grant.lease.tables)}")
    tables = one.tables or grant.lease.tables
    return replace(one, in_redis=True, tables=tables, differences=tuple(differences))


_NOT_IN_REDIS = (
    "Redis does not hold it; the operator goes by the objects, and writes it there again at its next rebuild"
)


def _in_redis_alone(grant: Grant, objects: Objects, job: JobView | None) -> LeaseView:
    one = replace(_of_grant(grant, LeaseState.UNEXPLAINED), in_redis=True)
    if objects.jobs is None or objects.applications is None or objects.pods is None:
        return replace(one, state=LeaseState.UNKNOWN, in_kubernetes=None)
    if job is None:
        said = "only Redis holds it: no object is there; the next sweep or rebuild releases it, or notes that nothing explains it"
        return replace(one, message=said)
    footprint = job.status.footprint
    if job.unreadable is not None:
        return replace(one, state=LeaseState.UNREADABLE, footprint=footprint, message=job.unreadable)
    number = grant.lease.attempt
    if any(each.number == number and each.outcome is not None for each in job.status.attempts):
        said = "only Redis holds it: its attempt has ended, and it is about to be released"
        return replace(one, state=LeaseState.ENDING, footprint=footprint, message=said)
    said = "only Redis holds it: it has just been granted, or is about to be given back"
    return replace(one, state=LeaseState.STARTING, footprint=footprint, message=said)
