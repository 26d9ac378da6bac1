"""Held against real Spark, both versions: no file of a commit lies outside of what was foretold of its statement.

Shapes of statements are drawn from a fixed seed: every kind of query into every kind of write. A reader that widens
everything would miss nothing, too, so that most shapes must stay narrower than the whole table.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contract.conftest import FreezingSpark
from contract.harness.older_spark import OlderSpark
from contract.shapes.carrying import build_tables, carry_out
from contract.shapes.generator import Shape, shapes
from contract.shapes.judging import Foreteller, Tally, judged
from long_parts import parts, seed_of

SEED = 20261123
SHAPES = 200
HALF = SHAPES // 2
"""Each half has every kind of query."""
PARTS, SHAPES_OF_A_PART = 10, 500
"""Together five thousand, in each version."""
NARROW = 0.6
RAN = 0.7


@pytest.mark.timeout(1800)
def test_no_file_of_spark_42_lies_outside(
    freezing: FreezingSpark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _held(_in_this_spark(freezing, tmp_path, list(shapes(SEED, SHAPES))[:HALF]), capsys)


@pytest.mark.timeout(1800)
def test_no_file_of_spark_35_lies_outside(
    older: OlderSpark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _held(_in_the_older_spark(older, tmp_path, list(shapes(SEED, SHAPES))[HALF:]), capsys)


@pytest.mark.long(minutes=8)
@pytest.mark.timeout(3600)
@parts(PARTS)
def test_no_file_of_five_thousand_shapes_in_spark_42_lies_outside(
    freezing: FreezingSpark,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    part: int,
    record_property: Callable[[str, object], None],
) -> None:
    _held(_in_this_spark(freezing, tmp_path, _new_ones(part, capsys)), capsys)
    record_property("shapes in Spark", SHAPES_OF_A_PART)


@pytest.mark.long(minutes=8)
@pytest.mark.timeout(3600)
@parts(PARTS)
def test_no_file_of_five_thousand_shapes_in_spark_35_lies_outside(
    older: OlderSpark,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    part: int,
    record_property: Callable[[str, object], None],
) -> None:
    _held(_in_the_older_spark(older, tmp_path, _new_ones(part, capsys)), capsys)
    record_property("shapes in the older Spark", SHAPES_OF_A_PART)


def _new_ones(part: int, capsys: pytest.CaptureFixture[str]) -> list[Shape]:
    with capsys.disabled():
        return list(shapes(seed_of(part), SHAPES_OF_A_PART))


def _in_this_spark(freezing: FreezingSpark, folder: Path, chosen: list[Shape]) -> Tally:
    spark = freezing.spark.newSession()
    build_tables(spark, folder)
    return judged(Foreteller.by_logs(folder, "4.4.0"), chosen, carry_out(spark, folder, chosen))


def _in_the_older_spark(older: OlderSpark, folder: Path, chosen: list[Shape]) -> Tally:
    done = older.carry_out(folder, chosen)
    return judged(Foreteller.by_logs(folder, "3.3.3"), chosen, done)


def _held(tally: Tally, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{tally}")
    assert not tally.missed, "\n\n".join(map(str, tally.missed))
    assert len(tally.ran) >= RAN * len(tally.judged)
    assert len(tally.narrow) >= NARROW * len(tally.admitted)
