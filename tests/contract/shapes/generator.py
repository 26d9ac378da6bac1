"""Shapes of statements, drawn from a seed: the same seed and number give the same shape, whatever else is drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from contract.shapes import exploding, joins, nested, rows, writes
from contract.shapes.drawing import Draw, Wanted
from contract.shapes.tables import TARGETS, Target

Query = Callable[[Draw, tuple[Wanted, ...]], str]
Write = Callable[[Draw, Target, Query], str]

QUERIES: Mapping[str, Query] = {
    query.__name__: query
    for query in (
        *(rows.select, rows.values, rows.values_of_mixed_types, rows.values_named, rows.constant_select),
        *(rows.misnamed, rows.distinct, rows.ordered, rows.sampled, rows.grouped, rows.rolled_up),
        *(rows.grouped_by_all, rows.windowed, exploding.generated_in_place, exploding.exploded_in_place),
        *(
            exploding.lateral_view,
            exploding.lateral_view_star,
            exploding.table_function,
            exploding.ranged,
            joins.joined,
        ),
        *(joins.joined_from_the_right, joins.joined_using, joins.joined_naturally, joins.comma_joined),
        *(joins.lateral_subquery, rows.chosen_by_case, rows.lateral_alias),
        *(rows.kept_by_another_type, rows.of_the_target),
        *(nested.nested, nested.nested_with_a_filter, nested.renamed, nested.rolled_up_within),
        *(nested.star_except, nested.star_and_more, nested.star_of_a_struct, nested.part_of_a_struct),
        *(nested.quoted_pattern, nested.common_table, nested.chained, nested.seen_before_its_definition),
        *(nested.seen_by_itself, nested.shadowed, nested.recursive, nested.view, nested.view_upon_a_view),
        *(nested.view_of_another_zone, nested.united, nested.united_over_types, nested.excepted),
        *(nested.united_with_null, nested.pivoted, nested.unpivoted, nested.piped, nested.from_first),
        nested.values_in_parentheses,
    )
}
_OFTEN = (
    *("generated_in_place", "kept_by_another_type", "united_over_types"),
    *(
        "select",
        "constant_select",
        "values_named",
        "nested",
        "common_table",
        "view",
        "united",
        "grouped",
        "joined",
    ),
    *("select", "constant_select", "nested", "ordered", "chained", "distinct", "select", "constant_select"),
    *("from_first", "windowed", "sampled", "star_and_more"),
)
"""Drawn twice as often or more: what a reader is most likely to read past, and what people write most."""
_ROTATION = (*QUERIES, *_OFTEN)
_WRITES: tuple[tuple[int, Write], ...] = (
    (28, writes.into),
    (5, writes.into_columns),
    (5, writes.by_name),
    (7, writes.into_partition),
    (1, writes.overwrite),
    (5, writes.overwrite_dynamically),
    (1, writes.overwrite_with_a_key_in_another_case),
    (3, writes.replace_where),
    (4, writes.replace_where_of_a_constant),
    (20, writes.merge),
    (5, writes.append_rows),
    (4, writes.overwrite_rows),
    (3, writes.overwrite_partitions_of_rows),
)
_CHANGES = (writes.update, writes.update, writes.update, writes.delete)
CHANGES_OF = 5
"""One shape of so many changes rows without a query."""
_SETTINGS = (
    "SET spark.sql.ansi.enabled = false",
    "SET spark.sql.ansi.enabled = true",
    "SET spark.sql.ansi.enabled = false",
    "SET spark.sql.caseSensitive = true",
    "SET spark.sql.storeAssignmentPolicy = LEGACY",
    "SET spark.sql.storeAssignmentPolicy = STRICT",
    "SET TIME ZONE 'America/New_York'",
    "SET spark.databricks.delta.autoCompact.enabled = true",
    "SET spark.databricks.delta.autoCompact.enabled = true;SET spark.databricks.delta.autoCompact.minNumFiles = 2",
)
_SET_OF_ONE = 0.3
_ODD_OF_ONE = 0.2
_SELDOM = ("instant",)
"""What is written down of a moment depends on the session, so that a reader says little of it."""
_GIVEN = [
    name
    for name, target in TARGETS.items()
    if target.given_columns == target.columns
    for _ in range(1 if name in _SELDOM else 3)
]
"""Where rows land by what they bring; where by what is generated of it, statements that move rows are of more use."""


@dataclass(frozen=True)
class Shape:
    name: str
    """Its seed and number."""
    target: str
    kinds: tuple[str, ...]
    """The kinds of the statement and its query."""
    statements: tuple[str, ...]
    """The last one writes {target}, or is the query of what does; what they select from is {events}."""
    write: Mapping[str, str] | None = None
    """The mode of a DataFrame write, and what it replaces."""

    @property
    def text(self) -> str:
        return ";\n".join(self.statements)

    def as_line(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @staticmethod
    def from_line(line: str) -> Shape:
        return Shape.of(json.loads(line))

    @staticmethod
    def of(value: Mapping[str, Any]) -> Shape:
        return Shape(
            value["name"],
            value["target"],
            tuple(value["kinds"]),
            tuple(value["statements"]),
            value.get("write"),
        )


def shapes(seed: int, count: int) -> Iterator[Shape]:
    """So many, every kind of query among each hundred."""
    for number in range(count):
        yield _shape(f"{seed}/{number}", number)


def _shape(name: str, number: int) -> Shape:
    random = Random(name)  # noqa: S311 - generated tests, not secrets
    draw = Draw(random, oddly=random.random() < _ODD_OF_ONE)
    if number % CHANGES_OF == CHANGES_OF - 1:
        change, target = draw.one(_CHANGES), TARGETS[draw.one(list(TARGETS))]
        kinds: tuple[str, ...] = (change.__name__,)
        text = change(draw, target)
    else:
        query = _ROTATION[(number - number // CHANGES_OF) % len(_ROTATION)]
        (write,) = draw.random.choices([write for _, write in _WRITES], [weight for weight, _ in _WRITES])
        target = TARGETS[draw.one(_GIVEN if draw.chance(0.95) else list(TARGETS))]
        kinds, text = (write.__name__, query), write(draw, target, QUERIES[query])
        if draw.write is not None and draw.before:
            # A DataFrame write is one query, with no statement before it.
            kinds, text, draw.write = ("into", query), f"INSERT INTO {writes.T} {text}", None
    settings: tuple[str, ...] = ()
    if draw.write is None and draw.rarely(_SET_OF_ONE):
        settings = tuple(draw.one(_SETTINGS).split(";"))
    return Shape(name, target.name, kinds, (*settings, *draw.before, text), draw.write)
