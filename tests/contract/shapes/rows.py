"""Kinds of query that make rows: written down, generated, grouped, windowed, out of joins."""

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
    """From the table that is written: its partitions bound where its rows land again."""
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


# --------------------------------------------------------------------------------------------------- generators


def _pair(draw: Draw, wanted: Columns, found: Select) -> tuple[int, str, str, str, str]:
    """Where two columns stand side by side, and two rows for them."""
    last = max((place for place, column in enumerate(wanted) if column.pin is not None), default=len(wanted))
    place = draw.one(range(max(1, min(last + 1, len(found.items) - 1))))
    first, second = wanted[place], wanted[place + 1]
    ones = [_typed(draw, first), _typed(draw, first)]
    others = [_typed(draw, second), _typed(draw, second)]
    return place, ones[0], others[0], ones[1], others[1]


def _typed(draw: Draw, column: Wanted) -> str:
    value = draw.solid(column.type)
    return f"{value}L" if column.type == "BIGINT" else value


def generated_in_place(draw: Draw, wanted: Columns) -> str:
    """One expression yields two columns."""
    found = plain(draw, wanted)
    place, a, b, c, d = _pair(draw, wanted, found)
    types = wanted[place].type, wanted[place + 1].type
    calls = [
        f"inline(array(struct({a}, {b}), struct({c}, {d})))",
        f"stack(2, {a}, {b}, {c}, {d})",
        f"explode(map({a}, {b}))",
        f"inline_outer(array(struct({a}, {b})))",
    ]
    if types[0] in ("INT", "BIGINT", "STRING"):
        calls += [f"posexplode(array({b}, {d}))"] * 3
    if types == ("STRING", "STRING"):
        calls += ['json_tuple(\'{"a": "eu", "b": "us"}\', \'a\', \'b\')'] * 3
    call = draw.one(calls)
    names = [wanted[place].quoted, wanted[place + 1].quoted]
    alias = draw.one(["", f" AS ({', '.join(names)})", f" AS ({draw.name()}, {draw.name()})"])
    texts = [item.text for item in found.items]
    texts[place : place + 2] = [f"{call}{alias}"]
    return found.with_items(texts)


def exploded_in_place(draw: Draw, wanted: Columns) -> str:
    """One column of many values, though the one beside it is pinned."""
    found = plain(draw, wanted)
    place = draw.one(range(len(wanted)))
    column = wanted[place]
    call = draw.one(["explode", "explode_outer"])
    texts = [item.text for item in found.items]
    texts[place] = f"{call}(array({_typed(draw, column)}, {_typed(draw, column)})) AS {column.quoted}"
    return found.with_items(texts)


def lateral_view(draw: Draw, wanted: Columns) -> str:
    found = plain(draw, wanted)
    place, a, b, c, d = _pair(draw, wanted, found)
    x, y = draw.name(), draw.name()
    outer = draw.one(["", "", "OUTER "])
    view = f"LATERAL VIEW {outer}inline(array(struct({a}, {b}), struct({c}, {d}))) lv AS {x}, {y}"
    texts = [item.text for item in found.items]
    texts[place : place + 2] = [
        f"{draw.one(['lv.', ''])}{x} AS {wanted[place].quoted}",
        f"{y} AS {wanted[place + 1].quoted}",
    ]
    return replace(found, source=f"{found.source} {view}").with_items(texts)


def lateral_view_star(draw: Draw, wanted: Columns) -> str:
    """The view's columns come after all others: every place before them is another's."""
    inner = plain(draw, wanted[:-1])
    last = wanted[-1]
    values = f"{_typed(draw, last)}, {_typed(draw, last)}"
    names = draw.one([last.quoted, wanted[0].quoted])
    return f"SELECT * FROM ({inner.text}) AS q LATERAL VIEW explode(array({values})) lv AS {names}"


def table_function(draw: Draw, wanted: Columns) -> str:
    found = plain(draw, wanted)
    place, a, b, c, d = _pair(draw, wanted, found)
    call = draw.one(
        [
            f"inline(array(struct({a}, {b}), struct({c}, {d}))) AS f(y, z)",
            f"stack(2, {a}, {b}, {c}, {d}) AS f(y, z)",
            f"explode(map({a}, {b})) AS f(y, z)",
        ]
    )
    texts = constants(draw, wanted)
    texts[place : place + 2] = ["y", "z"]
    if place == 0 and draw.chance(0.5):
        return f"SELECT *, {', '.join(texts[2:])} FROM {call}" if texts[2:] else f"SELECT * FROM {call}"
    listed = ", ".join(f"{text} AS {column.quoted}" for text, column in zip(texts, wanted, strict=True))
    return f"SELECT {listed} FROM {call}"


def ranged(draw: Draw, wanted: Columns) -> str:
    texts = constants(draw, wanted)
    places = [place for place, column in enumerate(wanted) if column.type in ("BIGINT", "INT")]
    if places:
        texts[draw.one(places)] = draw.one(["id", "CAST(id AS INT)", "r.id"])
    listed = ", ".join(f"{text} AS {column.quoted}" for text, column in zip(texts, wanted, strict=True))
    return f"SELECT {listed} FROM range(1, 4) AS r"


# -------------------------------------------------------------------------------------------------------- joins


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
        f"{chosen(column)} AS {column.quoted}"
        if column.pin is not None
        else f"{column.type and _from_s(draw, column)}"
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
    if alias.startswith("x"):
        return f"SELECT * EXCEPT ({alias}) FROM ({found.with_items([f'{written(draw, column)} AS {alias}', *texts])})"
    return found.with_items(texts)
