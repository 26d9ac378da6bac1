"""Jobs of many statements get the verdict that comparing all of them one by one gives, without the time which that takes."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cache
from random import Random
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluice.api.job import DeltaWriteJobSpec, Operation
from sluice.conflicts import Level, Verdict, oracle, pair_of, races
from sluice.conflicts.oracle import conflict_between, judge, worst_for
from sluice.conflicts.race import Race
from sluice.conflicts.readers import beside
from sluice.footprint import (
    EVERYTHING,
    NOTHING,
    JobFootprint,
    Metadata,
    ProtocolChange,
    TableFootprint,
    footprint_of,
)
from sluice.footprint.sources import Sources
from sluice.predicates import Region, Table, compiled, parse
from sluice.tables import (
    Dialect,
    LogStore,
    TableFacts,
    TableKey,
    databricks,
    delta_rs,
    key_of_name,
    key_of_path,
    oss,
)

PATH = "s3://lake/t"
T = f"delta.`{PATH}`"
COLUMNS = {"id": "bigint", "v": "string", "n": "int", "region": "string"}
FACTS = TableFacts(columns=Table.of(COLUMNS, ["n", "region"]), dialect=oss("4.4.0"), log_store=LogStore.SAFE)


def one_by_one(
    loser: JobFootprint, winner: JobFootprint, accepted: Collection[TableKey] = ()
) -> tuple[TableKey, Verdict]:
    """What comparing all statements says, as simply as it can be stated."""
    same_run = loser.run is not None and loser.run == winner.run
    found, table = oracle.SAME_RUN if same_run else oracle.OTHER_TABLES, loser.tables[0].table
    for race in _races(loser, winner):
        verdict = judge(race)
        if race.table in accepted and oracle.is_a_risk(verdict) and oracle._are_understood(race):
            continue
        if found is oracle.OTHER_TABLES or verdict.level > found.level:
            found, table = verdict, race.table
    for read, verdict in beside(loser, winner):
        if found is oracle.OTHER_TABLES or verdict.level > found.level:
            found, table = verdict, read
    return table, found


def _races(loser: JobFootprint, winner: JobFootprint) -> Iterator[Race]:
    for mine in loser.tables:
        for theirs in winner.tables:
            race = races.race_between(mine, theirs, loser, winner)
            if race is not None:
                yield race


BY_DAY = Table.of({**COLUMNS, "d": "date"}, ["n", "region", "d"])


@cache
def _region(condition: str) -> Region:
    return compiled(parse(condition, BY_DAY))


class Drawing:
    """Jobs by chance: of few kinds of statements, which touch many partitions."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)  # noqa: S311 - repeatable chance is what is wanted
        self._one_of = self._chance.choice
        self._known = [
            None,
            replace(FACTS, write_serializable=True),
            replace(FACTS, table_id="7d1f", identity_columns=frozenset({"id"})),
            TableFacts(
                Table.of(COLUMNS), properties={"delta.enableDeletionVectors": "true"}, table_id="c0de"
            ),
        ]
        self._keys = [
            key_of_path(PATH),
            key_of_path("s3://lake/u"),
            key_of_name("s.t"),
            replace(key_of_name("s.u"), bound=frozenset({"s3://lake/u"})),
            key_of_path("hdfs:///lake/t"),
            key_of_path("hdfs://nn/lake/t"),
        ]

    def seldom(self, chance: float = 0.1) -> bool:
        return self._chance.random() < chance

    def region(self) -> Region:
        if self.seldom(0.3):
            return self._one_of([EVERYTHING, NOTHING, NOTHING])
        n = self._chance.randrange(12)
        conditions = [f"n = {n}", f"n > {n}", f"n BETWEEN {n} AND {n + 1}", f"n IN ({n}, {n + 3}, {n + 5})"]
        conditions += [f"n = {n} AND region = '{self._one_of('abc')}'"] * 4
        conditions += [f"region = '{self._one_of('abc')}'", f"n = {n} OR region = 'd'", "n IS NULL"]
        conditions += [f"year(d) = {2020 + n}", f"d = DATE '{2020 + n}-05-05'", f"NOT n = {n}"]
        return _region(self._one_of(conditions))

    def kind(self) -> TableFootprint:
        facts = self._one_of(self._known)
        return TableFootprint(
            self._one_of(self._keys[:2]) if self.seldom(0.7) else self._one_of(self._keys),
            statement=1,
            operation=self._one_of(list(Operation)),
            blind=self.seldom(0.3),
            data_change=not self.seldom(0.2),
            metadata=self._one_of(list(Metadata)) if self.seldom(0.2) else Metadata.NONE,
            enables=frozenset({"rowTracking"}) if self.seldom() else frozenset(),
            protocol=self._one_of(list(ProtocolChange)) if self.seldom() else ProtocolChange.NONE,
            domains=frozenset({"clustering"}) if self.seldom() else frozenset(),
            txn_app_id=self._one_of(["a", "b"]) if self.seldom() else None,
            checkpoint=self._one_of(["s3://lake/c", "hdfs:///c", "hdfs://nn/c"]) if self.seldom() else None,
            single_attempt=self.seldom(),
            replaces=self.seldom(),
            creates=self.seldom(),
            retries_itself=self.seldom(),
            certain=self.seldom(0.5),
            adds_surely=self.seldom(0.5),
            keeps_no_row=self.seldom(0.5),
            hook=self.seldom(),
            retention_hours=self._one_of([0.0, 200.0]) if self.seldom(0.05) else None,
            leaves_retention_hours=0.0 if self.seldom(0.05) else None,
            told_by=(self._one_of(self._keys),) if self.seldom(0.2) else (),
            write_serializable=self.seldom(0.3),
            not_understood=("all",) if self.seldom() else (),
            log_store=LogStore.UNKNOWN if self.seldom(0.05) else LogStore.SAFE,
            facts=facts,
            table_id=None if facts is None else facts.table_id,
        )

    def job(self, most: int) -> JobFootprint:
        kinds = [self.kind() for _ in range(self._one_of([1, 2, 4]))]
        tables = tuple(
            self._statement(number, self._one_of(kinds)) for number in range(self._chance.randint(1, most))
        )
        reads = tuple(self._one_of(self._keys) for _ in range(self._one_of([0, 0, 2])))
        return JobFootprint(
            tables,
            dialect=self._one_of([None, oss("4.4.0"), databricks("15.4"), delta_rs("1.3.0")]),
            streams_from=(self._one_of(self._keys),) if self.seldom() else (),
            reads=Sources(reads),
            ids_of_sources={key: "7d1f" for key in reads if self.seldom()},
            run=self._one_of(["etl/a", "etl/b"]) if self.seldom() else None,
        )

    def _statement(self, number: int, kind: TableFootprint) -> TableFootprint:
        region = self.region()
        read = region if self.seldom(0.6) else self.region()
        return replace(
            kind,
            statement=number,
            reads=read,
            reads_files=self._one_of([read, self.region()]),
            adds=self._one_of([region, region, self.region()]),
            removes=self._one_of([region, region, self.region()]),
        )


