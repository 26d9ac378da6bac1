"""What the rules advise, as changes of the two jobs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from sluice.api.job import Operation
from sluice.conflicts import stores_and_runs
from sluice.conflicts.advice import Advice, Jobs, Step, label
from sluice.conflicts.advice_texts import (
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
from sluice.conflicts.oracle import SAME_RUN, SAY_THE_ENGINE, Pair
from sluice.conflicts.readers import lasting, vacuum_under_a_run
from sluice.conflicts.verdict import Level
from sluice.footprint.model import Follows, JobFootprint, TableFootprint
from sluice.tables import Dialect, LogStore, TableKey


def cures(pair: Pair, jobs: Jobs) -> Iterator[Step]:
    """Returns what the verdicts advise, as steps to try."""
    for loser, verdict in enumerate((pair.first_loses, pair.second_loses)):
        words = verdict.advice
        if verdict.level is Level.NEVER or words is None:
            continue
        if words == PAUSE_STREAM:
            yield Step(Advice(words, loser), change=_paused(loser))
        elif words == SKIP_CHANGES:
            yield Step(Advice(words, loser), change=_skipping(loser))
        elif words == END_STREAM:
            yield Step(Advice(words, loser), change=_ended(loser))
        elif verdict.rule in _OF_VACUUMS:
            yield Step(Advice(words, None), change=_keeping_files)
        elif words.startswith(RUN_ALONE):
            yield from _alone(words, jobs, loser)
        elif words.endswith(BIND_THE_NAME):
            yield from _bound(words, jobs, loser)
        elif verdict.level is Level.UNSAFE and words != OWN_CHECKPOINT:
            yield Step(Advice(words, None), change=_safe_stores)
        elif words in _OF_BOTH:
            yield Step(Advice(words, None), change=_OF_BOTH[words])


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


def _alone(words: str, jobs: Jobs, loser: int) -> Iterator[Step]:
    """Of a job with other statements these go on as they are."""
    for side in (1 - loser, loser):
        changing = [one for one in jobs[side].tables if one.may_change_table or one.single_attempt]
        if changing:
            clause = label(changing, jobs[side])
            if len(changing) == 1:
                words = RUN_ALONE
            yield Step(Advice(words, side, clause), change=_without(side, changing))
            return


def _without(side: int, gone: Iterable[TableFootprint]) -> Callable[[Jobs], Jobs]:
    statements = {one.statement for one in gone}

    def change(jobs: Jobs) -> Jobs:
        job = jobs[side]
        left = tuple(one for one in job.tables if one.statement not in statements)
        return _in_place(jobs, side, replace(job, tables=left) if left else _NOWHERE)

    return change


_MOST_APART = 4
"""The most names of which each is told by itself."""


def _bound(words: str, jobs: Jobs, loser: int) -> Iterator[Step]:
    """Binds each name of one job that may lead to a table of the other. `words`: what the verdict says of one of them."""
    found = list(_unbound(jobs))
    if len(found) == 1:
        yield Step(Advice(words, None, binds=_one_name(found)), change=_bind(found))
    elif len(found) <= _MOST_APART:
        for one in found:
            tables = (one.name, one.other) if one.side == loser else (one.other, one.name)
            told = f"{tables[0]} and {tables[1]} {BIND_THE_NAME}"
            yield Step(Advice(told, None, binds=_one_name([one])), change=_bind([one]))
    else:
        named = ", ".join(str(one.name) for one in found[: _MOST_APART - 1])
        more = len(found) - _MOST_APART + 1
        told = f"{named} and {more} more may be tables of the other job: bind each to its path in a DeltaTablePolicy"
        yield Step(Advice(told, None), change=_bind(found))


@dataclass(frozen=True)
class _Unbound:
    """A name of one job, and a table of the other that may be the same one."""

    side: int
    name: TableKey
    other: TableKey

    @property
    def elsewhere(self) -> TableKey:
        beside = ("sluice-first", "sluice-second")[self.side] if self.other.is_name else self.other.text
        return TableKey(f"{beside}.elsewhere" if ":" in beside else f"s3://{beside}/{self.name.text}")


def _one_name(found: Sequence[_Unbound]) -> str:
    return "" if any(one.other.is_name for one in found) else found[0].name.text


def _unbound(jobs: Jobs) -> Iterator[_Unbound]:
    told = set[tuple[int, TableKey]]()
    for one, other in product(*(dict.fromkeys(_named_by(job)) for job in jobs)):
        if one != other and one.may_equal(other):
            for found in (_Unbound(0, one, other), _Unbound(1, other, one)):
                if found.name.is_name and (found.side, found.name) not in told:
                    told.add((found.side, found.name))
                    yield found


def _named_by(job: JobFootprint) -> Iterator[TableKey]:
    yield from (*job.keys, *job.streamed, *job.reads.tables)


def _bind(found: Iterable[_Unbound]) -> Callable[[Jobs], Jobs]:
    def change(jobs: Jobs) -> Jobs:
        for one in found:
            job = jobs[one.side].renamed(one.name, one.elsewhere).reading(one.name, one.elsewhere)
            jobs = _in_place(jobs, one.side, job)
        return jobs

    return change
