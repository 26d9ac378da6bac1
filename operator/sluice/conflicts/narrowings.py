"""What the authors of statements may change in them: which partitions they read, which names they bind, where their rows land.

Nobody knows which partitions an author would name. A condition is taken to name some where the other job has nothing to do; if
there are none, no condition can help.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sluice.conflicts.advice import Advice, Jobs, Step, label
from sluice.footprint.model import NOTHING, JobFootprint, Metadata, TableFootprint
from sluice.footprint.operations import APPENDS
from sluice.footprint.promise import adding_only
from sluice.footprint.regions import EVERYTHING, united
from sluice.footprint.sql.advice import how_to_bind, how_to_know
from sluice.predicates import Column, Region, Table, blank
from sluice.predicates.columns import Kind
from sluice.predicates.values import between, complement, intersection, successor, union
from sluice.tables import TableKey

READS, NAMES, WRITES = "reads", "names", "writes"
_MOST = 12
"""The most changes that are tried for two jobs."""


@dataclass
class _Statements:
    """The statements that one change is about, which is told once of all of them."""

    of: tuple[dict[int, None], dict[int, None]] = field(default_factory=lambda: ({}, {}))


def levers(jobs: Jobs) -> list[Step]:
    """Returns one step for each change that would help, of however many statements it is."""
    found: dict[tuple[str, str, int | None], _Statements] = {}
    for side, job in enumerate(jobs):
        for one in job.tables:
            for lever, words in _words(one):
                whose = None if lever == NAMES or _is_of_a_table(one, words) else side
                found.setdefault((lever, words, whose), _Statements()).of[side][one.statement] = None
    steps = (
        Step(Advice(words, whose), lever=lever, of=(frozenset(one.of[0]), frozenset(one.of[1])))
        for (lever, words, whose), one in found.items()
    )
    return [_labelled(step, jobs) for step in list(steps)[:_MOST]]


def only(step: Step, statements: frozenset[int], jobs: Jobs) -> Step:
    """Returns the step of these statements alone, for one that is of one job."""
    of = (statements, step.of[1]) if step.advice.whose == 0 else (step.of[0], statements)
    return _labelled(replace(step, of=of), jobs)


def _labelled(step: Step, jobs: Jobs) -> Step:
    whose = step.advice.whose
    if whose is None:
        return step
    mine = [one for one in jobs[whose].tables if one.statement in step.of[whose] and not one.hook]
    return replace(step, advice=replace(step.advice, clause=label(mine, jobs[whose])))


def _words(one: TableFootprint) -> Iterator[tuple[str, str]]:
    if one.hook:
        return
    bind = how_to_bind(one.widened)
    if one.reads_advice is not None and one.reads_advice != bind:
        yield READS, one.reads_advice
    if bind is not None and one.parts.unbound:
        yield NAMES, bind
    if one.writes_advice is not None:
        yield WRITES, one.writes_advice


def _is_of_a_table(one: TableFootprint, words: str) -> bool:
    """Whether it is about what is known of the table, which no job's author changes."""
    return one.facts is None and words == how_to_know(one.table, one.operation)


def pulled(jobs: Jobs, steps: Sequence[Step]) -> Jobs:
    """The jobs after these changes of their statements."""
    first, second = jobs
    second = _pulled(second, first, 1, steps)
    return _pulled(first, second, 0, steps), second


def _pulled(job: JobFootprint, other: JobFootprint, side: int, steps: Sequence[Step]) -> JobFootprint:
    chosen = {
        (number, step.lever, step.advice.words) for step in steps if step.lever for number in step.of[side]
    }
    if not chosen:
        return job
    changed: list[TableFootprint] = []
    elsewhere = dict[tuple[TableKey, str | None], Region]()
    for one in job.tables:
        if one.hook:
            changed.append(_hook_of(one, changed))
        else:
            found = {lever for lever, words in _words(one) if (one.statement, lever, words) in chosen}
            of = one.table, one.table_id
            if found and of not in elsewhere:
                elsewhere[of] = _elsewhere(one, other)
            changed.append(_narrowed(one, found, elsewhere[of]) if found else one)
    return replace(job, tables=tuple(changed))


def _hook_of(hook: TableFootprint, before: Sequence[TableFootprint]) -> TableFootprint:
    region = united([before[-1].adds, hook.parts.sources]) if before else hook.adds
    return replace(hook, reads_files=region, adds=region, removes=region)


def _narrowed(one: TableFootprint, chosen: set[str], named: Region) -> TableFootprint:
    """The statement if it names these partitions, and binds what it selects from."""
    parts, changed = one.parts, dict[str, Any]()
    if chosen & {READS, NAMES}:
        condition = named if READS in chosen else parts.condition
        views = EVERYTHING if parts.unbound and NAMES not in chosen else NOTHING
        reads = united([condition, views, parts.sources])
        changed["reads"] = NOTHING if one.reads.is_empty else reads
        changed["reads_files"] = NOTHING if one.reads_files.is_empty else reads
        changed["blind"] = changed["reads"].is_empty if one.operation in APPENDS else one.blind
    if READS in chosen:
        rewritten = united([named, parts.rewrites])
        brings = NOTHING if one.facts is None else parts.brings
        changed["removes"] = NOTHING if one.removes.is_empty else rewritten
        changed["adds"] = NOTHING if one.adds.is_empty else united([rewritten, brings])
        if one.facts is None and one.metadata is Metadata.IDENTITY:
            changed["metadata"] = Metadata.NONE
    narrowed = replace(one, **changed) if changed else one
    return adding_only(narrowed, named) if WRITES in chosen else narrowed


def _elsewhere(one: TableFootprint, other: JobFootprint) -> Region:
    """Partitions where the other job has nothing to do, as far as it says where it works."""
    bounded = [
        region
        for theirs in other.tables
        if theirs.table == one.table or (one.table_id is not None and theirs.table_id == one.table_id)
        for region in (theirs.reads, theirs.reads_files, theirs.adds, theirs.removes)
        if not (region.is_everything or region.is_empty)
    ]
    columns = {axis: column for region in bounded for axis, column in region.columns.items()}
    if not bounded:
        return _somewhere(one)
    boxes = [box for region in bounded for box in region.boxes]
    for axis, column in columns.items():
        if all(axis in box for box in boxes):
            taken = union([box[axis] for box in boxes])
            free = intersection([complement(taken).without_null(), column.type.domain])
            if not free.is_empty:
                return Region(({axis: free},), {axis: column})
    return EVERYTHING


_ANY_TABLE = Table.of({"unknown": "int"}, partition_columns=["unknown"])
"""Stands for the columns of a table of which nothing is known."""


def _somewhere(one: TableFootprint) -> Region:
    columns: Sequence[Column] = (_ANY_TABLE if one.facts is None else one.facts.columns).partition_columns
    for column in columns:
        if blank(column) is not None:
            code = "a" if column.type.kind is Kind.STRING else 1
            return Region(({column.axis: between(code, successor(code))},), {column.axis: column})
    return EVERYTHING
