"""Reads traces: JSON lines, one job each, or YAML with a list of `jobs`, beside policies and facts about tables."""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sluice.api.durations import seconds
from sluice.api.job import Operation, Risk, WhenBlocked
from sluice.api.manifests import Document, Documents, ManifestError, decoded, read_text
from sluice.api.problems import problems_of
from sluice.footprint import JobFootprint, NotUnderstoodError
from sluice.offline.assumptions import in_one
from sluice.offline.files import STANDARD_INPUT, read_files
from sluice.offline.jobs import Job, manifests_of
from sluice.offline.known_facts import KnownFacts
from sluice.offline.simulation.touches import (
    NOTHING,
    Partition,
    TouchedTables,
    facts_by_partitions,
    footprint_of_touched,
    key_of_table,
)
from sluice.offline.simulation.trace import AGE_AFTER, Trace, TracedJob, TraceRules
from sluice.offline.simulation.trace_fields import GivenJob, GivenTouch
from sluice.offline.workspace import gathered
from sluice.predicates import PredicateError
from sluice.tables import TableFacts, TableKey, known

_LINES = frozenset({".jsonl", ".ndjson"})
_MOST_YEARS = 1_000
_YEAR = 365 * 86_400_000
_ENDINGS = {"b": ("", "s"), "c": ("y", "ies")}
_BLIND = frozenset({Operation.APPEND, Operation.STREAM})


@dataclass
class Traced:
    trace: Trace
    troubles: list[ManifestError]
    assumptions: list[str] = field(default_factory=list)


def read_trace(
    files: Iterable[Path],
    tables: Iterable[Path] = (),
    table_paths: Iterable[str] = (),
    age_after: int = AGE_AFTER,
) -> Traced:
    """Reads all jobs of these files; what can't be used is among the troubles. `age_after`: in milliseconds, where no policy
    says it."""
    documents = _read(files)
    given, others = _jobs_in(documents)
    manifests = manifests_of(others)
    for job in manifests.jobs:
        why = f"{job.name}: a trace also says when a job came: put its spec into a job of jobs, with name, at and duration"
        manifests.troubles.append(ManifestError(job.place, why))
    jobs, troubles = _checked(given)
    known_jobs = [_job(one, place) for one, place in jobs if one.spec is not None]
    knowledge, unusable = gathered(manifests, read_files(tables), known_jobs, table_paths)
    traced = list(_traced(jobs, _Footprints(knowledge, [one for one, _ in jobs]), troubles))
    total = sum(job.duration for job in traced)
    if total > _MOST_YEARS * _YEAR:
        troubles.append(
            ManifestError(
                "the trace", f"its jobs compute for {total // _YEAR:,} years: at most {_MOST_YEARS:,}"
            )
        )
        traced = []
    keys = {key for job in traced for key in job.footprint.keys}
    return Traced(
        Trace.of(traced, rules_of(knowledge, keys, age_after)),
        [*unusable, *troubles],
        [
            *in_one(knowledge.assumptions_about(keys), most=None),
            *_not_played(knowledge, [one for one, _ in jobs]),
        ],
    )


def _read(files: Iterable[Path]) -> Documents:
    found = Documents()
    for file in files:
        if file == STANDARD_INPUT:
            text = decoded(sys.stdin.buffer.read())
            read = _read_lines if _is_lines(text) else read_text
            read(text, "standard input", found)
        elif file.suffix.lower() in _LINES:
            try:
                _read_lines(decoded(file.read_bytes()), str(file), found)
            except UnicodeDecodeError as error:
                found.troubles.append(ManifestError(str(file), f"is not UTF-8 text (byte {error.start + 1})"))
            except OSError as error:
                found.troubles.append(ManifestError(str(file), f"cannot be read: {error.strerror or error}"))
        else:
            more = read_files([file])
            found.found += more.found
            found.troubles += more.troubles
            found.passed_over += more.passed_over
    return found


