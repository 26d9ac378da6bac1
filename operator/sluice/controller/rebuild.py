"""What Kubernetes knows of leases: everything that an operator needs which has forgotten the rest.

A lease is held by every attempt that has not ended, and by every application and driver pod that still carries our
finalizer, whatever their job says, or whether it is still there.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sluice.admission import Holder
from sluice.api import names
from sluice.api.job_status import Attempt
from sluice.controller.jobs import JobView
from sluice.controller.status import is_as_recorded
from sluice.controller.world import World, is_held
from sluice.footprint import ANY_SOURCES, JobFootprint, NotUnderstoodError, unknown_footprint
from sluice.footprint.sources import Sources, together
from sluice.leases import Epochs, Grant, Lease
from sluice.tables import TableKey

Json = dict[str, Any]


class UnreadableLeaseError(ValueError):
    """Somebody changed what only the operator writes: nobody can tell what a driver may write."""


def grants(world: World) -> list[Grant]:
    """One a holder. What is still there of an application or a driver is as good a witness as its job's status."""
    found: dict[str, Grant] = {}
    unreadable = []
    for body in _objects(world):
        if is_held(body):
            try:
                grant = _grant_of(body)
            except UnreadableLeaseError as error:
                unreadable.append((body, error))
            else:
                found.setdefault(grant.lease.holder, grant)
    for grant in _of_jobs(world):
        found.setdefault(grant.lease.holder, grant)
    for body, why in unreadable:
        if _holder(body) not in found:  # else another witness says what it holds
            raise why
    return list(found.values())


def highest_epoch(world: World) -> int:
    tokens = [attempt.token for job in world.jobs.values() for attempt in job.status.attempts]
    bodies = _objects(world)
    tokens += [_number(body, names.ANNOTATION_TOKEN) for body in bodies]
    epochs = [_number(body, names.ANNOTATION_WRITER_EPOCH) for body in bodies]
    return max([Epochs.of(token) for token in tokens] + epochs, default=0)


def holders(world: World, held: list[Lease]) -> list[Holder]:
    """Those who hold leases, with what they touch."""
    return [Holder(lease.uid, lease.job, _footprint(world.jobs.get(lease.uid), lease)) for lease in held]


def lease_for(job: JobView, number: int, spec_hash: str) -> Lease:
    read = job.footprint.reads
    return Lease(
        job.uid,
        number,
        spec_hash,
        job.key,
        tuple(key.text for key in job.footprint.keys),
        None if read.any_table else tuple(key.text for key in read.tables),
    )


def _of_jobs(world: World) -> Iterator[Grant]:
    for job in world.jobs.values():
        attempt = job.open_attempt
        if attempt is not None:
            yield Grant(_lease_of(job, attempt), attempt.token)


def _lease_of(job: JobView, attempt: Attempt) -> Lease:
    """As its status recorded it, and from the spec, if that still says what was granted: the status shows only so many of a
    job's tables, and names may lead elsewhere since."""
    tables = [footprint.table for footprint in job.status.footprint]
    try:
        if job.spec_hash == attempt.hash:
            tables += [key.text for key in job.footprint.keys]
    except NotUnderstoodError:
        pass
    return Lease(job.uid, attempt.number, attempt.hash, job.key, tuple(dict.fromkeys(tables)))


def _objects(world: World) -> tuple[Json, ...]:
    return (*world.applications.values(), *world.pods.values())


def _grant_of(body: Json) -> Grant:
    annotations = _annotations(body)
    try:
        lease = Lease.from_json(annotations[names.ANNOTATION_LEASE])
        return Grant(lease, int(annotations[names.ANNOTATION_TOKEN]))
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableLeaseError(
            f"{_words(body)} holds leases, but its annotations {names.ANNOTATION_LEASE} and {names.ANNOTATION_TOKEN} do not "
            f"say which ({error!r}): put them back, or, once its driver has ended, take its finalizer "
            f"{names.FINALIZER_LEASE} off"
        ) from error


def _holder(body: Json) -> str:
    labels = body["metadata"]["labels"]
    return f"{labels.get(names.LABEL_JOB_UID)}/{labels.get(names.LABEL_ATTEMPT)}"


def _number(body: Json, name: str) -> int:
    text = _annotations(body).get(name, "0")
    try:
        return int(text)
    except ValueError:
        raise UnreadableLeaseError(
            f"{_words(body)}: its annotation {name} is {text!r}, not the number that was written there: put it back, or "
            "remove it once the driver has ended"
        ) from None


def _annotations(body: Json) -> dict[str, str]:
    return body["metadata"].get("annotations") or {}


def _words(body: Json) -> str:
    """Lists do not say of what kind their pods are."""
    metadata = body["metadata"]
    return f"{body.get('kind', 'Pod')} {metadata['namespace']}/{metadata['name']}"


def _footprint(job: JobView | None, lease: Lease) -> JobFootprint:
    """As the job's spec says, if that is still what the lease was granted for; else all of its tables, wholly. If a table
    has changed since, the job may have begun before or after that; and if a name leads elsewhere, it may be at both places."""
    granted = [TableKey.parse(table) for table in lease.tables]
    try:
        if job is not None and job.spec_hash == lease.hash:
            now = job.footprint
            before = [] if is_as_recorded(job) else list(job.whatever_its_tables_are.tables)
            before += [unknown_footprint(key) for key in granted if key not in now.keys]
            return replace(now, tables=(*now.tables, *before), reads=together([now.reads, _read_by(lease)]))
    except NotUnderstoodError:
        pass
    return JobFootprint(tables=tuple(map(unknown_footprint, granted)), reads=ANY_SOURCES)


def _read_by(lease: Lease) -> Sources:
    return ANY_SOURCES if lease.reads is None else Sources(tuple(map(TableKey.parse, lease.reads)))


def changed_tables(job: JobView, attempt: Attempt) -> tuple[TableKey, ...]:
    """Of which something else may be true after the attempt."""
    try:
        if job.spec_hash == attempt.hash:
            changed = [table.table for table in job.footprint.tables if table.may_change_table]
            recorded = () if is_as_recorded(job) else _recorded(job)
            return tuple(dict.fromkeys((*changed, *recorded)))
    except NotUnderstoodError:
        pass
    return _recorded(job)


def _recorded(job: JobView) -> tuple[TableKey, ...]:
    return tuple(dict.fromkeys(TableKey.parse(table.table) for table in job.status.footprint))