def drawn(seed: int, most: int) -> Iterator[tuple[JobFootprint, JobFootprint, Collection[TableKey]]]:
    drawing = Drawing(seed)
    for _ in range(20):
        first, second = drawing.job(most), drawing.job(most)
        accepted = {one.table for one in first.tables} if drawing.seldom(0.5) else ()
        yield first, second, accepted
        yield second, first, accepted


seeds = st.integers(0, 1 << 48)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_jobs_of_few_statements_get_the_very_verdict_of_comparing_all(seed: int) -> None:
    for loser, winner, accepted in drawn(seed, 12):
        found, simply = worst_for(loser, winner, accepted), one_by_one(loser, winner, accepted)
        if simply[1].level is Level.NEVER and accepted:
            assert found[1].level is Level.NEVER  # then nothing is told of it
        else:
            assert found == simply


@settings(max_examples=25, deadline=None)
@given(seeds, st.sampled_from([5, 40, 200]))
@example(1966, 40)  # where the statements don't meet, a later rule is surer
def test_jobs_of_many_statements_never_get_a_better_verdict(seed: int, spent: int) -> None:
    """Nor another one, unless it says that not all was compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(races, "EXACT", 0)
        patch.setattr(races, "MOST_JUDGED", spent)
        for loser, winner, accepted in drawn(seed, 12):
            (_, found), (_, simply) = worst_for(loser, winner, accepted), one_by_one(loser, winner, accepted)
            assert found.level >= simply.level
            if races.NOT_ONE_BY_ONE not in found.reason and found.rule != races.NOT_COMPARED.rule:
                assert found.level == simply.level


def job(*statements: str) -> JobFootprint:
    tables = (replace(read(one), statement=number) for number, one in enumerate(statements))
    return JobFootprint(tuple(tables), oss("4.4.0"))


@cache
def read(statement: str) -> TableFootprint:
    spec = DeltaWriteJobSpec(sql=statement)
    return footprint_of(spec, {}, facts={key_of_path(PATH): FACTS}).tables[0]


def deletes(numbers: range) -> list[str]:
    return [f"DELETE FROM {T} WHERE n = {number} AND id = 1" for number in numbers]


def updates(numbers: range) -> list[str]:
    return [f"UPDATE {T} SET v = 'x' WHERE n >= {number} AND n < {number + 1}" for number in numbers]


def mixed(numbers: range) -> list[str]:
    """Statements of eight kinds."""
    rows = "SELECT 1L AS id, 'v' AS v, {n} AS n, 'eu' AS region"
    kinds = [
        f"DELETE FROM {T} WHERE n = {{n}}",
        f"DELETE FROM {T} WHERE n = {{n}} AND id = 3",
        f"UPDATE {T} SET v = 'x' WHERE n = {{n}} AND region = 'eu'",
        f"INSERT INTO {T} {rows}",
        f"INSERT INTO {T} SELECT id, v, n, region FROM {T} WHERE n = {{n}}",
        f"INSERT INTO {T} REPLACE WHERE n = {{n}} {rows}",
        f"MERGE INTO {T} t USING ({rows}) s ON t.id = s.id AND t.n = {{n}} WHEN MATCHED THEN UPDATE SET v = s.v",
        f"OPTIMIZE {T} WHERE n = {{n}}",
    ]
    return [kinds[number % len(kinds)].replace("{n}", str(number)) for number in numbers]


def by_two_columns(count: int, shift: int) -> list[str]:
    """Statements on partitions that no few conditions describe."""
    return [f"DELETE FROM {T} WHERE n = {n} AND region = 'r{(n + shift) % count}'" for n in range(count)]


def by_rows(numbers: range) -> list[str]:
    return [f"DELETE FROM {T} WHERE id = {number}" for number in numbers]


def pairs(name: str, n: int) -> tuple[JobFootprint, JobFootprint]:
    first, second = PAIRS[name](n)
    return job(*first), job(*second)


PAIRS: dict[str, Callable[[int], tuple[list[str], list[str]]]] = {
    "apart": lambda n: (deletes(range(n)), deletes(range(n, 2 * n))),
    "ranges apart": lambda n: (updates(range(n)), deletes(range(n, 2 * n))),
    "every other": lambda n: (deletes(range(0, 2 * n, 2)), deletes(range(1, 2 * n, 2))),
    "the last ones meet": lambda n: (deletes(range(n)), deletes(range(2 * n - 1, n - 2, -1))),
    "equal": lambda n: (deletes(range(n)), deletes(range(n))),
    "by rows": lambda n: (by_rows(range(n)), by_rows(range(n, 2 * n))),
    "mixed": lambda n: (mixed(range(n)), mixed(range(n, 2 * n))),
    "mixed that meet": lambda n: (mixed(range(n)), mixed(range(n))),
    "by two columns": lambda n: (by_two_columns(n, 0), by_two_columns(n, 1)),
    "one and many": lambda n: (deletes(range(1)), deletes(range(n))),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_what_is_judged_grows_no_faster_than_the_statements(
    pair: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = 0

    def counting(race: Race) -> Verdict:
        nonlocal counted
        counted += 1
        return judge(race)

    monkeypatch.setattr(oracle, "judge", counting)
    needed = []
    for n in (70, 140, 280):
        first, second = pairs(pair, n)
        counted = 0
        pair_of(first, second)
        needed.append(counted)
    assert needed[2] <= max(4.5 * needed[0], 2 * races.MOST_JUDGED + 2)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_level_is_that_of_comparing_all(pair: str) -> None:
    first, second = pairs(pair, races.EXACT + 6)
    for loser, winner in ((first, second), (second, first)):
        found = worst_for(loser, winner)[1]
        assert found.level is one_by_one(loser, winner)[1].level
        assert races.NOT_ONE_BY_ONE not in found.reason


def test_of_too_many_that_no_few_conditions_describe_it_is_told_that_they_were_not_compared() -> None:
    first, second = pairs("by two columns", 300)
    verdict = worst_for(first, second)[1]
    assert verdict.level is Level.MAY
    assert verdict.reason == (
        "Delete may remove files that Delete reads, if the conditions of 300 statements and of 300 are taken together: "
        "they are too many to compare one by one"
    )
    assert verdict.overlap is None


@pytest.mark.parametrize("pair", ["equal", "by two columns"])
def test_what_both_accept_they_accept_of_many_statements(pair: str) -> None:
    first, second = pairs(pair, 300)
    assert conflict_between(first, second) is not None
    assert conflict_between(first, second, {key_of_path(PATH)}) is None


def like(kind: TableFootprint, regions: list[Region], dialect: Dialect) -> JobFootprint:
    """A job of statements of one kind, each in a region of its own."""
    tables = (
        replace(kind, statement=n, reads=one, reads_files=one, removes=one) for n, one in enumerate(regions)
    )
    return JobFootprint(tuple(tables), dialect)


def test_what_both_accept_for_those_that_meet_they_need_not_for_those_that_do_not() -> None:
    """Databricks' documents are silent on two that change rows and metadata in partitions of their own."""
    regions = [_region(f"n = {n}") for n in range(5)]
    delete = replace(read(deletes(range(1))[0]), adds=NOTHING)
    update = replace(delete, operation=Operation.UPDATE, metadata=Metadata.MAY_CHANGE)
    loser, winner = (like(kind, regions, databricks("15.4")) for kind in (update, delete))
    table, verdict = worst_for(loser, winner, {key_of_path(PATH)})
    assert (table, verdict) == one_by_one(loser, winner, {key_of_path(PATH)})
    assert (verdict.level, verdict.rule) == (Level.MAY, "undocumented")


