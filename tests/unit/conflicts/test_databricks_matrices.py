"""Every cell of the documents' matrices, by finding of docs/sources.md and cell; X x Y is X's row and Y's column.

Cells are about pairs, so both directions are asked. "Can conflict" is `may`: the documents never say that it will.
"""

import pytest

from sluice.conflicts import Level
from sluice.tables import oss
from unit.conflicts import databricks_pairs as d
from unit.conflicts import pairs as p

Cell = tuple[str, list[str], list[str], p.Given, bool]

INSERTS = [p.APPEND, p.APPEND.replace("VALUES", "SELECT * FROM VALUES")]
CHANGES = [d.UPDATE_ROW, d.DELETE_ROW, d.MERGE_ROW]
READING = [d.READING_INSERT]
BY_ROW = "D4"
BY_FILE = "D8"
YEAR_2019 = "D19"
OPEN_SOURCE = "D24"


def _matrix(name: str, table: p.Given, *, optimize_conflicts: bool) -> list[Cell]:
    """D4 and D8 have the same cells, but for OPTIMIZE's, which hang on deletion vectors."""
    found: list[Cell] = []
    for level, known in (("WriteSerializable", table), ("Serializable", table | d.SERIALIZABLE)):
        strict = level == "Serializable"
        cells = [
            ("INSERT x INSERT", INSERTS, INSERTS, False),
            ("UPDATE, DELETE, MERGE INTO x INSERT", CHANGES, INSERTS, strict),
            ("UPDATE, DELETE, MERGE INTO x the same", CHANGES, CHANGES, True),
            ("OPTIMIZE x INSERT", [d.OPTIMIZE], INSERTS, False),
            ("OPTIMIZE x UPDATE, DELETE, MERGE INTO", [d.OPTIMIZE], CHANGES, optimize_conflicts),
            ("OPTIMIZE x OPTIMIZE", [d.OPTIMIZE], [d.OPTIMIZE], optimize_conflicts),
            ("note (1), INSERT that reads x INSERT", READING, INSERTS, strict),
            ("note (1), INSERT that reads x UPDATE, DELETE, MERGE INTO", READING, CHANGES, True),
            ("note (1), INSERT that reads x the same", READING, READING, True),
            ("note (1), OPTIMIZE x INSERT that reads", [d.OPTIMIZE], READING, optimize_conflicts),
        ]
        found += [
            (f"{name}: {cell}, {level}", rows, columns, known, conflicts)
            for cell, rows, columns, conflicts in cells
        ]
    return found


def _by_row() -> list[Cell]:
    """Once for each kind of table for which row-level concurrency is supported."""
    return [
        *_matrix(f"{BY_ROW}, unpartitioned", d.VECTORS | d.UNPARTITIONED, optimize_conflicts=False),
        *_matrix(f"{BY_ROW}, clustered", d.VECTORS | d.CLUSTERED, optimize_conflicts=False),
    ]


def _by_file() -> list[Cell]:
    """Once for each reason that row-level concurrency is not supported."""
    return [
        *_matrix(f"{BY_FILE}, partitioned", {}, optimize_conflicts=True),
        *_matrix(f"{BY_FILE}, partitioned, with deletion vectors", d.VECTORS, optimize_conflicts=False),
        *_matrix(f"{BY_FILE}, without deletion vectors", d.UNPARTITIONED, optimize_conflicts=True),
    ]


def _of_2019() -> list[Cell]:
    """Tables of that time had no deletion vectors."""
    weak, strict = p.Given(), d.SERIALIZABLE
    return [
        (f"{YEAR_2019}: INSERT x INSERT", INSERTS, INSERTS, strict, False),
        (f"{YEAR_2019}: UPDATE, DELETE, MERGE INTO x INSERT, Serializable", CHANGES, INSERTS, strict, True),
        (
            f"{YEAR_2019}: UPDATE, DELETE, MERGE INTO x INSERT, WriteSerializable",
            CHANGES,
            INSERTS,
            weak,
            False,
        ),
        (f"{YEAR_2019}: UPDATE, DELETE, MERGE INTO x the same, Serializable", CHANGES, CHANGES, strict, True),
        (
            f"{YEAR_2019}: UPDATE, DELETE, MERGE INTO x the same, WriteSerializable",
            CHANGES,
            CHANGES,
            weak,
            True,
        ),
        (f"{YEAR_2019}: OPTIMIZE x INSERT", [d.OPTIMIZE], INSERTS, strict, False),
        (
            f"{YEAR_2019}: OPTIMIZE x UPDATE, DELETE, MERGE INTO, Serializable",
            [d.OPTIMIZE],
            CHANGES,
            strict,
            True,
        ),
        (
            f"{YEAR_2019}: OPTIMIZE x UPDATE, DELETE, MERGE INTO, WriteSerializable",
            [d.OPTIMIZE],
            CHANGES,
            weak,
            True,
        ),
        (f"{YEAR_2019}: OPTIMIZE x OPTIMIZE, Serializable", [d.OPTIMIZE], [d.OPTIMIZE], strict, True),
        (f"{YEAR_2019}: OPTIMIZE x OPTIMIZE, WriteSerializable", [d.OPTIMIZE], [d.OPTIMIZE], weak, True),
    ]


def _of_open_source() -> list[Cell]:
    known: p.Given = {"dialect": oss("3.3.1")}
    return [
        (f"{OPEN_SOURCE}: INSERT x INSERT", INSERTS, INSERTS, known, False),
        (f"{OPEN_SOURCE}: UPDATE, DELETE, MERGE INTO x INSERT", CHANGES, INSERTS, known, True),
        (f"{OPEN_SOURCE}: UPDATE, DELETE, MERGE INTO x the same", CHANGES, CHANGES, known, True),
        (f"{OPEN_SOURCE}: COMPACTION x INSERT", [d.OPTIMIZE], INSERTS, known, False),
        (f"{OPEN_SOURCE}: COMPACTION x UPDATE, DELETE, MERGE INTO", [d.OPTIMIZE], CHANGES, known, True),
        (f"{OPEN_SOURCE}: COMPACTION x COMPACTION", [d.OPTIMIZE], [d.OPTIMIZE], known, True),
    ]


CELLS = [*_by_row(), *_by_file(), *_of_2019(), *_of_open_source()]


@pytest.mark.parametrize(
    ("rows", "columns", "table", "can_conflict"),
    [cell[1:] for cell in CELLS],
    ids=[cell[0] for cell in CELLS],
)
def test_a_cell(rows: list[str], columns: list[str], table: p.Given, can_conflict: bool) -> None:
    for row in rows:
        for column in columns:
            found = d.pair(row, column, **table)
            worst = max(found.first_loses, found.second_loses, key=lambda verdict: verdict.level)
            assert worst.level is (Level.MAY if can_conflict else Level.NEVER), f"{row}\n{column}\n{found}"
            assert worst.rule != "undocumented", f"{row}\n{column}\n{found}"


@pytest.mark.parametrize("level", [{}, d.SERIALIZABLE], ids=["WriteSerializable", "Serializable"])
@pytest.mark.parametrize("table", [d.CLUSTERED | d.VECTORS, d.UNPARTITIONED | d.VECTORS])
@pytest.mark.parametrize("row", CHANGES)
@pytest.mark.parametrize("column", CHANGES)
def test_d4_d6_by_row_only_the_same_row_conflicts_and_the_verdict_is_may_at_best(
    row: str, column: str, table: p.Given, level: p.Given
) -> None:
    verdict = d.loses(row, column, **(table | level))
    assert (verdict.level, verdict.rule) == (Level.MAY, "same-rows")
