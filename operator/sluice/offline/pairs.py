"""A pair of jobs, explained: both directions, where they meet, and which changed line would keep them apart."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

from sluice.api.job import Yield
from sluice.conflicts import Level, Pair, PairOrder, Verdict, pair_of
from sluice.conflicts.advice import Advice
from sluice.conflicts.advice_search import Budget, is_better, tried
from sluice.conflicts.advice_texts import PAUSE_STREAM
from sluice.conflicts.oracle import worst_for
from sluice.footprint import JobFootprint, reads_no_batch
from sluice.footprint.checkpoints import checkpoints_of
from sluice.footprint.sql.advice import OPERATOR_READS, how_to_bind
from sluice.offline.advice import Change, changes_of
from sluice.offline.assumptions import Assumption
from sluice.offline.jobs import Job
from sluice.offline.known_facts import KnownFacts
from sluice.tables import LINK_LOG_STORE, LogStore, TableKey

_LOST_COMMITS = "lost-commits"
_IS_LOG_STORE = "spark.delta.logStore."
NOT_TRIED = Advice(
    "what would help is not told, because two jobs of so many statements take too long to try: ask for some of their statements "
    "at a time",
    None,
    together=False,
)


_RUNS_OF_ONE_TEXT = (
    "two runs of one text touch the same partitions: name them by a parameter, such as :day, to which each run gives a value of "
    "its own in spec.parameters"
)


@dataclass(frozen=True)
class Understood:
    job: Job
    footprint: JobFootprint

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def widened(self) -> tuple[str, ...]:
        """What was not understood, and is therefore treated as touching more."""
        return tuple(dict.fromkeys(reason for table in self.footprint.tables for reason in table.widened))

    @property
    def everywhere(self) -> tuple[str, ...]:
        """What its statements touch everywhere, by their own text."""
        found = (
            f"{table.operation.value}: {table.why_everywhere}"
            for table in self.footprint.tables
            if table.why_everywhere
        )
        return tuple(dict.fromkeys(found))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What it may do, and nobody is likely to want."""
        ignored = reads_no_batch(self.job.texts)
        return () if ignored is None else (ignored,)

    @property
    def checkpoints(self) -> frozenset[str]:
        return frozenset(checkpoint.text for _, checkpoint in checkpoints_of(self.job.spec))


@dataclass(frozen=True)
class Remedy:
    change: Change
    order: PairOrder
    """In which order the two may commit after it."""

    also: tuple[Advice, ...] = ()
    """What has to be done besides, so that they may run together."""

    @property
    def helps_fully(self) -> bool:
        return self.order is PairOrder.ANY or bool(self.also)


@dataclass(frozen=True)
class Explanation:
    first: Understood
    second: Understood
    pair: Pair
    tables: tuple[str, str]
    """Where the first would lose, and where the second."""
    remedies: tuple[Remedy, ...] = ()
    assumptions: tuple[Assumption, ...] = field(default=())

    @property
    def order(self) -> PairOrder:
        return self.pair.order

    @property
    def level(self) -> Level:
        return max(self.pair.first_loses.level, self.pair.second_loses.level)

    @property
    def directions(self) -> tuple[tuple[Understood, Understood, Verdict, str], ...]:
        """Yields the loser, the winner, what would happen, and on which table."""
        return (
            (self.first, self.second, self.pair.first_loses, self.tables[0]),
            (self.second, self.first, self.pair.second_loses, self.tables[1]),
        )

    @property
    def perhaps_one(self) -> tuple[TableKey, TableKey] | None:
        return perhaps_one(self.first, self.second)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What would help, in words: all of it is needed."""
        return advice_for(self.first, self.second)

    @property
    def was_tried(self) -> bool:
        """Whether it is known what would help."""
        return self.advice != (NOT_TRIED,)

    @property
    def hints(self) -> tuple[str, ...]:
        said = tuple(one.said(self.first.name, self.second.name) for one in self.advice)
        return (*said, _RUNS_OF_ONE_TEXT) if self._wants_partitions_of_each_run else said

    @property
    def _wants_partitions_of_each_run(self) -> bool:
        """Whether two runs of one job are told to touch other partitions than each other, which one text can't say."""
        if self.first.job.spec is not self.second.job.spec:
            return False
        ways = {
            words
            for one in self.first.footprint.tables
            for words in (one.reads_advice, one.writes_advice)
            if words != how_to_bind(one.widened)
        }
        return any(one.together and one.words in ways for one in self.advice)


