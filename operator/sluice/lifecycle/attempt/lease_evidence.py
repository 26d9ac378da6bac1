"""Works out from the evidence alone who holds leases, and on which tables: an operator that has just started remembers nothing.

An object that cannot be read holds the tables that are known for it; if none are known, it holds all tables.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from re import fullmatch
from typing import Any

from sluice.admission import Holder
from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import MAX_FOOTPRINTS, Attempt, Outcome
from sluice.api.sql import ONE_LINE
from sluice.conflicts.places import EDITION, Places, places_of
from sluice.engines import Stage
from sluice.footprint import ANY_SOURCES, JobFootprint, NotUnderstoodError, TableFootprint, unknown_footprints
from sluice.footprint.run_keys import run_named
from sluice.footprint.sources import Sources, together
from sluice.leases.model import Epochs, Grant, Lease, number_in
from sluice.leases.reach import Reach
from sluice.lifecycle.evidence.attempt_evidence import (
    PROVED,
    Doubt,
    Evidence,
    JobEvidence,
    UnreadableRecordError,
    annotations_of,
    is_marked,
    labels_of,
    record_of,
    words,
)
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import is_as_recorded
from sluice.lifecycle.spec.commit_ids import kept_slot, slot_named
from sluice.tables import TableKey

Jobs = Mapping[str, JobView]
AllEvidence = Mapping[str, JobEvidence]

_TAKEN_BACK = (Outcome.WITHDRAWN, Outcome.NOT_STARTED)
"""Outcomes that tell of no driver's end."""

_NOTHING_KNOWN = Reach({}, {}, frozenset(), frozenset(), frozenset(), EDITION, "", lasts=False)


@dataclass(frozen=True)
class Frozen:
    """Somebody who may write, and it cannot be read what."""

    uid: str
    who: str
    why: str
    tables: tuple[TableKey, ...]
    """The tables; empty: it is not known which, so that they may be any."""

    def as_holder(self) -> Holder:
        return Holder(self.uid, self.who, _anything_to(self.tables, None))


def grants(jobs: Jobs, evidence: AllEvidence) -> list[Grant]:
    """Returns one grant per holder, on all tables that any of its witnesses tells. What is still there of an application or a
    driver is as good a witness as its job's status."""
    found: dict[str, Grant] = {}
    for uid, of_job in evidence.items():
        for one in of_job.by_application.values():
            grant = _granted(one, jobs.get(uid)) if one.holds else None
            if grant is not None and grant.lease.tables:
                holder = grant.lease.holder
                found[holder] = _together(found[holder], grant) if holder in found else grant
    return list(found.values())


def _together(first: Grant, other: Grant) -> Grant:
    tables = tuple(dict.fromkeys((*first.lease.tables, *other.lease.tables)))
    lease = replace(first.lease, tables=tables, run=first.lease.run or other.lease.run)
    return first if lease == first.lease else replace(first, lease=lease)


def unleased(jobs: Jobs, evidence: AllEvidence, leased: Collection[str]) -> list[Lease]:
    """Returns what may write though it holds no lease: an application that was created late, after its attempt was taken back,
    or that somebody brought back. `leased`: those that hold one."""
    return [one.lease for one in grants(jobs, evidence) if one.lease.holder not in leased]


def unexplained(
    known: Iterable[Grant], evidence: AllEvidence, *, tombstones: Collection[str] = ()
) -> list[Grant]:
    """Returns the granted leases of which no object shows that they are held, nor that they are over. An API server that went
    back to an earlier state doesn't know of drivers that began later; and an intent without an application may have had one.
    `tombstones`: holders whose objects go though nothing proves their end, so that nothing but that end explains anything."""
    return [grant for grant in known if not _is_explained(grant, evidence.get(grant.lease.uid), tombstones)]


def _is_explained(grant: Grant, of_job: JobEvidence | None, tombstones: Collection[str]) -> bool:
    if of_job is None:
        return False
    is_tombstone = grant.lease.holder in tombstones
    witnesses = [one for one in of_job.by_application.values() if one.number == grant.lease.attempt]
    return any(
        _tells_its_end(one, grant) or (not is_tombstone and _explains(one, grant)) for one in witnesses
    )


