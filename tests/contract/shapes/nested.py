"""Kinds of query that are made of other queries: subqueries, common tables, views, set operations, stars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from contract.shapes.drawing import Draw, Wanted, equal
from contract.shapes.rows import constant_select, mixed_rows, rolled_up, select, values, values_named
from contract.shapes.selects import EVENTS, plain
from contract.shapes.tables import NULL

Columns = tuple[Wanted, ...]
_SIMPLE: tuple[Callable[[Draw, Columns], str], ...] = (select, select, constant_select, values_named)


def simple(draw: Draw, wanted: Columns) -> str:
    return draw.one(_SIMPLE)(draw, wanted)


def elsewhere(draw: Draw, wanted: Columns) -> Columns:
    """The same columns, meant for another partition."""
    return tuple(
        replace(column, pin=draw.other(column.type, column.pin)) if column.pin is not None else column
        for column in wanted
    )


def _names(wanted: Columns, of: str = "") -> str:
    return ", ".join(f"{of}{column.quoted}" for column in wanted)


def nested(draw: Draw, wanted: Columns) -> str:
    text = draw.one(
        [
            f"SELECT * FROM ({simple(draw, wanted)})",
            f"SELECT {_names(wanted)} FROM ({simple(draw, wanted)}) AS q",
        ]
    )
    if draw.chance(0.3):
        text = f"SELECT q.* FROM ({text}) AS q"
    return text


def nested_with_a_filter(draw: Draw, wanted: Columns) -> str:
    """The inner query says nothing of a partition, the WHERE around it does."""
    free = tuple(replace(column, pin=None) for column in wanted)
    where = [
        equal(draw, column.quoted, column.pin, column.type) for column in wanted if column.pin is not None
    ]
    return f"SELECT {draw.one(['*', _names(wanted)])} FROM ({select(draw, free)}) AS q WHERE {' AND '.join(where) or 'TRUE'}"


def renamed(draw: Draw, wanted: Columns) -> str:
    names = [draw.name() for _ in wanted]
    inner = simple(draw, wanted)
    if draw.chance(0.5):
        draw.random.shuffle(names)
    outer = ", ".join(f"{name} AS {column.quoted}" for name, column in zip(names, wanted, strict=True))
    return f"SELECT {draw.one(['*', outer, outer])} FROM ({inner}) AS q({', '.join(names)})"


def rolled_up_within(draw: Draw, wanted: Columns) -> str:
    return f"SELECT * FROM ({rolled_up(draw, wanted)})"


# -------------------------------------------------------------------------------------------------------- stars


def star_except(draw: Draw, wanted: Columns) -> str:
    """What is left out stood before what is pinned."""
    inner = plain(draw, wanted)
    texts = [item.text for item in inner.items]
    place = draw.one(range(len(wanted) + 1))
    texts.insert(place, f"{draw.one(['1', 'NULL', draw.value(wanted[-1].type)])} AS gone")
    return f"SELECT * {draw.one(['EXCEPT (gone)', 'EXCEPT (gone)', 'EXCEPT (GONE)'])} FROM ({inner.with_items(texts)})"


def star_and_more(draw: Draw, wanted: Columns) -> str:
    """Columns before or after a star of an inner query."""
    cut = draw.one(range(1, len(wanted)))
    inner, outer = wanted[:cut], wanted[cut:]
    if draw.chance(0.5):
        row = constant_select(draw, outer).removeprefix("SELECT ")
        return f"SELECT *, {row} FROM ({simple(draw, inner)})"
    row = constant_select(draw, inner).removeprefix("SELECT ")
    return f"SELECT {row}, q.* FROM ({simple(draw, outer)}) AS q"


def star_of_a_struct(draw: Draw, wanted: Columns) -> str:
    fields = ", ".join(
        f"'{column.name}', CAST({text} AS {column.type})"
        for column, text in zip(wanted, _row(draw, wanted), strict=True)
    )
    return f"SELECT st.* FROM (SELECT NAMED_STRUCT({fields}) AS st FROM {EVENTS})"


def part_of_a_struct(draw: Draw, wanted: Columns) -> str:
    cut = len(wanted) // 2
    fields = ", ".join(
        f"{text} AS {column.quoted}"
        for column, text in zip(wanted[:cut], _row(draw, wanted[:cut]), strict=True)
    )
    rest = constant_select(draw, wanted[cut:]).removeprefix("SELECT ")
    return f"SELECT st.*, {rest} FROM (SELECT struct({fields}) AS st)"


def _row(draw: Draw, wanted: Columns) -> list[str]:
    return [column.pin if column.pin is not None else draw.value(column.type) for column in wanted]


def quoted_pattern(draw: Draw, wanted: Columns) -> str:
    """A quoted name is a pattern, if the session says so: one name, many columns."""
    draw.before.append("SET spark.sql.parser.quotedRegexColumnNames = true")
    inner = select(draw, wanted)
    if len(wanted) > 2 and draw.chance(0.5):
        rest = ", ".join(column.quoted for column in wanted[2:])
        return f"SELECT `{wanted[0].name}|{wanted[1].name}`, {rest} FROM ({inner})"
    return f"SELECT {draw.one(['`.*`', '`(gone)?+.+`', 'q.`.*`'])} FROM ({inner}) AS q"


# ------------------------------------------------------------------------------------------------ common tables


def common_table(draw: Draw, wanted: Columns) -> str:
    name = draw.one(["q", "src"])
    columns = f"({', '.join(draw.name() for _ in wanted)})" if draw.chance(0.2) else ""
    outer = name.upper() if draw.chance(0.2) else name
    return f"WITH {name}{columns} AS ({simple(draw, wanted)}) SELECT * FROM {outer}"


def chained(draw: Draw, wanted: Columns) -> str:
    last = draw.one(["SELECT * FROM b", "SELECT b.* FROM b", "SELECT * FROM a UNION ALL SELECT * FROM b"])
    return f"WITH a AS ({simple(draw, wanted)}), b AS (SELECT * FROM a) {last}"


def seen_before_its_definition(draw: Draw, wanted: Columns) -> str:
    """A common table sees only those before it: `b` in `a` is the view, not the common table after it."""
    draw.before.append(f"CREATE OR REPLACE TEMPORARY VIEW b AS {simple(draw, wanted)}")
    return f"WITH a AS (SELECT * FROM b), b AS ({simple(draw, elsewhere(draw, wanted))}) SELECT * FROM a"


def seen_by_itself(draw: Draw, wanted: Columns) -> str:
    draw.before.append(f"CREATE OR REPLACE TEMPORARY VIEW b AS {simple(draw, wanted)}")
    return "WITH b AS (SELECT * FROM b) SELECT * FROM b"


def shadowed(draw: Draw, wanted: Columns) -> str:
    """One name, two common tables: the nearest counts."""
    one, other = simple(draw, wanted), simple(draw, elsewhere(draw, wanted))
    return draw.one(
        [
            f"WITH a AS ({one}) SELECT * FROM (WITH a AS ({other}) SELECT * FROM a)",
            f"WITH a AS ({one}), c AS (WITH a AS ({other}) SELECT * FROM a) SELECT * FROM c",
            f"WITH a AS ({one}), c AS (WITH a AS ({other}) SELECT * FROM a) SELECT * FROM a",
            f"WITH a AS ({one}), c AS (SELECT * FROM a) SELECT * FROM (WITH a AS ({other}) SELECT * FROM c)",
            f"WITH a AS ({one}), c AS (WITH b AS (SELECT * FROM a), a AS ({other}) SELECT * FROM b) SELECT * FROM c",
        ]
    )


def recursive(draw: Draw, wanted: Columns) -> str:
    first = constant_select(draw, wanted)
    step = ", ".join(
        f"CAST({column.quoted} + 1 AS {column.type})" if column.type in ("INT", "BIGINT") else column.quoted
        for column in wanted
    )
    return f"WITH RECURSIVE r AS ({first} UNION ALL SELECT {step} FROM r WHERE {wanted[0].quoted} < 4) SELECT * FROM r LIMIT 3"


# -------------------------------------------------------------------------------------------------------- views


def view(draw: Draw, wanted: Columns) -> str:
    draw.before.append(f"CREATE TEMPORARY VIEW vw AS {simple(draw, wanted)}")
    return draw.one(
        ["SELECT * FROM vw", f"SELECT {_names(wanted, 'vw.')} FROM vw", "TABLE vw", "FROM vw SELECT *"]
    )


def view_upon_a_view(draw: Draw, wanted: Columns) -> str:
    """What the view sees is what there was for it, not what the statement calls so."""
    draw.before.append(f"CREATE TEMPORARY VIEW b AS {simple(draw, wanted)}")
    draw.before.append("CREATE TEMPORARY VIEW vw AS SELECT * FROM b")
    other = simple(draw, elsewhere(draw, wanted))
    if draw.chance(0.4):
        draw.before.append(f"CREATE OR REPLACE TEMPORARY VIEW b AS {other}")
        return "SELECT * FROM vw"
    return f"WITH b AS ({other}) SELECT * FROM vw"


def view_of_another_zone(draw: Draw, wanted: Columns) -> str:
    """A view keeps the time zone of its making."""
    moments = {"DATE": "DATE", "TIMESTAMP_NTZ": "TIMESTAMP_NTZ", "STRING": "STRING"}
    draw.before.append("SET TIME ZONE 'America/New_York'")
    texts = [
        f"CAST(ts AS {moments[column.type]})" if column.type in moments and draw.chance(0.5) else text
        for column, text in zip(wanted, _row(draw, wanted), strict=True)
    ]
    listed = ", ".join(f"{text} AS {column.quoted}" for text, column in zip(texts, wanted, strict=True))
    where = "" if draw.chance(0.5) else " WHERE CAST(ts AS DATE) = DATE '2026-11-19'"
    draw.before.append(f"CREATE TEMPORARY VIEW vw AS SELECT {listed} FROM {EVENTS}{where}")
    draw.before.append("SET TIME ZONE 'UTC'")
    return "SELECT * FROM vw"


# ------------------------------------------------------------------------------------------------ set operations


def united(draw: Draw, wanted: Columns) -> str:
    parts = [simple(draw, wanted) for _ in range(draw.one([2, 2, 3]))]
    return draw.one([" UNION ALL ", " UNION ", " UNION DISTINCT "]).join(f"({part})" for part in parts)


def united_over_types(draw: Draw, wanted: Columns) -> str:
    """Each side converts the other's values: '01' beside 1 is stored as '1'."""
    sides = [
        "SELECT " + ", ".join(f"{text} AS {column.quoted}" for text, column in zip(row, wanted, strict=True))
        for row in mixed_rows(draw, wanted)
    ]
    if draw.chance(0.3):
        draw.random.shuffle(sides)
    operation = draw.one(
        ["UNION ALL", "UNION ALL", "UNION", "EXCEPT", "EXCEPT", "EXCEPT ALL", "MINUS", "INTERSECT"]
    )
    text = f"{sides[0]} {operation} {sides[1]}"
    return text if draw.chance(0.6) else f"SELECT * FROM ({text})"


