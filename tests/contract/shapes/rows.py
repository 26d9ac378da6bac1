"""Kinds of query over one relation or none: rows that are written down, selected, grouped, windowed."""

from __future__ import annotations

from dataclasses import replace

from contract.shapes.drawing import CONVERTED, MIXED, ODDLY, Draw, Wanted, equal, of_type
from contract.shapes.selects import EVENTS, Item, Select, constants, plain, written
from contract.shapes.tables import NULL

Columns = tuple[Wanted, ...]


def select(draw: Draw, wanted: Columns) -> str:
    return plain(draw, wanted).text


def values(draw: Draw, wanted: Columns) -> str:
    rows = [f"({', '.join(constants(draw, wanted))})" for _ in range(draw.one([1, 1, 2]))]
    return f"VALUES {', '.join(rows)}"


def values_of_mixed_types(draw: Draw, wanted: Columns) -> str:
    """Spark gives each column one type, and converts what has another."""
    rows = [f"({', '.join(row)})" for row in mixed_rows(draw, wanted)]
    draw.random.shuffle(rows)
    return f"VALUES {', '.join(rows)}"


def mixed_rows(draw: Draw, wanted: Columns) -> list[list[str]]:
    """Two rows, of which one converts values of the other."""
    first, second = constants(draw, wanted), constants(draw, wanted)
    for place, column in enumerate(wanted):
        if column.pin is not None:
            first[place], second[place] = draw.one(MIXED[column.type])
            if draw.chance(0.3):
                second[place] = draw.one(
                    [*ODDLY[column.type], NULL, "CAST(NULL AS INT)", "CAST(NULL AS DOUBLE)"]
                )
    return [first, second]


def values_named(draw: Draw, wanted: Columns) -> str:
    names = ", ".join(column.quoted for column in wanted)
    relation = (
        f"({values(draw, wanted)}) AS r({names})"
        if draw.chance(0.5)
        else f"{values(draw, wanted)} AS r({names})"
    )
    return f"SELECT {draw.one(['*', 'r.*', names])} FROM {relation}"


def constant_select(draw: Draw, wanted: Columns) -> str:
    texts = constants(draw, wanted)
    return "SELECT " + ", ".join(
        f"{text} AS {column.quoted}" for text, column in zip(texts, wanted, strict=True)
    )


def misnamed(draw: Draw, wanted: Columns) -> str:
    """The names say something else than the places."""
    found = plain(draw, wanted)
    names = [item.name for item in found.items]
    draw.random.shuffle(names)
    return replace(
        found,
        items=tuple(replace(item, name=name) for item, name in zip(found.items, names, strict=True)),
    ).text


def distinct(draw: Draw, wanted: Columns) -> str:
    return replace(plain(draw, wanted), distinct=True).text


def ordered(draw: Draw, wanted: Columns) -> str:
    after = draw.one(
        ["ORDER BY 1", "ORDER BY 1 LIMIT 3", "LIMIT 3", "LIMIT 3 OFFSET 1", "SORT BY 1", "DISTRIBUTE BY 1"]
    )
    return replace(plain(draw, wanted), after=after).text


def sampled(draw: Draw, wanted: Columns) -> str:
    found = plain(draw, wanted)
    sample = draw.one(["TABLESAMPLE (3 ROWS)", "TABLESAMPLE (60 PERCENT)"])
    return replace(found, source=f"{EVENTS} {sample} AS {found.alias}").text


def kept_by_another_type(draw: Draw, wanted: Columns) -> str:
    """What a column equals in another type isn't always what is stored."""
    found = plain(draw, tuple(replace(column, pin=None) for column in wanted))
    items, where = list(found.items), []
    for place, column in enumerate(wanted):
        if column.pin is not None:
            name, value = draw.one(CONVERTED[column.type])
            items[place] = replace(items[place], value=f"{found.alias}.{name}")
            where.append(
                f"{found.alias}.{name} {draw.one(['= ' + value, '= ' + value, f'IN ({value})', f'<=> {value}'])}"
            )
    return replace(found, items=tuple(items), where=tuple(where)).text


def of_the_target(draw: Draw, wanted: Columns) -> str:
    """Selects from the table that is written: the partitions of its rows bound where they land again."""
    where = [
        equal(draw, f"o.{column.quoted}", column.pin, column.type)
        for column in wanted
        if column.pin is not None
    ]
    same = [[other.quoted for other in wanted if other.type == column.type] for column in wanted]
    names = [
        draw.one(others) if draw.chance(0.25) else column.quoted
        for column, others in zip(wanted, same, strict=True)
    ]
    texts = [f"o.{name} AS {column.quoted}" for name, column in zip(names, wanted, strict=True)]
    return f"SELECT {', '.join(texts)} FROM delta.`{{target}}` AS o WHERE {' AND '.join(where) or 'o.id > 2'}"