def _tells_its_end(one: Evidence, grant: Grant) -> bool:
    """Whether it tells the end of the grant's own driver: as its pod shows it, or as its job's status says. That no driver starts
    any more tells nothing of one that was there."""
    if one.seen.stage is Stage.ENDED and one.seen.exit_code is not None:
        return True
    return _is_closed(one, grant) and one.intent is not None and one.intent.outcome not in _TAKEN_BACK


def _explains(one: Evidence, grant: Grant) -> bool:
    """Whether it tells how the lease stands. What bears our finalizer stays until its end is proved; anything else may go before
    that, and only an end that it proves now counts."""
    is_there = one.application is not None or one.pod is not None
    return one.is_marked or (is_there and one.seen.stage in PROVED) or _is_closed(one, grant)


def _is_closed(one: Evidence, grant: Grant) -> bool:
    intent = one.intent
    return intent is not None and intent.outcome is not None and intent.token == grant.token


def frozen(jobs: Jobs, evidence: AllEvidence, remembered: Iterable[Lease]) -> list[Frozen]:
    """Returns those that cannot be read. `remembered`: leases that Redis, or this leader, knows of."""
    known: dict[str, list[str]] = {}
    for lease in remembered:
        known.setdefault(lease.uid, []).extend(lease.tables)
    found = [
        Frozen(job.uid, job.key, job.unreadable, _tables_of(job, known.get(job.uid, ())))
        for job in jobs.values()
        if job.unreadable is not None
    ]
    for uid, of_job in evidence.items():
        job = jobs.get(uid)
        if of_job.failure is not None:
            who = job.key if job is not None else f"the job with the uid {uid}"
            found.append(Frozen(uid, who, of_job.failure, _tables_of(job, known.get(uid, ()))))
        doubtful = [
            (words(doubt.body), doubt.why, _tables_in_record(doubt.body))
            for doubt in of_job.doubts
            if doubt.holds and not _is_covered(doubt, of_job)
        ]
        doubtful += [
            (one.application_name, "nothing says which tables it writes", ())
            for one in of_job.by_application.values()
            if one.holds and ((grant := _granted(one, job)) is None or not grant.lease.tables)
        ]
        found += [
            Frozen(uid, who, why, _tables_of(job, (*known.get(uid, ()), *own))) for who, why, own in doubtful
        ]
    return found


@dataclass(frozen=True)
class ClaimedEpochs:
    highest: int
    """The highest epoch among those that an operator may have written."""
    made_up: list[str]
    """The objects that bear an epoch that no operator has reached."""


def epochs(jobs: Jobs, evidence: AllEvidence, *, plausible: int = Epochs.END - 1) -> ClaimedEpochs:
    """Returns the epochs on objects. `plausible`: somebody made up whatever is above it."""
    highest, made_up = 0, set[str]()
    for epoch, who in _claimed_epochs(jobs, evidence):
        if epoch > plausible:
            made_up.add(f"{who} bears epoch {epoch}")
        else:
            highest = max(highest, epoch)
    return ClaimedEpochs(highest, sorted(made_up))


def _claimed_epochs(jobs: Jobs, evidence: AllEvidence) -> Iterator[tuple[int, str]]:
    for job in jobs.values():
        yield from ((Epochs.of(token), job.key) for token in _tokens_in_status(job))
    for of_job in evidence.values():
        for one in of_job.by_application.values():
            for body in filter(None, (one.application, one.pod)):
                if is_marked(body):
                    yield from ((epoch, words(body)) for epoch in _epochs_on(body))


def _epochs_on(body: Json) -> Iterator[int]:
    epoch = _writer_epoch(body)
    if epoch is not None:
        yield epoch
    with suppress(UnreadableRecordError):  # told where it is asked what the object holds
        yield Epochs.of(record_of(body).token)


def holder_of(lease: Lease, job: JobView | None, reach: Reach | None = None) -> Holder:
    """Returns who holds the lease, with what it touches: as the job's spec says, if that is still what the lease was granted
    for; else anything wherever it may have met others when it was granted, or on all of its tables if that isn't known."""
    with suppress(NotUnderstoodError):  # of a job that is over no spec is kept
        if job is not None and is_of(lease, job):
            footprint = _footprint(job, lease, reach or _NOTHING_KNOWN)
            return Holder(lease.uid, lease.job, footprint, yields=job.yields)
    places = None if reach is None else Places(reach.asks, reach.stands)
    return Holder(
        lease.uid, lease.job, _anything_to(map(TableKey.parse, lease.tables), lease.run), places=places
    )


