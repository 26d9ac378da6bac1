"""Which names a run needs that policies bind to locations: those that its texts may mean."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from sluice.tables import Names, TableKey

_WORD = re.compile(r"`([^`]*)`|([A-Za-z0-9_]+)")
_CATALOG = "spark.sql.defaultCatalog"
_SPARKS_SCHEMA = "default"
_MOST_IMPLIED = 512
"""Names that are only meant if a USE completes them."""


def bound_names(
    texts: Iterable[str], named: Iterable[str], names: Names, spark_conf: Mapping[str, str]
) -> list[tuple[str, TableKey]]:
    """Names with the one location to which each leads. `texts` are SQL, `named` are names outside of it.

    More names than are used do no harm: all of them lead where the job was judged by. A name that policies bind to several
    places, or a session's own USE completes, was judged as any of these places; only those that lead to one are told.
    """
    spelled = _spelled(texts, named)
    default = spark_conf.get(_CATALOG, "").strip()
    may_be_implied = {_SPARKS_SCHEMA, default.lower()}
    found: list[tuple[str, TableKey]] = []
    implied: list[tuple[str, TableKey]] = []
    used = [name for name in names.locations if name.text.rpartition(".")[2] in spelled]
    for name in sorted(used):
        key = names.key_of(name)
        if key.is_name:
            continue
        parts = name.text.split(".")
        missing = [part for part in parts if part not in spelled and part not in may_be_implied]
        if missing and "use" not in spelled:
            continue
        (implied if missing else found).extend((text, key) for text in _texts(parts, spelled, default))
    return found + implied[:_MOST_IMPLIED]


def _texts(parts: list[str], spelled: Mapping[str, set[str]], default: str) -> Iterator[str]:
    """The name, with its catalog in each way in which it is written: Spark tells catalogs apart by case."""
    if len(parts) < 3:
        yield ".".join(parts)
        return
    catalogs = sorted({*spelled.get(parts[0], ()), *([default] if default.lower() == parts[0] else [])})
    for catalog, rest in product(catalogs or parts[:1], [parts[1:]]):
        yield ".".join([catalog, *rest])


def _spelled(texts: Iterable[str], named: Iterable[str]) -> Mapping[str, set[str]]:
    """All words as they are written, by the word in lower case."""
    found: dict[str, set[str]] = {}
    words = [quoted or plain for text in texts for quoted, plain in _WORD.findall(text)]
    words += [part for name in named for part in name.split(".")]
    for word in words:
        found.setdefault(word.lower(), set()).add(word)
    return found
