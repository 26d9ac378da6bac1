"""Advice for two jobs that can't run together, tried before it is given: the footprints are changed as it says and judged again.

Nobody knows which partitions an author would name. A condition is taken to name some where the other job has nothing to do; if
there are none, no condition can help.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from sluice.api.job import Operation
from sluice.conflicts import stores_and_runs
from sluice.conflicts.cures import (
    BIND_THE_NAME,
    CREATE_FIRST,
    END_STREAM,
    OWN_CHECKPOINT,
    OWN_TXN_APP_ID,
    PAUSE_STREAM,
    RUN_ALONE,
    SKIP_CHANGES,
    WITH_VECTORS,
)
from sluice.conflicts.oracle import OTHER_TABLES, SAME_RUN, SAY_THE_ENGINE, Pair, pair_of
from sluice.conflicts.readers import lasting, vacuum_under_a_run
from sluice.conflicts.verdict import Level
from sluice.footprint.model import NOTHING, Follows, JobFootprint, Metadata, TableFootprint
from sluice.footprint.operations import APPENDS
from sluice.footprint.promise import adding_only
from sluice.footprint.regions import EVERYTHING, united
from sluice.footprint.sql.advice import how_to_bind
from sluice.predicates import Column, Region, Table, example
from sluice.predicates.columns import Kind
from sluice.predicates.values import between, complement, intersection, successor, union
from sluice.tables import Dialect, LogStore, TableKey

_MOST = 12
"""The most changes that are tried for two jobs; of longer scripts only the first ones are told."""

Jobs = tuple[JobFootprint, JobFootprint]


@dataclass(frozen=True)
class Advice:
    """One thing to do so that two jobs may run together. All that are given for a pair have to be done."""

    words: str
    whose: int | None
    """0 for the first job, 1 for the second, None for both."""
    clause: str = ""
    """The statement that it is about, such as `MERGE`."""
    together: bool = True
    """False if they still wait for each other, but less can go wrong."""

    def said(self, first: str, second: str) -> str:
        if self.whose is None:
            return self.words
        where = (
            f"{(first, second)[self.whose]}, {self.clause}" if self.clause else (first, second)[self.whose]
        )
        return f"{where}: {self.words}"


@dataclass(frozen=True)
class _Step:
    advice: Advice
    lever: str = ""
    """What of its statements it changes; empty if `change` says what it does."""
    sides: frozenset[int] = frozenset()
    """Whose statements."""
    change: Callable[[Jobs], Jobs] | None = None


_READS, _NAMES, _WRITES = "reads", "names", "writes"


_known = dict[tuple[bytes, bytes], tuple[Advice, ...]]()
"""By the fingerprints of two jobs, the latest asked last: statuses and plans ask for the same ones again and again. The jobs
themselves are not kept, of which a long script may have hundreds of kilobytes."""
_MOST_KNOWN = 2048


def tried(first: JobFootprint, second: JobFootprint) -> tuple[Advice, ...]:
    """Returns the fewest things to do after which the two may run together by the rules; if there are none, those that make the
    verdict less bad."""
    if not (first.tables and second.tables):
        return ()
    asked = first.fingerprint, second.fingerprint
    found = _known.pop(asked, None)
    if found is None:
        found = _tried((first, second))
    _known[asked] = found
    if len(_known) > _MOST_KNOWN:
        del _known[next(iter(_known))]
    return found


def _tried(jobs: Jobs) -> tuple[Advice, ...]:
    before = pair_of(*jobs)
    if before.together:
        return ()
    steps = _enough(jobs)
    if not steps:
        return tuple(dict.fromkeys(_lesser(jobs, before)))
    return tuple(step.advice for step in _without_needless(steps, jobs))


def _enough(jobs: Jobs) -> list[_Step]:
    """All that is known to do, if it is enough. What a verdict advises is asked again after each step, since one rule hides the
    next."""
    steps = _levers(jobs)
    for _ in range(_MOST):
        pair = _judged(jobs, steps)
        if pair.together:
            return steps
        known = {step.advice for step in steps}
        more = [step for step in _cures(pair, _done(jobs, steps)) if step.advice not in known]
        if not more:
            return []
        steps += more
    return []


def _without_needless(steps: Sequence[_Step], jobs: Jobs) -> list[_Step]:
    """Leaves out each that isn't needed, promises first: they bind their author for good."""
    kept = list(steps)
    ranked = sorted(steps, key=lambda one: (one.lever == _WRITES, one.lever == _NAMES))
    for step in reversed(ranked):
        fewer = [one for one in kept if one is not step]
        if fewer and _judged(jobs, fewer).together:
            kept = fewer
    return kept


def _lesser(jobs: Jobs, before: Pair) -> Iterator[Advice]:
    for step in _cures(before, jobs):
        if is_better(_judged(jobs, [step]), before):
            yield replace(step.advice, together=False)


def is_better(changed: Pair, before: Pair) -> bool:
    """Whether it is not worse in any direction, and better in one."""
    new = (changed.first_loses.level, changed.second_loses.level)
    old = (before.first_loses.level, before.second_loses.level)
    return all(a <= b for a, b in zip(new, old, strict=True)) and new != old