def led_by_names(footprint: JobFootprint) -> dict[str, frozenset[str]]:
    """The places at which it may be by each of its names."""
    names = (one.table for one in footprint.tables if one.table.is_name)
    return {name.text: name.bound | name.claimed for name in names}


def staying_where_led(footprint: JobFootprint, places: Mapping[str, frozenset[str]]) -> JobFootprint:
    """Returns the footprint with the places to which its names led before: whoever spoke for them may be gone, and its driver
    stays where it is."""
    tables = tuple(_staying(one, places.get(one.table.text, frozenset())) for one in footprint.tables)
    changed = any(one is not before for one, before in zip(tables, footprint.tables, strict=True))
    return replace(footprint, tables=tables) if changed else footprint


def _staying(one: TableFootprint, places: frozenset[str]) -> TableFootprint:
    left = places - one.table.bound - one.table.claimed
    if not one.table.is_name or not left:
        return one
    return replace(one, table=replace(one.table, claimed=one.table.claimed | left))


def is_of(lease: Lease, job: JobView) -> bool:
    """Whether the job's spec still says what the lease was granted for."""
    try:
        return job.hashes.are(lease.hash)
    except NotUnderstoodError:
        return False


def reach_of(job: JobView) -> Reach:
    """Returns how far it reaches, as far as is known now."""
    footprint = job.footprint
    ids = {one.table.text: one.table_id for one in footprint.tables if one.table_id is not None}
    lasts = (
        all(key.text in ids for key in footprint.keys)
        and all(key in footprint.ids_of_sources for key in job.sources)
        and not any(one.may_change_table for one in footprint.tables)
    )
    places = places_of(footprint)
    return Reach(
        ids,
        {key.text: table_id for key, table_id in footprint.ids_of_sources.items()},
        _told_by(footprint),
        places.asks,
        places.stands,
        EDITION,
        job.names.fingerprint,
        lasts,
    )


def lease_for(job: JobView, number: int, spec_hash: str, slot: int | None = None) -> Lease:
    """`slot`: the one that its commits are known by, where it has no run key."""
    read = job.footprint.reads
    return Lease(
        job.uid,
        number,
        spec_hash,
        job.key,
        job.footprint.written_at,
        None if read.any_table else tuple(key.text for key in read.tables),
        slot_named(slot) if slot is not None else job.footprint.run,
    )


def changed_tables(job: JobView, attempt: Attempt) -> tuple[TableKey, ...]:
    """The tables that may have changed after the attempt."""
    try:
        if job.hashes.are(attempt.hash):
            changed = [table.table for table in job.footprint.tables if table.may_change_table]
            recorded = () if is_as_recorded(job) else _recorded(job)
            return tuple(dict.fromkeys((*changed, *recorded)))
    except NotUnderstoodError:
        pass
    return _recorded(job)


def _granted(one: Evidence, job: JobView | None) -> Grant | None:
    for body in (one.application, one.pod):
        if body is not None:
            with suppress(UnreadableRecordError):  # another witness says it
                grant = record_of(body)
                if grant.lease.attempt == one.number and grant.lease.tables:
                    return grant
    if one.intent is None or job is None:
        return None
    return Grant(_lease_of(job, one.intent), one.intent.token)


def _lease_of(job: JobView, attempt: Attempt) -> Lease:
    """Returns the lease as its status recorded it. Where that shows none of its tables, or only as many as it has room for, it is
    on those of the spec as well, if that still says what was granted. Where names lead since then nothing was granted."""
    tables = [footprint.table for footprint in job.status.footprint]
    may_be_more = not 0 < len(tables) < MAX_FOOTPRINTS
    slot = kept_slot(job.status.run)
    run = slot_named(slot) if slot is not None else None
    with suppress(Exception):  # told where the job itself is acted on: one of many must not end a rebuild
        run = run_named(job.spec, job.namespace) or run
        if may_be_more and job.hashes.are(attempt.hash):
            tables += job.footprint.written_at
    return Lease(job.uid, attempt.number, attempt.hash, job.key, tuple(dict.fromkeys(tables)), run=run)


