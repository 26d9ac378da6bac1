"""The generator knows what its jobs address only if its conditions are evaluated as Spark evaluates them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from contract.harness import computed, conditions
from contract.harness.conditions import Condition
from contract.harness.generated import ALL_PARTITIONS, COLUMNS
from contract.harness.layouts import GRID_DATES, GRID_NUMBERS, GRID_REGIONS
from contract.harness.race import Track

DOMAINS = {"date": GRID_DATES, "region": GRID_REGIONS, "n": GRID_NUMBERS}


def _atoms() -> Iterator[Condition]:
    for column, domain in DOMAINS.items():
        known = [value for value in domain if value is not None]
        for value, operator in product(known, conditions.COMPARISONS):
            yield conditions.compare(column, operator, value)
        for value, negated in product(known, (False, True)):
            yield conditions.is_in(column, [value], negated)
        yield conditions.is_in(column, known, negated=True)
        yield from (conditions.is_null(column, negated) for negated in (False, True))
        yield from (conditions.null_safe(column, value) for value in domain)
        yield from (conditions.between(column, low, high) for low, high in product(known, known))
    yield from (conditions.begins("region", prefix) for prefix in ("eu", "eu-", "u", "zz"))


def _conditions() -> Iterator[Condition]:
    atoms = list(_atoms())
    yield from atoms
    yield from computed.all_conditions()
    for number, left in enumerate(atoms):
        right = atoms[(number * 7 + 3) % len(atoms)]
        yield conditions.both(left, conditions.negated(right))
        yield conditions.negated(conditions.either(left, right))


@pytest.mark.timeout(600)
def test_every_form_holds_on_the_rows_on_which_spark_finds_it_true(track: Track) -> None:
    chosen = list(_conditions())
    rows = [dict(zip(COLUMNS, partition, strict=True)) for partition in ALL_PARTITIONS]
    tuples = ", ".join(
        f"({number}, {', '.join(conditions.literal(column, row[column]) for column in COLUMNS)})"
        for number, row in enumerate(rows)
    )
    found = track.query(
        f"SELECT {', '.join(f'({condition.text()}) AS c{n}' for n, condition in enumerate(chosen))}"
        f" FROM VALUES {tuples} AS t (number, {', '.join(COLUMNS)}) ORDER BY number"
    )
    wrong = [
        (condition.text(), row, spark[n], condition.holds(row))
        for row, spark in zip(rows, found, strict=True)
        for n, condition in enumerate(chosen)
        if spark[n] != condition.holds(row)
    ]
    assert wrong == []