def _judged(jobs: Jobs, steps: Sequence[_Step]) -> Pair:
    first, second = _done(jobs, steps)
    if not (first.tables and second.tables):  # one of them doesn't run meanwhile
        return Pair(OTHER_TABLES, OTHER_TABLES)
    return pair_of(first, second)


def _done(jobs: Jobs, steps: Sequence[_Step]) -> Jobs:
    first, second = jobs
    for step in steps:
        if step.change is not None:
            first, second = step.change((first, second))
    chosen = [[step for step in steps if side in step.sides] for side in (0, 1)]
    second = _pulled(second, first, chosen[1])
    return _pulled(first, second, chosen[0]), second


# ------------------------------------------------------------------------------------------------ what statements can change


def _levers(jobs: Jobs) -> list[_Step]:
    found: dict[Advice, _Step] = {}
    for side, job in enumerate(jobs):
        for one in job.tables:
            for lever, words in _words(one):
                of_a_name = lever == _NAMES or one.facts is None
                advice = Advice(words, None if of_a_name else side, "" if of_a_name else _label(one, job))
                step = found.get(advice, _Step(advice, lever))
                found[advice] = replace(step, sides=step.sides | {side})
    return list(found.values())[:_MOST]


def _words(one: TableFootprint) -> Iterator[tuple[str, str]]:
    if one.hook:
        return
    bind = how_to_bind(one.widened)
    if one.reads_advice is not None and one.reads_advice != bind:
        yield _READS, one.reads_advice
    if bind is not None and one.parts.unbound:
        yield _NAMES, bind
    if one.writes_advice is not None:
        yield _WRITES, one.writes_advice


def _label(one: TableFootprint, job: JobFootprint) -> str:
    operation = str(one.operation).upper()
    several = len({other.statement for other in job.tables}) > 1
    return f"{operation} (statement {one.statement})" if several else operation


def _pulled(job: JobFootprint, other: JobFootprint, steps: Sequence[_Step]) -> JobFootprint:
    """The job after these changes of its statements, beside the other one."""
    if not steps:
        return job
    words = {(step.lever, step.advice.words) for step in steps}
    changed: list[TableFootprint] = []
    for one in job.tables:
        if one.hook:
            changed.append(_hook_of(one, changed))
        else:
            levers = {lever for lever, said in _words(one) if (lever, said) in words}
            changed.append(_narrowed(one, levers, _elsewhere(one, other)) if levers else one)
    return replace(job, tables=tuple(changed))


def _hook_of(hook: TableFootprint, before: Sequence[TableFootprint]) -> TableFootprint:
    region = united([before[-1].adds, hook.parts.sources]) if before else hook.adds
    return replace(hook, reads_files=region, adds=region, removes=region)


def _narrowed(one: TableFootprint, levers: set[str], named: Region) -> TableFootprint:
    """The statement if it names these partitions, and binds what it selects from."""
    parts, changed = one.parts, dict[str, Any]()
    if levers & {_READS, _NAMES}:
        condition = named if _READS in levers else parts.condition
        views = EVERYTHING if parts.unbound and _NAMES not in levers else NOTHING
        reads = united([condition, views, parts.sources])
        changed["reads"] = NOTHING if one.reads.is_empty else reads
        changed["reads_files"] = NOTHING if one.reads_files.is_empty else reads
        changed["blind"] = changed["reads"].is_empty if one.operation in APPENDS else one.blind
    if _READS in levers:
        rewritten = united([named, parts.rewrites])
        brings = NOTHING if one.facts is None else parts.brings
        changed["removes"] = NOTHING if one.removes.is_empty else rewritten
        changed["adds"] = NOTHING if one.adds.is_empty else united([rewritten, brings])
        if one.facts is None and one.metadata is Metadata.IDENTITY:
            changed["metadata"] = Metadata.NONE
    narrowed = replace(one, **changed) if changed else one
    return adding_only(narrowed, named) if _WRITES in levers else narrowed


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
        if example(column) is not None:
            code = "a" if column.type.kind is Kind.STRING else 1
            return Region(({column.axis: between(code, successor(code))},), {column.axis: column})
    return EVERYTHING


# ------------------------------------------------------------------------------------------------ what rules advise


def _cures(pair: Pair, jobs: Jobs) -> Iterator[_Step]:
    for loser, verdict in enumerate((pair.first_loses, pair.second_loses)):
        words = verdict.advice
        if verdict.level is Level.NEVER or words is None:
            continue
        if words == PAUSE_STREAM:
            yield _Step(Advice(words, loser), change=_paused(loser))
        elif words == SKIP_CHANGES:
            yield _Step(Advice(words, loser), change=_skipping(loser))
        elif words == END_STREAM:
            yield _Step(Advice(words, loser), change=_ended(loser))
        elif verdict.rule in _OF_VACUUMS:
            yield _Step(Advice(words, None), change=_keeping_files)
        elif words.startswith(RUN_ALONE):
            yield from _alone(words, jobs, loser)
        elif words.endswith(BIND_THE_NAME):
            yield _Step(Advice(words, None), change=_bound)
        elif verdict.level is Level.UNSAFE and words != OWN_CHECKPOINT:
            yield _Step(Advice(words, None), change=_safe_stores)
        elif words in _OF_BOTH:
            yield _Step(Advice(words, None), change=_OF_BOTH[words])