def test_statements_that_add_nothing_are_compared_by_themselves() -> None:
    """Both write the clustering columns, which surely fails where the winner adds nothing."""
    clusters = TableFootprint(
        *(key_of_path(PATH), 1, Operation.ALTER, NOTHING, NOTHING, EVERYTHING, NOTHING),
        domains=frozenset({"clustering"}),
        certain=True,
        log_store=LogStore.SAFE,
    )
    several = [clusters] * 4 + [replace(clusters, adds=NOTHING)]
    first = JobFootprint(tuple(replace(one, statement=n) for n, one in enumerate(several)), oss("4.4.0"))
    assert worst_for(first, first) == one_by_one(first, first)
    assert worst_for(first, first)[1].level is Level.WILL


def test_jobs_on_many_tables_are_compared_by_table() -> None:
    def on(place: str, count: int) -> JobFootprint:
        return job(*(f"DELETE FROM delta.`abfss://c@h/{place}/{number}`" for number in range(count)))

    begun = process_time()
    assert pair_of(on("a", 1_200), on("b", 1_200)).together
    assert not pair_of(on("a", 1_200), on("a", 1_200)).together
    assert process_time() - begun < 20


def test_more_kinds_on_one_table_than_can_be_compared_wait_for_each_other() -> None:
    kinds = tuple(
        TableFootprint(key_of_path(PATH), number, Operation.APPEND, NOTHING, NOTHING, txn_app_id=f"{number}")
        for number in range(200)
    )
    one = JobFootprint(tuple(replace(kind, log_store=LogStore.SAFE) for kind in kinds), oss("4.4.0"))
    assert worst_for(one, one) == (key_of_path(PATH), races.NOT_COMPARED)


def test_sources_of_many_statements_are_looked_up_among_many_changed_tables() -> None:
    def on(place: str, kind: TableFootprint) -> JobFootprint:
        tables = [key_of_path(f"s3://lake/{place}/{number}") for number in range(1_000)]
        if kind.may_change_table:
            return JobFootprint(tuple(replace(kind, table=table) for table in tables), oss("4.4.0"))
        return JobFootprint(tuple(replace(kind, told_by=(table,)) for table in tables), oss("4.4.0"))

    append = replace(read(f"INSERT INTO {T} VALUES (1, 'v', 1, 'eu')"), reads=NOTHING)
    alter = replace(append, operation=Operation.ALTER, metadata=Metadata.CHANGES)
    begun = process_time()
    assert pair_of(on("sources", append), on("others", alter)).together
    assert pair_of(on("sources", append), on("sources", alter)).first_loses.rule == "changed-source"
    assert process_time() - begun < 2


def test_fifteen_hundred_statements_each_take_no_second() -> None:
    """They took minutes, of which nothing else in the operator had any."""
    first, second = pairs("the last ones meet", 1_500)
    begun = process_time()
    assert not pair_of(first, second).together
    assert process_time() - begun < 1
