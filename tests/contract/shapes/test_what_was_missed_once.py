"""What the generator found, kept with what Spark did: needs no Spark, so that a cause that comes back is seen at once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.shapes.carrying import Done
from contract.shapes.generator import QUERIES, Shape, shapes
from contract.shapes.judging import Foreteller, judged

RECORDED = [
    json.loads(line)
    for line in Path(__file__).with_name("once_missed.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(
    "recorded", RECORDED, ids=[f"{one['cause']}: {one['shape']['name']}" for one in RECORDED]
)
def test_what_lay_outside_once_lies_inside(recorded: dict[str, Any]) -> None:
    shape, done = Shape.of(recorded["shape"]), Done(**recorded["done"])
    tally = judged(Foreteller.by_definitions("4.4.0"), [shape], [done])
    assert tally.ran
    assert not tally.missed, str(tally.missed[0])


def test_a_file_that_lies_outside_is_told() -> None:
    insert = "INSERT INTO delta.`{target}` VALUES (1, DATE '2026-11-19', NULL, 'a')"
    shape = Shape("by hand", "day", ("into", "values"), (insert,))
    inside = Done(shape.name, added=[{"d": "2026-11-19"}], commits=1, blind=True)
    teller = Foreteller.by_definitions("4.4.0")
    assert not judged(teller, [shape], [inside]).missed
    for outside in (
        replace(inside, added=[{"d": "2026-11-19"}, {"d": "2026-11-20"}]),
        replace(inside, added=[{"d": None}]),
        replace(inside, removed=[{"d": "2026-11-19"}]),
        replace(inside, metadata=True),
        replace(inside, blind=False),
        replace(inside, added=(), commits=0),
    ):
        assert judged(teller, [shape], [outside]).missed


def test_a_seed_draws_the_same_shapes_each_time_and_every_kind_of_query() -> None:
    drawn = list(shapes(1, 200))
    assert drawn == list(shapes(1, 200))
    assert {shape.name for shape in shapes(2, 200)}.isdisjoint(shape.name for shape in drawn)
    assert {kind for shape in drawn for kind in shape.kinds} >= QUERIES.keys()
