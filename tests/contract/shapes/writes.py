"""Kinds of write that bring the rows of a query into a table: INSERT in all its forms, DataFrame writes, and MERGE."""

from __future__ import annotations

from collections.abc import Callable

from contract.shapes.drawing import ODDLY, Draw, Wanted, equal
from contract.shapes.selects import written
from contract.shapes.tables import FIELDS, NULL, PARTS, Column, Target

Columns = tuple[Wanted, ...]
Query = Callable[[Draw, Columns], str]
T = "delta.`{target}`"


def wanted_of(draw: Draw, target: Target) -> Columns:
    found = []
    for column in target.given_columns:
        pin = None
        if column.partition and not draw.rarely(0.2):
            pin = draw.value(column.type) if draw.chance(0.3) else draw.solid(column.type)
        found.append(Wanted(column.name, column.type, pin))
    return tuple(found)


def into(draw: Draw, target: Target, query: Query) -> str:
    return f"INSERT INTO {_table(draw)} {_all(draw, target)}{query(draw, wanted_of(draw, target))}"


def _table(draw: Draw) -> str:
    return f"{draw.one(['', '', 'TABLE '])}{T}"


def _all(draw: Draw, target: Target) -> str:
    """A table with generated columns is given the others by name."""
    if target.given_columns == target.columns and not draw.chance(0.15):
        return ""
    return f"({', '.join(column.quoted for column in target.given_columns)}) "


def into_columns(draw: Draw, target: Target, query: Query) -> str:
    """Inserts into a list of columns: in another order, or not all of them."""
    wanted = list(wanted_of(draw, target))
    draw.random.shuffle(wanted)
    if draw.rarely(0.4) and len(wanted) > 2:
        wanted.pop()
    verb = draw.one(["INSERT INTO"] * 7 + ["INSERT OVERWRITE"])
    return f"{verb} {T} ({', '.join(column.quoted for column in wanted)}) {query(draw, tuple(wanted))}"


def by_name(draw: Draw, target: Target, query: Query) -> str:
    wanted = list(wanted_of(draw, target))
    draw.random.shuffle(wanted)
    verb = draw.one(["INSERT INTO"] * 7 + ["INSERT OVERWRITE"])
    return f"{verb} {T} BY NAME {query(draw, tuple(wanted))}"