def _is_covered(doubt: Doubt, of_job: JobEvidence) -> bool:
    """Whether another witness says what the attempt on its label holds."""
    number = labels_of(doubt.body).get(names.LABEL_ATTEMPT)
    return any(one.holds and str(one.number) == number for one in of_job.by_application.values())


def _tables_of(job: JobView | None, remembered: Iterable[str]) -> tuple[TableKey, ...]:
    """All tables that anybody knows of."""
    texts = [*remembered, *(_texts_in_status(job) if job is not None else ())]
    with suppress(Exception):  # whatever it is: those that are known hold, or all do
        texts += [key.text for key in job.tables] if job is not None else []
    return tuple(map(TableKey.parse, dict.fromkeys(texts)))


def _tables_in_record(body: dict[str, Any]) -> tuple[str, ...]:
    """The tables in its record, also where its label names another job than its record."""
    try:
        return record_of(body).lease.tables
    except UnreadableRecordError:
        return ()


def _texts_in_status(job: JobView) -> Iterator[str]:
    """The texts in a status, even one that can't be read as a whole. A text there that is no table's name names none."""
    status = job.body.get("status")
    given = status.get("footprint") if isinstance(status, dict) else None
    for entry in given if isinstance(given, list) else ():
        table = entry.get("table") if isinstance(entry, dict) else None
        if isinstance(table, str) and fullmatch(ONE_LINE, table) is not None:
            yield table


def _footprint(job: JobView, lease: Lease, reach: Reach) -> JobFootprint:
    """Returns the footprint as the job's spec says. If a table has changed since, the job may have begun before or after that;
    if a name leads elsewhere, it may be at both places; and what was read of logs that can't be read now still holds."""
    now = job.footprint
    before = [] if is_as_recorded(job) else list(job.whatever_its_tables_are.tables)
    ids_now = {one.table.text: one.table_id for one in now.tables}
    held = now.written_at
    other = [
        table
        for table in lease.tables
        if table not in held or reach.ids.get(table) not in (None, ids_now.get(table))
    ]
    granted = unknown_footprints(map(TableKey.parse, other))
    before += [replace(one, table_id=reach.ids.get(one.table.text)) for one in granted]
    forgotten = reach.told_by - _told_by(now)
    if forgotten:
        before.append(replace(now.tables[0], told_by=tuple(map(TableKey.parse, sorted(forgotten)))))
    reads = together([now.reads, _read_by(lease)])
    read = {TableKey.parse(table): log for table, log in reach.sources.items()}
    if not before and _reads_the_same(reads, now.reads) and read.keys() <= now.ids_of_sources.keys():
        return now
    ids_of_sources = {**read, **now.ids_of_sources}
    return replace(now, tables=(*now.tables, *before), reads=reads, ids_of_sources=ids_of_sources)


def _told_by(footprint: JobFootprint) -> frozenset[str]:
    return frozenset(key.text for one in footprint.tables for key in one.told_by)


def _anything_to(tables: Iterable[TableKey], run: str | None) -> JobFootprint:
    return JobFootprint(tables=unknown_footprints(tables), reads=ANY_SOURCES, run=run)


def _reads_the_same(one: Sources, other: Sources) -> bool:
    """Whether both read the same, also by names that are bound to other tables since."""
    bound = [[(key, key.bound) for key in sources.tables] for sources in (one, other)]
    return one.any_table == other.any_table and bound[0] == bound[1]


def _read_by(lease: Lease) -> Sources:
    return ANY_SOURCES if lease.reads is None else Sources(tuple(map(TableKey.parse, lease.reads)))


def _tokens_in_status(job: JobView) -> Iterator[int]:
    """The tokens as they stand there: a leader looks at those of all jobs, most of which are long over."""
    status = job.body.get("status")
    given = status.get("attempts") if isinstance(status, dict) else None
    for entry in given if isinstance(given, list) else ():
        token = entry.get("token") if isinstance(entry, dict) else None
        if type(token) is int and Epochs.is_token(token):
            yield token


def _recorded(job: JobView) -> tuple[TableKey, ...]:
    return tuple(dict.fromkeys(TableKey.parse(table.table) for table in job.status.footprint))


def _writer_epoch(body: dict[str, object]) -> int | None:
    return number_in(annotations_of(body).get(names.ANNOTATION_WRITER_EPOCH), most=Epochs.END - 1)
