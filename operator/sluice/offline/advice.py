"""Advice as changed lines of the job's own text. A change is offered only after the oracle has judged the changed job.

There are two kinds, never to be mixed up: what follows from the text itself keeps the result whatever the data; a promise
keeps it only if the data is as it says, which its author must check.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import JobFootprint, NotUnderstoodError
from sluice.offline.jobs import Job
from sluice.offline.known_facts import KnownFacts
from sluice.offline.parameter_variants import by_names, other_values
from sluice.offline.statement_rewrites import Rewrite, rewrites_of
from sluice.predicates import PredicateError, to_sql


@dataclass(frozen=True)
class Line:
    place: str
    """The place, such as `spec.sql, line 2`."""
    before: str
    """The old text; empty where the line is new."""
    after: str


@dataclass(frozen=True)
class Change:
    """One way to change a job so that it stays out of more jobs' way."""

    job: str
    lines: tuple[Line, ...]
    keeps_result: bool
    because: str
    """Why the result is the same, or what must hold for it to be."""
    footprint: JobFootprint
    """The footprint of the changed job."""


def changes_of(job: Job, footprint: JobFootprint, knowledge: KnownFacts) -> list[Change]:
    """Returns the changes that the oracle understands, those that surely keep the result first. Whether one helps against
    another job is for the caller to ask."""
    found = [change for rewrite in _rewrites(job, knowledge) if (change := _change(job, rewrite, knowledge))]
    promise = _promised_writes(job, footprint, knowledge)
    if promise is not None:
        found.append(promise)
    return sorted(found, key=lambda change: not change.keeps_result)


def _rewrites(job: Job, knowledge: KnownFacts) -> Iterator[Rewrite]:
    if job.spec.sql is None or job.spec.footprint is not None:
        return
    try:
        yield from rewrites_of(job, knowledge.facts_for_writes_of(job), knowledge.facts, knowledge.names)
    except (NotUnderstoodError, PredicateError):
        return


def _change(job: Job, rewrite: Rewrite, knowledge: KnownFacts) -> Change | None:
    footprint = _understood(job, {"sql": rewrite.sql}, knowledge)
    if footprint is None or job.spec.sql is None:
        return None
    lines = changed_lines(job.spec.sql, rewrite.sql)
    return Change(job.name, lines, rewrite.keeps_result, rewrite.because, footprint)


def _promised_writes(job: Job, footprint: JobFootprint, knowledge: KnownFacts) -> Change | None:
    """The changes by promise: a job that reads some partitions and may add rows anywhere usually adds them to those that it
    reads. Of a stream no promise is taken."""
    if job.spec.stream is not None or job.spec.footprint is not None:
        return None
    if job.spec.writes is not None or len(footprint.keys) != 1:
        return None
    condition = _read_by(job, footprint, knowledge)
    if condition is None:
        return None
    found = _understood(job, {"writes": (condition,)}, knowledge)
    if found is None:
        return None
    line = Line("spec.writes", "", f'writes: ["{condition}"]')
    because = f"all rows that it adds have {condition}"
    return Change(job.name, (line,), keeps_result=False, because=because, footprint=found)


def _read_by(job: Job, footprint: JobFootprint, knowledge: KnownFacts) -> str | None:
    """The condition on what it reads, as it stays true when its parameters change."""
    condition, given = _one_read(footprint), job.spec.parameters
    if condition is None or given is None:
        return condition
    others = other_values(given)
    otherwise = _understood(job, {"parameters": others}, knowledge)
    then = None if otherwise is None else _one_read(otherwise)
    if then is None or by_names(then, others) != by_names(condition, given):
        return condition if then == condition else None
    return by_names(condition, given)


def _one_read(footprint: JobFootprint) -> str | None:
    reads = {to_sql(f.reads) for f in footprint.tables if f.adds.is_everything and not f.reads.is_everything}
    return reads.pop() if len(reads) == 1 and "FALSE" not in reads else None


def _understood(job: Job, changed: Mapping[str, object], knowledge: KnownFacts) -> JobFootprint | None:
    spec: DeltaWriteJobSpec = job.spec.model_copy(update=dict(changed))
    try:
        return knowledge.footprint(Job(job.name, job.place, spec))
    except (NotUnderstoodError, PredicateError):
        return None


def changed_lines(before: str, after: str, place: str = "spec.sql") -> tuple[Line, ...]:
    old, new = before.split("\n"), after.split("\n")
    found: list[Line] = []
    for tag, begin, end, start, stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        found += [
            Line(
                f"{place}, line {begin + offset + 1}",
                old[begin + offset].strip() if begin + offset < end else "",
                new[start + offset].strip() if start + offset < stop else "",
            )
            for offset in range(max(end - begin, stop - start))
        ]
    return tuple(found)