# ----------------------------------------------------------------------------------------------------- grouping


def grouped(draw: Draw, wanted: Columns) -> str:
    keys, items = _keys(draw, wanted)
    return replace(items, after=f"GROUP BY {', '.join(keys)}").text


def rolled_up(draw: Draw, wanted: Columns) -> str:
    """NULL stands where the value was, in rows of their own."""
    keys, items = _keys(draw, wanted)
    listed = ", ".join(keys)
    after = draw.one(
        [
            f"GROUP BY ROLLUP({listed})",
            f"GROUP BY ROLLUP({listed})",
            f"GROUP BY CUBE({listed})",
            f"GROUP BY {listed} WITH ROLLUP",
            f"GROUP BY {listed} WITH CUBE",
            f"GROUP BY GROUPING SETS (({listed}), ())",
            f"GROUP BY {listed} GROUPING SETS (({listed}), ())",
            f"GROUP BY GROUPING SETS (({keys[0]}), ({keys[-1]}), ())",
        ]
    )
    return replace(items, after=after).text


def grouped_by_all(draw: Draw, wanted: Columns) -> str:
    _, items = _keys(draw, wanted)
    return replace(items, after="GROUP BY ALL" + draw.one(["", " HAVING count(*) > 0"])).text


def _keys(draw: Draw, wanted: Columns) -> tuple[list[str], Select]:
    """Pinned columns are what is grouped by: by their own name, or the name that they get."""
    found = plain(draw, wanted)
    keys, items = [], []
    for item, column in zip(found.items, wanted, strict=True):
        if column.pin is None and not item.is_constant:
            items.append(replace(item, value=f"max({item.value})"))
        elif column.pin is None:
            items.append(item)
        else:
            items.append(item)
            by_place = str(len(items))
            keys.append(
                draw.one([by_place, by_place, item.value, column.quoted]) if item.is_constant else item.value
            )
    if not keys:
        keys = [f"{found.alias}.k"]
    return keys, replace(found, items=tuple(items))


def windowed(draw: Draw, wanted: Columns) -> str:
    """A window's value is not that of its column."""
    found = plain(draw, wanted)
    calls = ["lag", "lead", "first_value", "max", "min"]

    def over(item: Item, column: Wanted) -> Item:
        if item.is_constant or not (draw.chance(0.4) if column.pin is not None else draw.chance(0.2)):
            return item
        window = f"(PARTITION BY {found.alias}.k ORDER BY {found.alias}.id)"
        return replace(item, value=f"{draw.one(calls)}({item.value}) OVER {window}")

    items = tuple(over(item, column) for item, column in zip(found.items, wanted, strict=True))
    return replace(found, items=items).text


# ------------------------------------------------------------------------------------------------ values by chance


def chosen_by_case(draw: Draw, wanted: Columns) -> str:
    """One of two values, which get one type."""

    def chosen(column: Wanted) -> str:
        value, other = written(draw, column), draw.one([draw.solid(column.type), "1", "'01'", NULL])
        return draw.one(
            [
                f"CASE WHEN s.k > 1 THEN {value} ELSE {other} END",
                f"if(s.k > 1, {value}, {other})",
                f"coalesce({value}, {other})",
                f"nvl2(s.k, {other}, {value})",
                f"(SELECT max({value}))",
                f"nullif({value}, {other})",
            ]
        )

    found = replace(plain(draw, wanted), source=f"{EVENTS} AS s", where=(), alias="s")
    texts = [
        f"{chosen(column)} AS {column.quoted}" if column.pin is not None else _from_s(draw, column)
        for column in wanted
    ]
    return found.with_items(texts)


def _from_s(draw: Draw, column: Wanted) -> str:
    return f"s.{'id' if column.name == 'id' else draw.one(of_type(column.type))} AS {column.quoted}"


def lateral_alias(draw: Draw, wanted: Columns) -> str:
    """A name that was given before in the same SELECT: it counts only where the source has no such column."""
    found = plain(draw, wanted)
    pinned = [place for place, column in enumerate(wanted) if column.pin is not None and place > 0]
    if not pinned:
        return found.text
    place = draw.one(pinned)
    column = wanted[place]
    alias = draw.one([*of_type(column.type), draw.name()])
    texts = [item.text for item in found.items]
    texts[0] = f"{written(draw, column)} AS {alias}" if wanted[0].type == column.type else texts[0]
    texts[place] = f"{alias} AS {column.quoted}"
    if not alias.startswith("x") and draw.chance(0.3):
        call = f"CAST({alias} AS {column.type})"
        texts[place] = f"{call} AS {column.quoted}"
        found = found.with_more(equal(draw, call, column.pin or NULL, column.type))
    if alias.startswith("x"):
        return f"SELECT * EXCEPT ({alias}) FROM ({found.with_items([f'{written(draw, column)} AS {alias}', *texts])})"
    return found.with_items(texts)