def _each(changed: Callable[[TableFootprint], TableFootprint]) -> Callable[[Jobs], Jobs]:
    def change(jobs: Jobs) -> Jobs:
        first, second = (replace(job, tables=tuple(map(changed, job.tables))) for job in jobs)
        return first, second

    return change


_OF_VACUUMS = frozenset({vacuum_under_a_run.id, stores_and_runs.vacuum_under_a_run.id})
_LONG = 24.0 * 365

_keeping_files = _each(
    lambda one: one if one.retention_hours is None else replace(one, retention_hours=_LONG)
)
_safe_stores = _each(lambda one: replace(one, log_store=LogStore.SAFE, lock_table=""))


def _vectors(one: TableFootprint) -> TableFootprint:
    if one.facts is None:
        return one
    facts = replace(one.facts, properties={**one.facts.properties, "delta.enableDeletionVectors": "true"})
    return replace(
        one, facts=facts, not_by_row=None if one.operation is Operation.OPTIMIZE else one.not_by_row
    )


def _runs_apart(jobs: Jobs) -> Jobs:
    return replace(jobs[0], run=None), jobs[1]


def _by_open_source_delta(jobs: Jobs) -> Jobs:
    return replace(jobs[0], dialect=Dialect("oss")), replace(jobs[1], dialect=Dialect("oss"))


def _first(changed: Callable[[TableFootprint], TableFootprint]) -> Callable[[Jobs], Jobs]:
    def change(jobs: Jobs) -> Jobs:
        return replace(jobs[0], tables=tuple(map(changed, jobs[0].tables))), jobs[1]

    return change


_OF_BOTH: dict[str | None, Callable[[Jobs], Jobs]] = {
    CREATE_FIRST: _each(lambda one: replace(one, creates=False)),
    OWN_TXN_APP_ID: _first(lambda one: replace(one, txn_app_id=None)),
    OWN_CHECKPOINT: _first(lambda one: replace(one, checkpoint=None)),
    SAME_RUN.advice: _runs_apart,
    WITH_VECTORS: _each(_vectors),
    SAY_THE_ENGINE: _by_open_source_delta,
}

_NOWHERE = JobFootprint(())
"""Stands for a job that doesn't run meanwhile."""


def _in_place(jobs: Jobs, side: int, job: JobFootprint) -> Jobs:
    return (job, jobs[1]) if side == 0 else (jobs[0], job)


def _paused(stream: int) -> Callable[[Jobs], Jobs]:
    def change(jobs: Jobs) -> Jobs:
        breaks = lasting(jobs[stream], jobs[1 - stream])
        return jobs if breaks is not None else _in_place(jobs, stream, _NOWHERE)

    return change


def _skipping(stream: int) -> Callable[[Jobs], Jobs]:
    return lambda jobs: _in_place(jobs, stream, replace(jobs[stream], follows=Follows.CHANGES))


def _ended(stream: int) -> Callable[[Jobs], Jobs]:
    return lambda jobs: _in_place(jobs, stream, _NOWHERE)


def _alone(words: str, jobs: Jobs, loser: int) -> Iterator[_Step]:
    """Of a job with other statements these go on as they are."""
    for side in (1 - loser, loser):
        changing = [one for one in jobs[side].tables if one.may_change_table or one.single_attempt]
        if changing:
            label = _label(changing[0], jobs[side])
            if len(changing) == 1:
                words = RUN_ALONE
            yield _Step(Advice(words, side, label), change=_without(side, changing))
            return


def _without(side: int, gone: Iterable[TableFootprint]) -> Callable[[Jobs], Jobs]:
    statements = {one.statement for one in gone}

    def change(jobs: Jobs) -> Jobs:
        job = jobs[side]
        left = tuple(one for one in job.tables if one.statement not in statements)
        return _in_place(jobs, side, replace(job, tables=left) if left else _NOWHERE)

    return change


def _bound(jobs: Jobs) -> Jobs:
    """Both jobs if no unbound name of one leads to a table of the other."""
    first, second = jobs
    for one, other in product(dict.fromkeys(_named_by(first)), dict.fromkeys(_named_by(second))):
        if one != other and one.may_equal(other):
            if one.is_name:
                first = _elsewhere_named(first, one, "sluice-first" if other.is_name else other.text)
            if other.is_name:
                second = _elsewhere_named(second, other, "sluice-second" if one.is_name else one.text)
    return first, second


def _named_by(job: JobFootprint) -> Iterator[TableKey]:
    yield from (*job.keys, *job.streamed, *job.reads.tables)


def _elsewhere_named(job: JobFootprint, name: TableKey, beside: str) -> JobFootprint:
    elsewhere = TableKey(f"{beside}.elsewhere" if ":" in beside else f"s3://{beside}/{name.text}")
    return job.renamed(name, elsewhere).reading(name, elsewhere)
