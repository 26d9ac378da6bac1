"""Held against real Spark: no row that matches both of two conditions that were called disjoint, on any pair.

Conditions are generated from a fixed seed in every spelling we know of; rows sit at the edges of the literals, with NULLs.
Spark is run with and without ANSI, with and without code generation, in UTC and in a zone with daylight saving time.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from random import Random

import pytest
from pyspark.sql import SparkSession

from contract.predicates.conditions import Condition, conditions, not_plain
from contract.predicates.real_spark import RealSpark
from contract.predicates.rows import PARTITIONED_BY, TYPES, Row, rows
from sluice.predicates import (
    Predicate,
    PredicateError,
    Region,
    Session,
    Table,
    compiled,
    covers,
    disjoint,
    parse,
    to_sql,
)

TABLE = Table.of(TYPES, PARTITIONED_BY)


@dataclass(frozen=True)
class Setting:
    seed: int
    ansi: bool
    time_zone: str
    codegen: bool

    @property
    def session(self) -> Session:
        return Session(self.time_zone, ansi=self.ansi)


SHORT = [Setting(11, True, "UTC", False), Setting(12, False, "America/New_York", False)]
LONG = [
    Setting(21, True, "America/New_York", False),
    Setting(22, False, "UTC", True),
    Setting(23, False, "Asia/Kolkata", False),
    Setting(24, True, "UTC", True),
]


@dataclass(frozen=True)
class Judged:
    """A condition as we understood it, beside the rows on which Spark says TRUE."""

    text: str
    predicate: Predicate
    region: Region
    matching: int


@pytest.fixture
def spark(session: SparkSession) -> RealSpark:
    return RealSpark(session)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("setting", SHORT, ids=str)
def test_two_conditions_called_disjoint_never_share_a_row(
    spark: RealSpark, setting: Setting, capsys: pytest.CaptureFixture[str]
) -> None:
    report = hold_against_spark(spark, setting, condition_count=250, row_count=150)
    with capsys.disabled():
        print(report)


@pytest.mark.long(minutes=4)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("setting", LONG, ids=str)
def test_two_conditions_called_disjoint_never_share_a_row_in_a_hundred_thousand_pairs(
    spark: RealSpark, setting: Setting, capsys: pytest.CaptureFixture[str]
) -> None:
    report = hold_against_spark(spark, setting, condition_count=600, row_count=300)
    with capsys.disabled():
        print(report)


def hold_against_spark(spark: RealSpark, setting: Setting, *, condition_count: int, row_count: int) -> str:
    random = Random(setting.seed)  # noqa: S311 - generated tests, not secrets
    generated = conditions(random, condition_count, plain_only=setting.ansi)
    if not setting.ansi:
        generated += not_plain()
    made = rows(random, row_count)
    spark.configure(ansi=setting.ansi, time_zone=setting.time_zone, codegen=setting.codegen)
    spark.load(made)
    judged, refused = judge(spark, setting, generated)
    check_each(judged, made, setting)
    check_text(spark, judged, made, setting)
    pairs, apart, needless = check_pairs(judged)
    check_promises(random, judged)
    causes = "".join(f"\n    {count:6} {cause}" for cause, count in needless.most_common(12))
    return (
        f"\n{setting}: {len(judged)} conditions, {refused} refused by Spark, {row_count} rows, {pairs} pairs,"
        f" {apart} called disjoint, 0 of them wrong;"
        f"\n  {needless.total()} pairs of conditions that match rows but share none here were said to overlap:{causes}\n"
    )


def judge(spark: RealSpark, setting: Setting, generated: list[Condition]) -> tuple[list[Judged], int]:
    judged: list[Judged] = []
    refused = 0
    plain = [condition for condition in generated if condition.plain]
    others = [condition for condition in generated if not condition.plain]
    answers = spark.matching([condition.text for condition in plain])
    answers += spark.matching([condition.text for condition in others])
    for condition, matching in zip(plain + others, answers, strict=True):
        if matching is None:
            assert not condition.plain, f"Spark refuses {condition.text}"
            refused += 1
            continue
        try:
            predicate = parse(condition.text, TABLE, session=setting.session)
        except PredicateError:
            assert not matching, f"refused, though rows match: {condition.text}"
            continue
        judged.append(Judged(condition.text, predicate, compiled(predicate), matching))
    return judged, refused


def held_rows(region: Region, made: list[Row], time_zone: str) -> int:
    columns = {
        axis: name
        for column in region.columns.values()
        for axis, name in zip(column.axes, column.names, strict=True)
    }
    held = 0
    for i, row in enumerate(made):
        if region.may_hold({axis: row.code(name, time_zone) for axis, name in columns.items()}):
            held |= 1 << i
    return held


def check_each(judged: list[Judged], made: list[Row], setting: Setting) -> None:
    """A region holds every row that matches; and no other, if nothing was widened."""
    for one in judged:
        exact = compiled(one.predicate, stored=False)
        held = held_rows(exact, made, setting.time_zone)
        assert not one.matching & ~held, f"a matching row is outside of {to_sql(exact)}, made of: {one.text}"
        if not exact.reasons:
            assert held == one.matching, f"{to_sql(exact)} is wider than {one.text}"


def check_text(spark: RealSpark, judged: list[Judged], made: list[Row], setting: Setting) -> None:
    """The SQL that people are shown matches exactly the rows of the region."""
    regions = {
        to_sql(region): region for one in judged if (region := compiled(one.predicate, stored=False)).boxes
    }
    for (text, region), matching in zip(regions.items(), spark.matching(list(regions)), strict=True):
        assert matching is not None, text
        held = held_rows(region, made, setting.time_zone)
        assert not matching & ~held if region.computes else matching == held, text


def check_pairs(judged: list[Judged]) -> tuple[int, int, Counter[str]]:
    pairs = apart = 0
    needless: Counter[str] = Counter()
    for a, b in combinations(judged, 2):
        pairs += 1
        if disjoint(a.region, b.region):
            apart += 1
            assert not a.matching & b.matching, f"called disjoint, but rows match both:\n{a.text}\n{b.text}"
        elif a.matching and b.matching and not a.matching & b.matching:
            needless[cause(a, b)] += 1
    return pairs, apart, needless


def cause(a: Judged, b: Judged) -> str:
    reasons = (*a.region.reasons, *b.region.reasons)
    if reasons:
        return reasons[0]
    if disjoint(compiled(a.predicate, stored=False), compiled(b.predicate, stored=False)):
        return "'' lies in the NULL partition"
    return "no such row among the generated ones"


def check_promises(random: Random, judged: list[Judged]) -> None:
    for _ in range(5000):
        outer, inner = random.choice(judged), random.choice(judged)
        if covers(outer.predicate, inner.predicate):
            assert not inner.matching & ~outer.matching, f"called covered:\n{inner.text}\nby {outer.text}"