def _is_lines(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(line.startswith("{") and line.rstrip().endswith("}") for line in lines)


def _read_lines(text: str, file: str, found: Documents) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{file}, line {number}"
        try:
            body = json.loads(line, object_pairs_hook=_each_once, parse_constant=_no_number)
        except RecursionError:
            found.troubles.append(ManifestError(place, "is nested too deeply"))
        except ValueError as error:
            found.troubles.append(ManifestError(place, f"is not JSON: {error}"))
        else:
            if isinstance(body, dict):
                found.found.append(Document(place, body))
            else:
                found.troubles.append(ManifestError(place, "must be a JSON object, with one job"))


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(
            f"{next(name for name in names if names.count(name) > 1)} is given twice: remove one"
        )
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a number there")


def _jobs_in(documents: Documents) -> tuple[list[Document], Documents]:
    """Tells jobs of a trace from other documents, which have a kind, or are facts with a schema."""
    jobs: list[Document] = []
    others = Documents(troubles=documents.troubles)
    for document in documents.found:
        if "kind" in document.body or "schema" in document.body or "apiVersion" in document.body:
            others.found.append(document)
        elif set(document.body) != {"jobs"}:
            jobs.append(document)
        elif not isinstance(document.body["jobs"], list):
            others.troubles.append(ManifestError(document.place, "jobs must be a list"))
        else:
            jobs += _listed(document, others.troubles)
    return jobs, others


def _listed(document: Document, troubles: list[ManifestError]) -> Iterator[Document]:
    for number, body in enumerate(document.body["jobs"]):
        place = f"{document.place}, job {number + 1}"
        if isinstance(body, dict):
            yield _Listed(place, body, document.source, number)
        else:
            troubles.append(
                ManifestError(place, "must be a mapping of fields: name, at, duration, and spec or touches")
            )


@dataclass(frozen=True)
class _Listed(Document):
    number: int = 0

    def line_of(self, place: Iterable[int | str]) -> int | None:
        return super().line_of(("jobs", self.number, *place))


def _checked(documents: Iterable[Document]) -> tuple[list[tuple[GivenJob, str]], list[ManifestError]]:
    jobs: list[tuple[GivenJob, str]] = []
    troubles: list[ManifestError] = []
    places: dict[str, str] = {}
    first: tuple[bool, str] | None = None
    for document in documents:
        try:
            job = GivenJob.as_stored(document.body)
        except ValidationError as error:
            why = problems_of(error, "", most=10, of=GivenJob, line_of=document.line_of)
            troubles.append(ManifestError(document.place, why))
            continue
        if job.name in places:
            why = f"{job.name} is already in {places[job.name]}: jobs of a trace have a name each; this one is left out"
            troubles.append(ManifestError(document.place, why))
            continue
        places[job.name] = document.place
        timed = _is_a_time(document.body["at"])
        first = first or (timed, document.place)
        if timed != first[0]:
            why = f"{job.name}: at is {'a time' if timed else 'in seconds'}, but not in {first[1]}: use one of the two"
            troubles.append(ManifestError(document.place, why))
            continue
        jobs.append((job, document.place))
    return jobs, troubles


def _is_a_time(at: object) -> bool:
    return not isinstance(at, int | float)


def _job(given: GivenJob, place: str) -> Job:
    assert given.spec is not None  # noqa: S101 - asked by whoever calls
    return Job(given.name, place, given.spec)


class _Footprints:
    """Makes the footprints of a trace's jobs, each text once."""

    def __init__(self, knowledge: KnownFacts, jobs: Iterable[GivenJob]) -> None:
        self._knowledge = knowledge
        self._made: dict[tuple[str, str], JobFootprint] = {}
        self._columns: dict[TableKey, dict[str, None]] = defaultdict(dict)
        for touch in (touch for job in jobs for touch in job.touches or ()):
            for partition in (*(touch.partitions or ()), *(touch.reads or ())):
                self._columns[self._key(touch)].update(dict.fromkeys(partition))

    def of(self, given: GivenJob, place: str) -> JobFootprint:
        if given.spec is not None:
            job = _job(given, place)
            key = (job.namespace, given.spec.model_dump_json(exclude_none=True))
            if key not in self._made:
                self._made[key] = self._knowledge.footprint(job)
            return self._made[key]
        touches = given.touches or ()
        key = ("", "".join(touch.model_dump_json() for touch in touches))
        if key not in self._made:
            facts = {self._key(touch): self._facts(self._key(touch)) for touch in touches}
            self._made[key] = footprint_of_touched(map(_touched, touches), facts, self._knowledge.names)
        return self._made[key]

    def _key(self, touch: GivenTouch) -> TableKey:
        return self._knowledge.names.key_of(key_of_table(touch.table))

    def _facts(self, key: TableKey) -> TableFacts:
        given = self._knowledge.facts.get(key, self._knowledge.of_any_table)
        if given is not None:
            return known(given, self._knowledge.declared(key))
        return known(facts_by_partitions(list(self._columns.get(key, ()))), self._knowledge.declared(key))


def _touched(given: GivenTouch) -> TouchedTables:
    reads: Sequence[Partition] | None = given.partitions if given.reads is None else given.reads
    if given.reads is None and given.operation in _BLIND:
        reads = NOTHING
    return TouchedTables(given.table, given.operation, reads, given.partitions)


def _traced(
    jobs: Iterable[tuple[GivenJob, str]], footprints: _Footprints, troubles: list[ManifestError]
) -> Iterator[TracedJob]:
    for given, place in jobs:
        try:
            footprint = footprints.of(given, place)
        except NotUnderstoodError as error:
            troubles += [ManifestError(place, f"{given.name}: {problem}") for problem in error.problems]
            continue
        except PredicateError as error:
            troubles.append(ManifestError(place, f"{given.name}: {error}"))
            continue
        priority = given.priority or (given.spec.priority if given.spec is not None else 0)
        yield TracedJob(given.name, given.at, given.duration, footprint, priority)


def rules_of(knowledge: KnownFacts, tables: Iterable[TableKey], age_after: int) -> TraceRules:
    """What policies say of the queue for these tables."""
    most = {key: one.declared.admission.max_writers for key, one in knowledge.declarations.by_table.items()}
    ages = {
        table: min(given)
        for table in tables
        if (
            given := [
                seconds(one.declared.admission.age_after) * 1000
                for one in knowledge.declarations.all_of(table)
                if one.declared.admission.age_after is not None
            ]
        )
    }
    return TraceRules({key: count for key, count in most.items() if count is not None}, ages, age_after)


def _not_played(knowledge: KnownFacts, jobs: Iterable[GivenJob]) -> Iterator[str]:
    """What jobs and policies say that changes when jobs run, and is not played."""
    found: dict[str, int] = defaultdict(int)
    for admission in (job.spec.admission for job in jobs if job.spec is not None):
        for what, is_set in (
            ("timeout", admission.timeout is not None),
            ("whenBlocked", admission.when_blocked is not WhenBlocked.WAIT),
            ("suspend", admission.suspend),
        ):
            found[f"admission.{what} of {{}} job"] += is_set
    for rules in {
        one.policy: one.declared.admission for one in knowledge.declarations.by_table.values()
    }.values():
        found["admission.defaultTimeout of {} polic"] += rules.default_timeout is not None
        found["admission.risk of {} polic"] += rules.risk is Risk.OPTIMISTIC
    for what, count in found.items():
        if count:
            of = what.format(f"{count:,}") + _ENDINGS[what[-1]][count > 1]
            yield f"{of} is not played: each job waits until it conflicts with nobody, and runs once"
