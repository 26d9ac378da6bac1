"""A SELECT in parts, which the kinds of query put together in their own ways."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from contract.shapes.drawing import CALLS, CONVERTED, ODDLY, Draw, Wanted, equal, of_type
from contract.shapes.tables import NULL

EVENTS = "delta.`{events}`"
_NAMES_A_COLUMN = re.compile(r"\b[a-z]\w*\.[a-z]")


@dataclass(frozen=True)
class Item:
    value: str
    name: str
    type: str

    @property
    def text(self) -> str:
        name = self.name if self.name.isidentifier() else f"`{self.name}`"
        return self.value if self.value == name else f"{self.value} AS {name}"

    @property
    def is_constant(self) -> bool:
        is_column = self.value.rpartition(".")[2].isidentifier() or _NAMES_A_COLUMN.search(self.value)
        return not is_column or self.value in ("TRUE", "FALSE", NULL)


@dataclass(frozen=True)
class Select:
    items: tuple[Item, ...]
    source: str | None = None
    where: tuple[str, ...] = ()
    distinct: bool = False
    after: str = ""
    """GROUP BY, ORDER BY, LIMIT."""
    alias: str = field(default="s")

    @property
    def text(self) -> str:
        return self.with_items([item.text for item in self.items])

    def with_items(self, texts: list[str]) -> str:
        """Returns the query with other texts in the place of its columns."""
        source = f" FROM {self.source}" if self.source else ""
        where = f" WHERE {' AND '.join(self.where)}" if self.where else ""
        after = f" {self.after}" if self.after else ""
        return f"SELECT {'DISTINCT ' if self.distinct else ''}{', '.join(texts)}{source}{where}{after}"

    def with_more(self, *where: str) -> Select:
        return replace(self, where=(*self.where, *where))


def plain(draw: Draw, wanted: tuple[Wanted, ...]) -> Select:
    """Selects from the events: pinned columns are written down, or bounded by WHERE."""
    alias = draw.one(["s", "s", "e1"])
    items, where = [], []
    for column in wanted:
        value, condition = _cell(draw, column, alias)
        items.append(Item(value, column.name, column.type))
        where.extend(condition)
    if draw.chance(0.2):
        where.append(draw.one([f"{alias}.k > 0", f"{alias}.id < 9", f"{alias}.k IN (1, 2, 5)"]))
    return Select(tuple(items), f"{EVENTS} AS {alias}", tuple(where), alias=alias)


def _cell(draw: Draw, column: Wanted, alias: str) -> tuple[str, list[str]]:
    if column.name == "id":
        return f"{alias}.id", []
    named = draw.one(of_type(column.type))
    if column.pin is None:
        return draw.one([f"{alias}.{named}", f"{alias}.{named}", draw.value(column.type)]), []
    how = draw.random.random() * (1 if draw.oddly else 0.6)
    if how < 0.45:
        return written(draw, column), []
    if how < 0.7:
        alike: tuple[str, ...] = ("{}." + named,)
        if column.pin != NULL and column.type in CALLS and draw.chance(0.4):
            alike = draw.one(CALLS[column.type])
        stored, said = draw.one(alike).format(alias), draw.one(alike).format(alias)
        return stored, [equal(draw, said, column.pin, column.type)]
    if how < 0.85:
        return draw.one(ODDLY[column.type]), []
    named, value = draw.one(CONVERTED[column.type])
    condition = draw.one([f"{alias}.{named} = {value}", f"{alias}.{named} IN ({value})"])
    return f"{alias}.{named}", [condition]


def written(draw: Draw, column: Wanted) -> str:
    """The pinned value as its own type."""
    assert column.pin is not None
    if column.pin == NULL:
        return draw.one([NULL, f"CAST(NULL AS {column.type})"])
    return column.pin


def constants(draw: Draw, wanted: tuple[Wanted, ...], *, odd: float = 0.25) -> list[str]:
    """One row that is written down; `odd`: how often in another type."""
    texts = []
    for column in wanted:
        if column.name == "id":
            texts.append(str(draw.one([1, 2, 3, 901])))
        elif draw.rarely(odd):
            texts.append(draw.one(ODDLY[column.type]))
        else:
            texts.append(written(draw, column) if column.pin is not None else draw.value(column.type))
    return texts
