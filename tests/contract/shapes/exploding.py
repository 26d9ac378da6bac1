"""Kinds of query in which one expression yields several columns, or several rows."""

from __future__ import annotations

from dataclasses import replace

from contract.shapes.drawing import Draw, Wanted
from contract.shapes.selects import Select, constants, plain

Columns = tuple[Wanted, ...]


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
