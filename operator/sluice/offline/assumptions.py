"""What is taken for granted of tables of which nothing better is known."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_MOST_NAMED = 3


@dataclass(frozen=True)
class Assumption:
    table: str
    what: str
    """Said so that it fits one table and many."""
    advice: str
    """What makes it known instead."""

    def __str__(self) -> str:
        return f"{self.table}: {self.what}. {self.advice}"


def in_one(assumptions: Iterable[Assumption], most: int | None = _MOST_NAMED) -> Iterator[str]:
    """Says all that one piece of advice is about in one paragraph, and what is the same of many tables once. `most`: how many
    tables are named of those of which the same is said."""
    tables: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in assumptions:
        tables[one.advice][one.what].append(one.table)
    for advice, found in tables.items():
        said = "; ".join(f"{_named(of, most)}: {what}" for what, of in found.items())
        yield f"{said}. {advice}"


def _named(tables: list[str], most: int | None) -> str:
    if most is None or len(tables) <= most + 1:  # "and 1 more" is no shorter than its name
        return ", ".join(tables)
    return f"{', '.join(tables[:most])} and {len(tables) - most:,} more"