def excepted(draw: Draw, wanted: Columns) -> str:
    operation = draw.one(["EXCEPT", "INTERSECT", "MINUS", "EXCEPT ALL", "INTERSECT ALL"])
    return f"{simple(draw, wanted)} {operation} {simple(draw, elsewhere(draw, wanted))}"


def united_with_null(draw: Draw, wanted: Columns) -> str:
    null = ", ".join(
        draw.one([NULL, f"CAST(NULL AS {column.type})", "CAST(NULL AS INT)"]) for column in wanted
    )
    return f"{simple(draw, wanted)} UNION ALL SELECT {null}"


# -------------------------------------------------------------------------------------------------- other syntax


def pivoted(draw: Draw, wanted: Columns) -> str:
    inner = plain(draw, wanted[:-1])
    last = wanted[-1]
    texts = [item.text for item in inner.items] + ["s2.c AS pv"]
    source = f"(SELECT 1 AS c) AS s2, {inner.source}"
    text = replace(inner, source=source).with_items(texts)
    return f"SELECT * FROM ({text}) PIVOT (CAST(max(pv) AS {last.type}) AS m FOR pv IN (1 AS one))"


def unpivoted(draw: Draw, wanted: Columns) -> str:
    same = [column for column in wanted if column.type == wanted[-1].type][-2:]
    if len(same) < 2:
        return select(draw, wanted)
    rest = [column for column in wanted if column not in same]
    text = select(draw, wanted)
    listed = ", ".join(["value" if column in same else column.quoted for column in wanted])
    assert len(rest) + len(same) == len(wanted)
    return f"SELECT {listed} FROM ({text}) UNPIVOT INCLUDE NULLS (value FOR label IN ({_names(tuple(same))}))"


def piped(draw: Draw, wanted: Columns) -> str:
    last = wanted[-1]
    step = draw.one(["SELECT *", f"SELECT {_names(wanted)}", f"SET {last.quoted} = {draw.value(last.type)}"])
    return f"FROM ({simple(draw, wanted)}) |> {step}"


def from_first(draw: Draw, wanted: Columns) -> str:
    found = plain(draw, wanted)
    where = f" WHERE {' AND '.join(found.where)}" if found.where else ""
    return f"FROM {found.source} SELECT {', '.join(item.text for item in found.items)}{where}"


def values_in_parentheses(draw: Draw, wanted: Columns) -> str:
    return f"({values(draw, wanted)})"
