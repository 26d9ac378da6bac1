"""Which names a run needs that lead to locations by the word of policies or of earlier runs: those that its texts may mean."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from sluice.tables import Names, TableKey

_WORD = re.compile(r"[A-Za-z0-9_]+")
_QUOTE = "`"
_CATALOG = "spark.sql.defaultCatalog"
_SPARKS_SCHEMA = "default"
_MOST_IMPLIED = 512
"""Names that are only meant if a USE completes them."""


@dataclass(frozen=True)
class BoundName:
    name: str
    table: TableKey
    """A location to which it leads."""
    is_reported: bool = False
    """Whether only earlier runs say so: then the driver compares, and it may lead to any of the locations that are told."""


def bound_names(
    texts: Iterable[str], named: Iterable[str], names: Names, spark_conf: Mapping[str, str]
) -> list[BoundName]:
    """Names with the locations to which they lead. `texts` are SQL, `named` are names outside of it.

    More names than are used do no harm: all of them lead where the job was judged by. A name that policies bind to several
    places, or a session's own USE completes, was judged as any of these places; of those that policies bind only such are told that
    lead to one.
    """
    spelled = _spelled(texts, named)
    default = spark_conf.get(_CATALOG, "").strip()
    may_be_implied = {_SPARKS_SCHEMA, default.lower()}
    found: list[BoundName] = []
    implied: list[BoundName] = []
    for name in sorted(names.ending_in(spelled)):
        is_reported = names.is_reported(name)
        tables = _where_it_may_lead(names.key_of(name), is_reported=is_reported)
        parts = name.text.split(".")
        missing = [part for part in parts if part not in spelled and part not in may_be_implied]
        if missing and "use" not in spelled:
            continue
        (implied if missing else found).extend(
            BoundName(text, table, is_reported)
            for text, table in product(_texts(parts, spelled, default), tables)
        )
    return found + implied[:_MOST_IMPLIED]


def _where_it_may_lead(key: TableKey, *, is_reported: bool) -> list[TableKey]:
    if not key.is_name:
        return [key]
    return [TableKey.parse(text) for text in sorted(key.bound | key.claimed)] if is_reported else []


def _texts(parts: list[str], spelled: Mapping[str, set[str]], default: str) -> Iterator[str]:
    """The name, with its catalog in each way in which it is written: Spark tells catalogs apart by case."""
    if len(parts) < 3:
        yield ".".join(parts)
        return
    catalogs = sorted({*spelled.get(parts[0], ()), *([default] if default.lower() == parts[0] else [])})
    for catalog, rest in product(catalogs or parts[:1], [parts[1:]]):
        yield ".".join([catalog, *rest])


def _spelled(texts: Iterable[str], named: Iterable[str]) -> Mapping[str, set[str]]:
    """All words as they are written, by the word in lower case. What may be quoted counts between any two quotes, whichever of them
    stand in a string or in a comment."""
    found: dict[str, set[str]] = {}
    words = [word for text in texts for word in (*text.split(_QUOTE), *_WORD.findall(text))]
    words += [part for name in named for part in name.split(".")]
    for word in words:
        found.setdefault(word.lower(), set()).add(word)
    return found