def into_partition(draw: Draw, target: Target, query: Query) -> str:
    """PARTITION (...) with values for all, some or none of the partition columns."""
    clauses, static = [], set()
    verb = draw.one(["INSERT INTO"] * 7 + ["INSERT OVERWRITE"])
    if verb.endswith("OVERWRITE") and draw.chance(0.4):
        draw.before.append("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    wanted = wanted_of(draw, target)
    for column in wanted:
        if not _is_partition(target, column):
            continue
        if draw.chance(0.65):
            value = draw.one(ODDLY[column.type]) if draw.rarely(0.5) else draw.value(column.type)
            clauses.append(f"{column.quoted} = {value}")
            static.add(column.name)
        else:
            clauses.append(column.quoted)
    if not clauses:
        return into(draw, target, query)
    rest = [column for column in wanted if column.name not in static]
    return f"{verb} {T} PARTITION ({', '.join(clauses)}) {query(draw, tuple(rest))}"


def _is_partition(target: Target, column: Wanted) -> bool:
    return column.name in {found.name for found in target.partition_columns}


def overwrite(draw: Draw, target: Target, query: Query) -> str:
    return f"INSERT OVERWRITE {_table(draw)} {_all(draw, target)}{query(draw, wanted_of(draw, target))}"


def overwrite_dynamically(draw: Draw, target: Target, query: Query) -> str:
    draw.before.append(f"SET spark.sql.sources.partitionOverwriteMode = {draw.one(['dynamic', 'DYNAMIC'])}")
    return overwrite(draw, target, query)


def overwrite_with_a_key_in_another_case(draw: Draw, target: Target, query: Query) -> str:
    """Spark's keys are case-sensitive: it overwrites all."""
    draw.before.append(
        f"SET {draw.one(['spark.sql.sources.partitionoverwritemode', 'spark.SQL.sources.partitionOverwriteMode'])} = dynamic"
    )
    return overwrite(draw, target, query)


def replace_where(draw: Draw, target: Target, query: Query) -> str:
    wanted = wanted_of(draw, target)
    pins = [
        equal(draw, column.quoted, column.pin, column.type) if draw.chance(0.3) else _is(column)
        for column in wanted
        if column.pin is not None
    ]
    condition = " AND ".join(pins) or "id > 0"
    if draw.chance(0.3):
        condition += draw.one([" AND id > 0", " AND 1 = 1", " OR 1 = 0"])
    return f"INSERT INTO {T} REPLACE WHERE {condition} {query(draw, wanted)}"


def _is(column: Wanted) -> str:
    return f"{column.quoted} IS NULL" if column.pin == NULL else f"{column.quoted} = {column.pin}"


def replace_where_of_a_constant(draw: Draw, target: Target, query: Query) -> str:
    wanted = wanted_of(draw, target)
    conditions = [
        "false",
        "1 = 0",
        "true",
        "NULL",
        "CAST(NULL AS BOOLEAN)",
        *(f"{_is(c)} AND 1 = 0" for c in wanted if c.pin),
    ]
    conditions += [f"{_is(c)} OR TRUE" for c in wanted if c.pin]
    conditions += [f"{c.quoted} = {c.pin} AND {c.quoted} <> {c.pin}" for c in wanted if c.pin]
    return f"INSERT INTO {T} REPLACE WHERE {draw.one(conditions)} {query(draw, wanted)}"


# ----------------------------------------------------------------------------------------- without a statement


def append_rows(draw: Draw, target: Target, query: Query) -> str:
    """A DataFrame write: the shape's text is its query."""
    draw.write = {"mode": "Append"}
    return _as_frame(draw, wanted_of(draw, target), query)


def overwrite_rows(draw: Draw, target: Target, query: Query) -> str:
    wanted = wanted_of(draw, target)
    pins = [_is(column) for column in wanted if column.pin is not None and not draw.rarely(0.2)]
    draw.write = {"mode": "Overwrite"}
    if pins and not draw.chance(0.1):
        draw.write["replaceWhere"] = " AND ".join(pins) + draw.one(["", "", " AND id > 0", " AND 1 = 0"])
    return _as_frame(draw, wanted, query)


def overwrite_partitions_of_rows(draw: Draw, target: Target, query: Query) -> str:
    draw.write = {"mode": "OverwritePartitions"}
    return _as_frame(draw, wanted_of(draw, target), query)


def _as_frame(draw: Draw, wanted: Columns, query: Query) -> str:
    """A DataFrame's columns go by their names and keep their types: most that aren't cast would be refused."""
    text = query(draw, wanted)
    if draw.chance(0.2):
        return text
    return (
        f"SELECT {', '.join(map(_cast, wanted))} FROM ({text}) AS q ({', '.join(c.quoted for c in wanted)})"
    )


def _cast(column: Wanted) -> str:
    """What is pinned has its type already."""
    return column.quoted if column.pin else f"CAST({column.quoted} AS {column.type}) AS {column.quoted}"


# -------------------------------------------------------------------------------------------------------- MERGE


def merge(draw: Draw, target: Target, query: Query) -> str:
    wanted = wanted_of(draw, target)
    pins = [column for column in wanted if column.pin is not None]
    on = [f"{draw.one(['t.id = s.id', 's.id = t.id', 't.id <=> s.id'])}"]
    for column in target.partition_columns:
        quoted, pin = column.quoted, next((w.pin for w in pins if w.name == column.name), None)
        if not draw.rarely(0.3):
            on.append(equal(draw, f"t.{quoted}", pin or draw.solid(column.type), column.type))
        elif column.generated is None and draw.chance(0.5):
            on.append(f"t.{quoted} = s.{quoted}")
    draw.random.shuffle(on)
    clauses = _clauses(draw, target, wanted)
    schema = "WITH SCHEMA EVOLUTION " if draw.chance(0.03) else ""
    source = query(draw, wanted)
    if source.startswith(("VALUES", "(VALUES")):
        source = f"SELECT * FROM ({source}) AS v({', '.join(column.quoted for column in wanted)})"
    return f"MERGE {schema}INTO {T} AS t USING ({source}) AS s ON {' AND '.join(on)} {' '.join(clauses)}"


def _clauses(draw: Draw, target: Target, wanted: Columns) -> list[str]:
    kinds = draw.one(
        [
            *[("matched", "not matched")] * 3,
            ("not matched",),
            ("not matched",),
            ("matched",),
            ("matched", "matched", "not matched", "not matched"),
            ("matched",),
            ("matched", "matched", "not matched"),
            draw.one([("matched", "not matched", "by source"), ("by source",), ("not matched", "by source")]),
        ]
    )
    return [
        _CLAUSES[kind](draw, target, wanted, first=kind in kinds[number + 1 :])
        for number, kind in enumerate(kinds)
    ]


def _matched(draw: Draw, target: Target, wanted: Columns, *, first: bool) -> str:
    """Only the last of its kind may be without a condition."""
    condition = draw.one(
        [
            *([] if first else ["", ""]),
            " AND s.id > 0",
            _pinned(draw, wanted, "t"),
            _pinned(draw, wanted, "s"),
        ]
    )
    then = draw.one(
        [
            "DELETE",
            "UPDATE SET *",
            _update(draw, target, from_source=True),
            _update(draw, target, from_source=True),
        ]
    )
    return f"WHEN MATCHED{condition} THEN {then}"


def _not_matched(draw: Draw, target: Target, wanted: Columns, *, first: bool) -> str:
    condition = draw.one(
        [
            *([] if first else ["", ""]),
            " AND s.id > 0",
            _pinned(draw, wanted, "s"),
            _pinned(draw, wanted, "s"),
        ]
    )
    names = list(wanted)
    draw.random.shuffle(names)
    values = [_inserted(draw, column) for column in names]
    given = f"INSERT ({', '.join(column.quoted for column in names)}) VALUES ({', '.join(values)})"
    by = draw.one(["NOT MATCHED", "NOT MATCHED", "NOT MATCHED BY TARGET"])
    return f"WHEN {by}{condition} THEN {draw.one(['INSERT *', given])}"


def _inserted(draw: Draw, column: Wanted) -> str:
    if column.pin is not None and draw.rarely(0.4):
        return draw.one([written(draw, column), written(draw, column), draw.one(ODDLY[column.type])])
    return f"s.{column.quoted}"


def _by_source(draw: Draw, target: Target, wanted: Columns, *, first: bool) -> str:
    condition = draw.one([_pinned(draw, wanted, "t"), _pinned(draw, wanted, "t"), " AND t.id > 4"])
    then = draw.one(["DELETE", _update(draw, target, from_source=False)])
    return f"WHEN NOT MATCHED BY SOURCE{condition} THEN {then}"


_CLAUSES = {"matched": _matched, "not matched": _not_matched, "by source": _by_source}


def _pinned(draw: Draw, wanted: Columns, of: str) -> str:
    found = [
        equal(draw, f"{of}.{column.quoted}", column.pin, column.type)
        for column in wanted
        if column.pin is not None
    ]
    return f" AND {draw.one(found)}" if found else f" AND {of}.id > 0"


def _update(draw: Draw, target: Target, *, from_source: bool) -> str:
    sets = [_assigned(draw, column, "s" if from_source else None) for column in _some(draw, target)]
    return f"UPDATE SET {', '.join(sets)}"


def _some(draw: Draw, target: Target) -> list[Column]:
    others = [column for column in target.given_columns if column.name != "id"]
    moving = [column for column in others if column.partition or column.quoted != column.name]
    if moving and draw.chance(0.4):
        return [draw.one(moving)]
    return draw.random.sample(others, draw.one([1, 1, min(2, len(others))]))


def _assigned(draw: Draw, column: Column, source: str | None) -> str:
    if column.type == PARTS and draw.chance(0.7):
        return _field(draw, column, "t.")
    values = [draw.value(column.type), draw.value(column.type)]
    if draw.rarely(0.4):
        values = [draw.one(ODDLY[column.type])]
    if source is not None:
        values += [f"{source}.{column.quoted}"] * 2
    return f"{_name(draw, column)} = {draw.one(values)}"


def _field(draw: Draw, column: Column, of: str) -> str:
    """One field of a struct, named as the column beside it is that says where rows lie."""
    field = draw.one(list(FIELDS))
    return f"{draw.one(['', of])}{column.quoted}.{field} = {draw.value(FIELDS[field])}"


def _name(draw: Draw, column: Column) -> str:
    called = f"IDENTIFIER('{column.name}')"
    return (
        called
        if draw.chance(0.06)
        else draw.one([*[column.quoted] * 4, f"`{column.name}`", column.quoted.upper()])
    )


# ------------------------------------------------------------------------------------------ changes without a query


def update(draw: Draw, target: Target) -> str:
    alias = draw.one(["", " AS t", " t"])
    of = "t." if alias else ""
    sets = [_moved(draw, target, column, of) for column in _some(draw, target)]
    return f"UPDATE {T}{alias} SET {', '.join(sets)} WHERE {_condition(draw, target, of)}"


def _moved(draw: Draw, target: Target, column: Column, of: str) -> str:
    if column.type == PARTS and draw.chance(0.7):
        return _field(draw, column, of)
    same = [other for other in target.given_columns if other.type == column.type]
    value = draw.value(column.type)
    if draw.rarely(0.5):
        value = draw.one([draw.one(ODDLY[column.type]), f"{of}{draw.one(same).quoted}"])
    return f"{draw.one(['', of])}{_name(draw, column)} = {value}"


def delete(draw: Draw, target: Target) -> str:
    alias = draw.one(["", " AS t", " t"])
    return f"DELETE FROM {T}{alias} WHERE {_condition(draw, target, 't.' if alias else '')}"


def _condition(draw: Draw, target: Target, of: str) -> str:
    parts = [
        equal(draw, f"{of}{column.quoted}", draw.value(column.type), column.type)
        for column in target.partition_columns
        if not draw.rarely(0.4)
    ]
    if draw.chance(0.3) or not parts:
        parts.append(draw.one([f"{of}id > 1", f"{of}id IN (1, 2, 3)", f"{of}id % 2 = 0"]))
    return " AND ".join(parts)
