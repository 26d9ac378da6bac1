"""A job as the operator sees it: the object, and what was understood of it."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from sluice.api.base import Json
from sluice.api.durations import LONGEST_PAUSE
from sluice.api.engine_kind import EngineKind
from sluice.api.job import DeltaWriteJobSpec, WhenBlocked, Yield
from sluice.api.job_status import (
    MAX_FOOTPRINTS,
    Attempt,
    DeltaWriteJobStatus,
    Outcome,
    Phase,
    ShownFootprint,
)
from sluice.engines import RuntimeProfile
from sluice.footprint import ANY_SOURCES, Days, JobFootprint, NotUnderstoodError, days_of, touching_all
from sluice.footprint.run_keys import forgetful, forgotten_batches
from sluice.lifecycle.job.parsed_statuses import ParsedStatuses, ReadStatus
from sluice.lifecycle.job.table_dependents import TableDependents
from sluice.lifecycle.spec.compiled_spec import CompiledSpec, CompiledSpecs
from sluice.lifecycle.spec.footprint_violations import FootprintViolations
from sluice.lifecycle.spec.read_requests import Found, SpecAnswer, SpecQuestion, takes_long_to_read, weight_of
from sluice.lifecycle.spec.spec_hashes import SpecHashes, is_by_days
from sluice.tables import Names, TableFacts, TableKey
from sluice.templates import Permissions, asks_of

_BY_SPEC = (
    "spec",
    "profile",
    "_footprint_from_spec",
    "_named",
    "hashes",
    "_unrepeatable_text",
    "_weight",
    "_long_work",
    "_why_not_permitted",
    "_asks_for",
)
_STRAYED = "a run of this very spec has touched more than was understood of it"
_LONGEST_BACK_OFF = timedelta(seconds=1.5 * LONGEST_PAUSE)
"""A pause may be half as long again as the job says."""
_BY_FACTS = ("_footprint_with_facts", "footprint", "recorded")


@dataclass(frozen=True)
class JobView:
    """One version of one job. It is made anew whenever the object changes, or what is known of its tables, so that nothing in
    it can be stale."""

    body: dict[str, Any]
    profiles: dict[str, RuntimeProfile]
    arrived_at: datetime
    facts: Mapping[TableKey, TableFacts] = field(default_factory=dict)
    """What is known of all tables now. It decides what the job may run beside, not what it does."""
    names: Names = field(default_factory=Names)
    """Where names lead, likewise."""
    works: CompiledSpecs = field(default_factory=CompiledSpecs)
    """What was read of all jobs' specs."""
    statuses: ParsedStatuses = field(default_factory=ParsedStatuses)
    """The statuses of all jobs that were read last."""
    strayed: FootprintViolations = field(default_factory=FootprintViolations)
    """Specs of which more was touched than is understood of them."""
    resting: TableDependents = field(default_factory=TableDependents)
    """Called when something is concluded from what is known of its tables."""
    judged_at: datetime | None = None
    """When it was last judged by the day; None: as it arrived."""

    def now(self, body: dict[str, Any], names: Names) -> "JobView":
        """Returns the job with the changed object. What was understood stays understood as long as the spec is the same: large
        SQL takes seconds to read, and the status of a job changes many times."""
        view = replace(self, body=body, names=names)
        is_alike = view.generation == self.generation and view.days == self.days
        return view._keeping(self, *_BY_SPEC, *_BY_FACTS) if is_alike else view

    def judged_anew(self) -> "JobView":
        """Returns the job after what is known of its tables has changed."""
        return replace(self)._keeping(self, *_BY_SPEC)

    def judged_on(self, now: datetime) -> "JobView":
        """Returns the job after its days are past."""
        return replace(self, judged_at=now)

    def as_it_came(self) -> "JobView":
        """Returns the job without what was understood, which takes more memory than the object."""
        return replace(self)

    def apart(self) -> "JobView":
        """Returns the job for another thread, which shares nothing with others that it changes."""
        alone = replace(self, works=CompiledSpecs(), statuses=ParsedStatuses(), resting=TableDependents())
        return alone._keeping(self, *_BY_SPEC, *_BY_FACTS)

    def renamed(self, names: Names, *, is_concerned: bool) -> "JobView":
        """Returns the job after names lead elsewhere. Of thousands of jobs all are renamed at once: what making a job checks and
        works out was checked before."""
        view = object.__new__(JobView)
        view.__dict__.update({name: self.__dict__[name] for name in _GIVEN}, names=names)
        return view._keeping(self, *_BY_SPEC, *(() if is_concerned else _BY_FACTS))

    def depends_on(self, table: TableKey) -> bool:
        """Whether anything was concluded from what is known of the table."""
        return "_footprint_with_facts" in self.__dict__ and (
            table in self.tables or table in self._selected_from
        )

    def has_spec(self, hashes: Container[str]) -> bool:
        """Whether its spec was read, and has one of these hashes."""
        if not self.is_read or isinstance(self._footprint_from_spec, NotUnderstoodError):
            return False
        return any(one in hashes for one in self.hashes.however_told)

    def concludes_from(self, names: frozenset[TableKey]) -> bool:
        """Whether anything may have been concluded from where one of these leads."""
        if "_footprint_with_facts" not in self.__dict__:
            return False
        return self.footprint_from_spec.reads.any_table or not names.isdisjoint(self._named)

    @cached_property
    def _named(self) -> frozenset[TableKey]:
        """The tables that it writes and reads, as its spec calls them."""
        return frozenset((*self.footprint_from_spec.keys, *self.footprint_from_spec.reads.tables))

    def _keeping(self, other: "JobView", *names: str) -> "JobView":
        """A spec that was not understood is read again: of a job that was over perhaps none was there to be read."""
        known = {name: other.__dict__[name] for name in names if name in other.__dict__}
        if isinstance(known.get("_footprint_from_spec"), NotUnderstoodError):
            del known["_footprint_from_spec"]
        self.__dict__.update(known)
        return self

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    @property
    def namespace(self) -> str:
        return str(self.body["metadata"]["namespace"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def identity(self) -> dict[str, str]:
        return {"namespace": self.namespace, "name": self.name, "uid": self.uid}

    @property
    def generation(self) -> int:
        return int(self.body["metadata"]["generation"])

    @property
    def resource_version(self) -> str:
        return str(self.body["metadata"]["resourceVersion"])

    @property
    def days(self) -> Days | None:
        """The days on which its statements may run, by which they are judged; None: they are judged for any day. An attempt
        keeps those that it was granted by."""
        days = self._asks_for
        if days is None:
            return None
        attempt = self.open_attempt
        if attempt is not None:
            return days if is_by_days(attempt.hash) else None
        return days if days.may_start(self.judged_at or self.arrived_at) else None

    def is_late_on(self, now: datetime) -> bool:
        """Whether it was judged by days that will be past before its driver begins."""
        return self.days is not None and not self.days.may_start(now)

    @cached_property
    def _asks_for(self) -> Days | None:
        made, spec = self.body["metadata"].get("creationTimestamp"), self.body.get("spec")
        if made is None or not isinstance(spec, dict):
            return None
        return days_of(
            spec.get("sql"), datetime.fromisoformat(made), is_declared=spec.get("footprint") is not None
        )

    @property
    def queued_at(self) -> datetime:
        """When the job was queued. Jobs created within one second keep their order: what counts is when each was first seen. That
        is never after now: a leader whose clock was ahead would have put it behind those that come next."""
        told = self.status.queued_at
        return self.arrived_at if told is None else min(told, self.arrived_at)

    def waited(self, now: datetime) -> float:
        """Seconds of its patience that are used up: it isn't asked for any while it is held back, or pauses for others."""
        if self.phase in (Phase.SUSPENDED, Phase.PAUSED):
            return 0.0
        return (now - self.waits_since).total_seconds()

    @property
    def waits_since(self) -> datetime:
        """When it last joined the queue: its age counts from the first time, its patience from the last."""
        again = (self.status.resumed_at, self.retry_at, self._went_on_at)
        return max([self.queued_at, *(at for at in again if at is not None)])

    @property
    def _went_on_at(self) -> datetime | None:
        """When a stream that had stopped at a batch boundary queued again."""
        return self.status.since if self.has_stopped else None

    @property
    def has_stopped(self) -> bool:
        """Whether it is a stream whose latest attempt stopped because it was asked to."""
        attempts = self.status.attempts
        return bool(attempts) and attempts[-1].outcome is Outcome.PAUSED

    @property
    def when_blocked(self) -> WhenBlocked:
        """What it does when others are in its way: a stream that stopped for others goes on after them, whatever it says."""
        return WhenBlocked.WAIT if self.has_stopped else self.spec.admission.when_blocked

    @property
    def retry_at(self) -> datetime | None:
        """When its latest retry queues, or queued: no later than any pause may last, whatever somebody wrote there."""
        at, since = self.status.retry_at, self.status.since
        if at is None or since is None:
            return at
        longest = _LONGEST_BACK_OFF if self.phase is Phase.BACKING_OFF else timedelta(0)
        return at if at - since <= longest else since + longest

    @property
    def is_deleted(self) -> bool:
        return "deletionTimestamp" in self.body["metadata"]

    @property
    def status(self) -> DeltaWriteJobStatus:
        """The status, as far as it can be read."""
        return self._read_status[0]

    @property
    def can_tell(self) -> bool:
        """Whether the status can say anything: one that is no object has no place for words, and is what somebody may still
        put right."""
        given = self.body.get("status")
        return given is None or isinstance(given, dict)

    @property
    def unreadable(self) -> str | None:
        """What of its status can't be read, if that part tells what the job has done or holds."""
        return self._read_status[1]

    @property
    def _read_status(self) -> ReadStatus:
        return self.statuses.of(self.uid, self.body)

    @property
    def phase(self) -> Phase | None:
        return self.status.phase

    @property
    def is_finished(self) -> bool:
        return self.phase is not None and self.phase.is_terminal

    @property
    def open_attempt(self) -> Attempt | None:
        """The attempt that was granted and has not ended; the oldest of them if somebody has opened one again."""
        return next((attempt for attempt in self.status.attempts if attempt.outcome is None), None)

    @property
    def is_read(self) -> bool:
        """Whether its spec was read, which takes a while; also if it can't be understood."""
        return "_footprint_from_spec" in self.__dict__

    @property
    def is_read_with_facts(self) -> bool:
        """Whether its spec was read, and something is known of each table that it touches, even if only that the table can't
        be read."""
        if not self.is_read or isinstance(self._footprint_from_spec, NotUnderstoodError):
            return self.is_read
        return self._has_facts and self.is_soon_worked_out

    @property
    def is_soon_worked_out(self) -> bool:
        """Whether its footprint is known, or quick to work out."""
        if not self.is_read and self._takes_long_to_read:
            return False
        return "_footprint_with_facts" in self.__dict__ or not self._takes_long_with_facts

    @property
    def _has_facts(self) -> bool:
        return all(key in self.facts for key in (*self.tables, *self.sources))

    @property
    def to_read(self) -> SpecQuestion | None:
        """What a process is to read of it as it is now, and as its tables are; None: nothing, or nothing any more."""
        if not self.is_read:
            is_long = self._takes_long_to_read
            return (
                SpecQuestion(self.body.get("spec"), self.profiles, self.namespace, days=self.days)
                if is_long
                else None
            )
        if isinstance(self._footprint_from_spec, NotUnderstoodError) or not self._has_facts:
            return None
        if self.is_soon_worked_out:
            return None
        return SpecQuestion(
            self.body.get("spec"),
            self.profiles,
            self.namespace,
            self.judged_names,
            self._facts_of_its_tables,
            self._facts_of_sources(),
            self.days,
        )

    def take(self, question: SpecQuestion, answer: SpecAnswer) -> None:
        """Takes what a process has read, if it was asked about the job as it is now."""
        now = self.to_read
        if now is None or not now.asks_the_same(question) or not self._are_named_alike(question):
            return
        if question.names is not None:
            self.resting.rests(self.uid, (*self.tables, *self._selected_from))
            self.__dict__["_footprint_with_facts"] = answer.footprint
        else:
            self.__dict__["_footprint_from_spec"] = answer.footprint
            self.__dict__["_unrepeatable_text"] = answer.unrepeatable

    def _are_named_alike(self, question: SpecQuestion) -> bool:
        """Whether none of its names leads elsewhere than when the question was asked."""
        if question.names is None or question.names is self.judged_names:
            return True
        differing = question.names.differing(self.judged_names)
        is_open = self.footprint_from_spec.reads.any_table
        return not differing if is_open else differing.isdisjoint(self._named)

    @property
    def _takes_long_to_read(self) -> bool:
        return takes_long_to_read(self._weight)

    @property
    def _takes_long_with_facts(self) -> bool:
        known = (self.facts.get(key) for key in (*self.tables, *self.sources))
        columns = max((len(facts.columns.columns) for facts in known if facts is not None), default=0)
        return takes_long_to_read(self._weight, columns)

    @cached_property
    def _weight(self) -> int:
        return weight_of(self.body.get("spec"))

    @property
    def is_to_be_read(self) -> bool:
        """Whether its spec is to be read before the job can be decided on."""
        is_over = self.is_deleted or self.unreadable is not None or self.is_finished
        return not self.is_read and not is_over and self.open_attempt is None

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.body["metadata"].get("annotations") or {}

    @property
    def _work(self) -> CompiledSpec:
        """What the job shares with others of an equal spec. A long spec would push out those of many others."""
        if self._takes_long_to_read:
            return self._long_work
        return self.works.of(self.body.get("spec"), self.profiles, self.namespace, self.days)

    @cached_property
    def _long_work(self) -> CompiledSpec:
        return CompiledSpec(self.body.get("spec"), self.profiles, self.namespace, self.days)

    @cached_property
    def spec(self) -> DeltaWriteJobSpec:
        return self._work.spec

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream, as its manifest says even where that is not understood any more."""
        return self._stream is not None

    @property
    def streams_for_ever(self) -> bool:
        """Whether it is a stream that doesn't end by itself."""
        trigger = (self._stream or {}).get("trigger")
        return isinstance(trigger, dict) and "processingTime" in trigger

    @property
    def for_ever(self) -> Yield | None:
        """For whom it makes room, if it is a stream that doesn't end by itself."""
        return self.yields if self.streams_for_ever else None

    @property
    def yields(self) -> Yield | None:
        """For whom it pauses, if it is a stream."""
        return None if self.spec.stream is None else self.spec.stream.yield_

    @property
    def _stream(self) -> Json | None:
        spec = self.body.get("spec")
        stream = spec.get("stream") if isinstance(spec, dict) else None
        return stream if isinstance(stream, dict) else None

    @property
    def engine(self) -> EngineKind:
        """The Spark operator that runs it."""
        return self.profile.engine if self.spec.application is None else self.spec.application.engine

    @cached_property
    def profile(self) -> RuntimeProfile:
        return self._work.profile

    def why_not_permitted(self, permissions: Permissions) -> str | None:
        """Says what it asks of its pods that jobs of its namespace may not have. It is judged once: a configuration lasts as long
        as its process."""
        if "_why_not_permitted" not in self.__dict__:
            self.__dict__["_why_not_permitted"] = permissions.why_not(self.namespace, asks_of(self.spec))
        why: str | None = self.__dict__["_why_not_permitted"]
        return why

    @property
    def footprint_from_spec(self) -> JobFootprint:
        """The footprint as far as its manifest tells, which names tables as it likes."""
        if isinstance(self._footprint_from_spec, NotUnderstoodError):
            raise self._footprint_from_spec.with_traceback(None)
        return self._footprint_from_spec

    @cached_property
    def _footprint_from_spec(self) -> Found:
        try:
            return self._work.footprint_from_spec
        except NotUnderstoodError as error:
            return error

    @cached_property
    def tables(self) -> tuple[TableKey, ...]:
        """The tables that it writes, each by its one key."""
        return tuple(dict.fromkeys(map(self.judged_names.key_of, self.footprint_from_spec.keys)))

    @property
    def judged_names(self) -> Names:
        """The names by which it is judged. A driver compares those that its statements mention. What is declared may stand in none
        of them, and a user's own application compares nothing: nobody would notice that a name leads elsewhere than a run
        reported."""
        return self.names if self.spec.footprint is None else self.names.by_policies

    @property
    def sources(self) -> tuple[TableKey, ...]:
        """The tables whose columns may tell where its rows land; only tables with partitions can."""
        found = (self.facts.get(key) for key in self.tables) if self._selected_from else ()
        partitioned = any(facts is not None and facts.columns.partition_columns for facts in found)
        return self._selected_from if partitioned else ()

    @cached_property
    def _selected_from(self) -> tuple[TableKey, ...]:
        keys = dict.fromkeys(map(self.judged_names.key_of, self.footprint_from_spec.reads.tables))
        return tuple(key for key in keys if not key.is_name)

    @cached_property
    def _footprint_with_facts(self) -> Found:
        self.resting.rests(self.uid, (*self.tables, *self._selected_from))
        try:
            return self._footprint({key: self.facts[key] for key in self.tables if key in self.facts})
        except NotUnderstoodError as error:
            return error

    @property
    def refusal(self) -> str | None:
        """Why it cannot run on its tables as they are now. Another job may still change them."""
        self.footprint_from_spec  # noqa: B018 - what is wrong in the spec alone is an error
        return (
            str(self._footprint_with_facts)
            if isinstance(self._footprint_with_facts, NotUnderstoodError)
            else None
        )

    @cached_property
    def footprint(self) -> JobFootprint:
        """The footprint with what is known of its tables. A job that they refuse may touch all of them, as they will be then."""
        if isinstance(self._footprint_with_facts, NotUnderstoodError):
            return self._on_unknown_tables(str(self._footprint_with_facts))
        if self.strayed and self.has_spec(self.strayed):
            return touching_all(self._footprint_with_facts, _STRAYED)
        return self._footprint_with_facts

    @cached_property
    def recorded(self) -> tuple[ShownFootprint, ...]:
        """The footprint as its status is to show it. Each status has it, and each holder is compared with it."""
        return _shown(self.footprint)

    @property
    def whatever_its_tables_are(self) -> JobFootprint:
        """The footprint for tables that are not as they were when it began."""
        return self._on_unknown_tables("it has changed since the job began")

    def _on_unknown_tables(self, why: str) -> JobFootprint:
        """What takes long isn't read once more for that: the job may do anything to its tables."""
        if not self._takes_long_with_facts:
            return self._footprint({k: self.facts[k].unlike_now(why) for k in self.tables if k in self.facts})
        found, key_of = self.footprint_from_spec, self.judged_names.key_of
        called = replace(
            found,
            tables=tuple(replace(one, table=key_of(one.table), told_by=()) for one in found.tables),
            streams_from=tuple(map(key_of, found.streams_from)),
            looks_into=tuple(map(key_of, found.looks_into)),
            reads=ANY_SOURCES,
        )
        return touching_all(called, why)

    def _footprint(self, facts: Mapping[TableKey, TableFacts]) -> JobFootprint:
        return self._work.footprint_with_facts(self.judged_names, facts, self._facts_of_sources())

    def _facts_of_sources(self) -> dict[TableKey, TableFacts]:
        return {key: self.facts[key] for key in (*self.tables, *self.sources) if key in self.facts}

    @property
    def unrepeatable(self) -> str | None:
        """Why no other attempt of it could tell what is done; None if it is known of no statement, and of no table."""
        return self._unrepeatable_text or forgetful(self._facts_of_its_tables)

    @cached_property
    def _unrepeatable_text(self) -> str | None:
        return self._work.unrepeatable

    @property
    def forgotten_batches(self) -> str | None:
        """Why a batch of its stream that runs again may be written twice; None if nothing is known of that."""
        return forgotten_batches(self._facts_of_its_tables)

    @property
    def _facts_of_its_tables(self) -> dict[TableKey, TableFacts]:
        return {key: self.facts[key] for key in self.tables if key in self.facts}

    @property
    def run_key(self) -> str:
        return self.spec.run_key or self.uid

    @property
    def work_hash(self) -> str:
        """A hash of what is to be done."""
        return self._work.work_hash

    @cached_property
    def hashes(self) -> SpecHashes:
        """By which grants say that they were for this spec. Equal specs share them, unless a process reads them."""
        if self._takes_long_to_read:
            return SpecHashes(self.spec, self.footprint_from_spec.identity, by_days=self.days is not None)
        return self._work.hashes

    def was_rewritten_since(self, attempt: Attempt) -> bool:
        """Whether its author changed since what the attempt did, as far as the spec was read, and is understood."""
        if not self.is_read or isinstance(self._footprint_from_spec, NotUnderstoodError):
            return False
        return not (self.hashes.are(attempt.hash) or self.hashes.are_written_as(attempt.hash))

    @property
    def spec_hash(self) -> str:
        return self.hashes.now


_GIVEN = tuple(one.name for one in fields(JobView))


def _shown(footprint: JobFootprint) -> tuple[ShownFootprint, ...]:
    return tuple(
        ShownFootprint(
            table=table.table.text,
            statement=table.statement,
            operation=table.operation,
            reads=table.reads_text,
            writes=table.writes_text,
            deletes=table.deletes_text,
            metadata=table.changes_metadata,
            widened=table.widened,
        )
        for table in footprint.tables[:MAX_FOOTPRINTS]
    )
