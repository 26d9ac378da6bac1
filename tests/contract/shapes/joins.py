"""Kinds of query over two relations."""

from __future__ import annotations

from dataclasses import replace

from contract.shapes.drawing import Draw, Wanted, of_type
from contract.shapes.rows import constant_select
from contract.shapes.selects import EVENTS, plain

Columns = tuple[Wanted, ...]


def joined(draw: Draw, wanted: Columns) -> str:
    """Outer joins bring NULLs, and a condition in ON keeps no row of the outer side away."""
    found = plain(draw, wanted)
    kind = draw.one(
        [
            "JOIN",
            "INNER JOIN",
            "LEFT JOIN",
            "RIGHT JOIN",
            "FULL OUTER JOIN",
            "LEFT SEMI JOIN",
            "LEFT ANTI JOIN",
        ]
    )
    other = draw.one([EVENTS, f"(SELECT * FROM {EVENTS} WHERE id > 4)", "range(2, 12)"])
    conditions = [f"{found.alias}.id = o.id"]
    where = list(found.where)
    if where and draw.chance(0.6):
        conditions.append(where.pop())
    source = f"{found.source} {kind} {other} AS o ON {' AND '.join(conditions)}"
    return replace(found, source=source, where=tuple(where)).text


def joined_from_the_right(draw: Draw, wanted: Columns) -> str:
    """The columns are those of the second relation."""
    found = plain(draw, wanted)
    kind = draw.one(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"])
    on = "" if kind == "CROSS JOIN" else f" ON o.id = {found.alias}.id"
    return replace(found, source=f"range(1, 12) AS o {kind} {found.source}{on}").text


def joined_using(draw: Draw, wanted: Columns) -> str:
    """The columns that both have become one, and come first."""
    inner, other = plain(draw, wanted), constant_select(draw, wanted)
    shared = draw.one([column for column in wanted if column.name != "id"] or list(wanted))
    kind = draw.one(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL OUTER JOIN"])
    names = ", ".join(
        f"{draw.one(['a.', 'b.', ''])}{column.quoted}" if column is shared else f"a.{column.quoted}"
        for column in wanted
    )
    return f"SELECT {names} FROM ({inner.text}) AS a {kind} ({other}) AS b USING ({shared.quoted})"


def joined_naturally(draw: Draw, wanted: Columns) -> str:
    inner = plain(draw, wanted).text
    kind = draw.one(["JOIN", "LEFT JOIN", "FULL JOIN"])
    return f"SELECT * FROM ({inner}) AS a NATURAL {kind} (SELECT * FROM ({inner}) AS c) AS b"


def comma_joined(draw: Draw, wanted: Columns) -> str:
    found = plain(draw, wanted)
    return replace(found, source=f"{found.source}, {draw.one(['range(2) AS o', f'{EVENTS} AS o'])}").text


def lateral_subquery(draw: Draw, wanted: Columns) -> str:
    found = plain(draw, wanted)
    place = draw.one(range(len(wanted)))
    column = wanted[place]
    name = draw.one(of_type(column.type))
    texts = [item.text for item in found.items]
    texts[place] = f"o.y AS {column.quoted}"
    source = f"{found.source}, LATERAL (SELECT {found.alias}.{name} AS y) AS o"
    return replace(found, source=source).with_items(texts)