def advice_for(first: Understood, second: Understood, budget: Budget | None = None) -> tuple[Advice, ...]:
    """Returns what would help, tried before it is given, as people without a cluster can do it."""
    found = advised(first.footprint, second.footprint, budget)
    if _makes_room(first) or _makes_room(second):
        found = tuple(one for one in found if one.words != PAUSE_STREAM)
    return found


def advised(first: JobFootprint, second: JobFootprint, budget: Budget | None = None) -> tuple[Advice, ...]:
    """Returns the same for two jobs of which only the footprints are known."""
    found = tried(first, second, budget or Budget())
    if found is None:
        return (NOT_TRIED,)
    return tuple(replace(one, words=without_cluster(one.words)) for one in found)


def without_cluster(advice: str) -> str:
    return advice.replace(OPERATOR_READS, "give --table or --table-path for ")


def _makes_room(job: Understood) -> bool:
    stream = job.job.spec.stream
    return stream is not None and stream.yield_ is not Yield.NEVER


def perhaps_one(first: Understood, second: Understood) -> tuple[TableKey, TableKey] | None:
    """Returns two tables that may be one, where that is all that two jobs have in common."""
    keys = [(*one.footprint.keys, *one.footprint.streamed) for one in (first, second)]
    if not set(keys[0]).isdisjoint(keys[1]) or first.checkpoints & second.checkpoints:
        return None
    mine, theirs = first.footprint, second.footprint
    pairs = [
        *product(*keys),
        *product(mine.reads.tables, [vacuum.table for vacuum in theirs.vacuums]),
        *product([vacuum.table for vacuum in mine.vacuums], theirs.reads.tables),
    ]
    if any(one == other for one, other in pairs):
        return None
    return next(((one, other) for one, other in pairs if one.may_equal(other)), None)


def explained(first: Understood, second: Understood, knowledge: KnownFacts) -> Explanation:
    pair = pair_of(first.footprint, second.footprint)
    tables = (
        str(worst_for(first.footprint, second.footprint)[0]),
        str(worst_for(second.footprint, first.footprint)[0]),
    )
    remedies = () if pair.together else tuple(_remedies(first, second, pair, knowledge))
    return Explanation(
        first,
        second,
        pair,
        tables,
        remedies,
        (
            *knowledge.assumptions_about({*first.footprint.keys, *second.footprint.keys}),
            *assumptions_about_stores([(first, second, pair)]),
        ),
    )


def assumptions_about_stores(pairs: Iterable[tuple[Understood, Understood, Pair]]) -> list[Assumption]:
    """Returns the tables where two jobs would lose commits by the LogStore that Delta has for `file:` itself. The operator
    knows the settings of the jobs' runtime profile; from files alone they are not known."""
    tables = {
        table.table
        for first, second, pair in pairs
        if _LOST_COMMITS in (pair.first_loses.rule, pair.second_loses.rule)
        for job in (first, second)
        for table in job.footprint.tables
        if table.log_store is LogStore.RENAME and not any(_IS_LOG_STORE in key for key in job.job.conf)
    }
    return [
        Assumption(
            str(table),
            "jobs are taken to commit through Delta's own LogStore, because no runtime profile is known here",
            f"If theirs sets a safe one, such as {LINK_LOG_STORE}, say logStore: Safe in a DeltaTablePolicy or in the facts of "
            "--table",
        )
        for table in sorted(tables)
    ]


def _remedies(first: Understood, second: Understood, pair: Pair, knowledge: KnownFacts) -> list[Remedy]:
    found, instead = [], advice_for(first, second)
    for mine in (first, second):
        for change in changes_of(mine.job, mine.footprint, knowledge):
            changed = replace(mine, footprint=change.footprint)
            jobs = (changed, second) if mine is first else (first, changed)
            then = pair_of(jobs[0].footprint, jobs[1].footprint)
            also = () if then.together else _besides(jobs, instead)
            if also or is_better(then, pair):
                found.append(Remedy(change, then.order, also))
    return sorted(
        found,
        key=lambda remedy: (not remedy.helps_fully, len(remedy.also), not remedy.change.keeps_result),
    )


def _besides(changed: tuple[Understood, Understood], instead: tuple[Advice, ...]) -> tuple[Advice, ...]:
    """What makes a change enough that isn't alone; nothing if it would be enough without the change as well."""
    also = advice_for(*changed)
    enough = bool(also) and all(advice.together for advice in also)
    return also if enough and (len(also) < len(instead) or not instead) else ()
