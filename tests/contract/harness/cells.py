"""Which operations meet on which layouts: the cells that differ in kind.

The heart is every pair of the common operations, in one partition and in two. Rarer variants meet probes: operations
that between them tell what a variant reads, adds and removes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement

from contract.harness.altered import altered_rows
from contract.harness.layouts import LAYOUTS
from contract.harness.misread import misread_rows
from contract.harness.operations import ANYWHERE, NOWHERE, UNKNOWN, Operation, catalogue
from contract.harness.rows import Row
from contract.harness.special import special_rows

_HERE = {"A": catalogue("A", "B"), "C": catalogue("C", "D")}

HEART = (
    "append",
    "append-txn",
    "self-read",
    "delete",
    "delete-partition",
    "update",
    "update-move",
    "merge",
    "merge-unpinned",
    "merge-insert-false",
    "overwrite",
    "replace-where",
    "dynamic",
    "optimize",
    "zorder",
    "truncate",
    "vacuum",
    "restore",
    "replace-table",
    "set-props",
    "add-column",
    "add-constraint",
    "deletion-vectors",
    "enable-change-feed",
    "stream",
)
"""Pairs of these meet in one partition."""

SCOPED = (
    "append",
    "self-read",
    "delete",
    "delete-partition",
    "update",
    "update-move",
    "merge",
    "merge-unpinned",
    "merge-insert-false",
    "replace-where",
    "dynamic",
    "optimize",
    "zorder",
    "stream",
)
"""Pairs of these also meet in two partitions."""

PROBES_HERE = ("append", "delete")
PROBES_ELSEWHERE = ("append",)

ROWS_ONLY = (
    "append",
    "self-read",
    "delete",
    "delete-file",
    "update",
    "merge",
    "merge-insert-false",
    "replace-where-rows",
    "overwrite-write",
    "optimize-all",
)
"""Jobs for tables without partitions, where days are rows, not files."""

VECTORS = (
    "append",
    "delete",
    "delete-partition",
    "merge",
    "optimize",
    "purge",
    "dynamic",
)
SERIALIZABLE_PROBES = ("append", "self-read", "delete", "set-props")
WRITE_SERIALIZABLE = (
    "append",
    "self-read",
    "delete",
    "update",
    "merge",
    "overwrite-write",
    "replace-where",
    "dynamic",
    "optimize",
    "truncate",
    "replace-table",
    "add-constraint",
)
METADATA_PROBES = ("append", "merge", "optimize", "vacuum", "restore")
ALTERATIONS = (
    "set-props",
    "unset-props",
    "add-column",
    "comment-table",
    "add-constraint",
    "deletion-vectors",
    "enable-row-tracking",
    "column-mapping",
    "enable-change-feed",
    "support-feature",
)
NOT_ON_3 = frozenset({"truncate"})
"""Spark 3.5 refuses these on Delta tables."""


def rows(version: str) -> list[Row]:
    """All cells for this version of Delta, each once."""
    found = {row.id: row for row in (*_all_rows(), *misread_rows(version))}
    return [
        row
        for row in found.values()
        if version in LAYOUTS[row.layout].versions
        and not _share_a_checkpoint(row)
        and not (version == "3.3.3" and NOT_ON_3 & {name.partition("@")[0] for name in row.id.split("/")})
    ]


def _share_a_checkpoint(row: Row) -> bool:
    """Two streams on one checkpoint are one query to Spark: in one JVM it stops one of them before Delta is asked."""
    checkpoints = [spec.get("stream", {}).get("checkpoint") for spec in (row.first, row.second)]
    return checkpoints[0] is not None and checkpoints[0] == checkpoints[1]


def _all_rows() -> Iterator[Row]:
    names = list(_HERE["A"])
    yield from _pairs("daily", combinations_with_replacement(HEART, 2), "A")
    yield from _pairs("daily", combinations_with_replacement(SCOPED, 2), "C")
    rare = [name for name in names if name not in HEART]
    yield from _pairs("daily", ((name, probe) for name in rare for probe in PROBES_HERE), "A")
    yield from _pairs("daily", ((name, probe) for name in rare for probe in PROBES_ELSEWHERE), "C")
    alterations = [name for name, operation in _HERE["A"].items() if _is_metadata(operation)]
    yield from _pairs("daily", combinations(ALTERATIONS, 2), "A")
    yield from _pairs("daily", ((name, probe) for name in alterations for probe in METADATA_PROBES), "A")
    for layout in ("plain", "clustered"):
        yield from _pairs(layout, combinations_with_replacement(ROWS_ONLY, 2), "C")
    for layout in ("plain-dv", "clustered-dv"):
        chosen = ("append", "delete", "delete-file", "update", "merge", "optimize-all")
        yield from _pairs(layout, combinations_with_replacement(chosen, 2), "C")
    for where in "AC":
        yield from _pairs("daily-dv", combinations_with_replacement(VECTORS, 2), where)
    yield from _pairs(
        "write-serializable",
        ((name, probe) for name in WRITE_SERIALIZABLE for probe in SERIALIZABLE_PROBES),
        "A",
    )
    for layout in ("auto-compact", "change-feed", "row-tracking", "constrained"):
        pairs = combinations_with_replacement(("append", "delete", "merge", "optimize"), 2)
        yield from _pairs(layout, pairs, "A")
        yield from _pairs(layout, (("append", "delete"), ("update", "merge")), "C")
    yield from special_rows()
    yield from altered_rows()


def _is_metadata(operation: Operation) -> bool:
    return operation.kind in {"set-props", "add-column", "comment", "add-constr", "enable-feat"}


def _pairs(
    layout: str, pairs: Iterator[tuple[str, str]] | Sequence[tuple[str, str]], where: str
) -> Iterator[Row]:
    for first, second in pairs:
        one, other = _HERE["A"][first], _HERE[where][second]
        yield Row(
            id=f"{layout}/{first}@A/{second}@{where}",
            layout=layout,
            first=one.spec,
            second=other.spec,
            kinds=(one.kind, other.kind),
            partitions=_partitions(one, other),
            opaque=tuple(sorted({*one.opaque, *other.opaque})),
        )


def _partitions(first: Operation, second: Operation) -> str:
    regions = (first.region, second.region)
    if NOWHERE in regions:
        return "none"
    if UNKNOWN in regions:
        return "unknown"
    if ANYWHERE in regions:
        return "same"
    return "same" if set(first.region) & set(second.region) else "disjoint"
