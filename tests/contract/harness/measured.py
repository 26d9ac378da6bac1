"""Matrices of an earlier measurement, which our truth must agree with where both say something.

truth/earlier.tsv has for two kinds of operations the outcomes that were seen, without the statements. Kinds hide variants,
so agreement means that what was recorded here is among what was seen there.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contract.harness.layouts import LAYOUTS
from contract.harness.rows import Row
from contract.harness.truth import FOLDER

MATRICES = FOLDER / "earlier.tsv"

SHORT = {
    "ok": "ok",
    "ConcurrentAppendException": "CA",
    "ConcurrentDeleteReadException": "CDR",
    "ConcurrentDeleteDeleteException": "CDD",
    "ConcurrentTransactionException": "CT",
    "ConcurrentWriteException": "CW",
    "MetadataChangedException": "MC",
    "ProtocolChangedException": "PC",
}

TOUCH_NOTHING = frozenset(
    {
        "append-none",
        "delete-none",
        "dynamic-none",
        "enable-again",
        "merge-elsewhere",
        "merge-none",
        "merge-update-only",
        "optimize-none",
        "purge",
        "replace-table-empty",
        "replace-where-empty",
        "restore-current",
        "set-same",
        "unset-absent",
        "unset-props",
        "update-none",
    }
)
"""They find nothing to do, as far as our layouts go; the matrices show their kinds at work."""

TOUCH_ALL = frozenset(
    {
        "delete-all",
        "delete-id",
        "delete-or-open",
        "delete-true",
        "delete-unpinned",
        "delete-year",
        "merge-unpinned",
        "replace-where-unpinned",
        "self-read-anti",
        "self-read-count",
        "self-read-max",
        "update-all",
        "update-unpinned",
    }
)
"""They read every partition, where the matrices show those that keep to one."""

OTHERWISE = frozenset(
    {
        "append-elsewhere-then-read-old",
        "append-then-read-old",
        "merge-insert-false",
        "merge-insert-one-is-two",
        "merge-insert-only",
        "merge-self",
        "replace-where-false",
        "replace-where-false-sql",
        "replace-where-one-is-two-sql",
    }
)
"""MERGE ON false and a false replaceWhere read nothing, a MERGE on its own table may add rows to another partition, and who
reads an old version loses its files to VACUUM."""

VARIANTS = TOUCH_NOTHING | TOUCH_ALL | OTHERWISE
"""Operations that differ from all others of their kind, and whose kind the matrices show without them."""

READING_STREAMS = "partitioned tables, disjoint partitions"
"""Where streams lost to appends: they merged each batch. Ours append, and those read nothing."""

Matrix = Mapping[tuple[str, str], frozenset[str]]
"""(loser's kind, winner's kind) -> outcomes."""


@dataclass(frozen=True)
class Difference:
    row: str
    loser: str
    winner: str
    recorded: str
    measured: frozenset[str]

    def __str__(self) -> str:
        return f"{self.row}: {self.loser} lost to {self.winner} with {self.recorded}, measured {'/'.join(sorted(self.measured))}"


def matrices() -> dict[tuple[str, str], Matrix]:
    """Returns the matrices by version and topic, such as "partitioned tables, same partition"."""
    found: dict[tuple[str, str], dict[tuple[str, str], frozenset[str]]] = {}
    with MATRICES.open(encoding="utf-8", newline="") as lines:
        for cell in csv.DictReader(lines, delimiter="\t"):
            matrix = found.setdefault((cell["version"], cell["topic"]), {})
            matrix[cell["loser"], cell["winner"]] = frozenset(cell["outcomes"].split())
    return {**found}


def topic_of(row: Row) -> str | None:
    """Which matrix a row belongs to, if any has rows of its kind."""
    if row.id.startswith(("random/", "misread/")):
        return None
    if row.layout == "absent":
        return "first commits on an absent path"
    if not LAYOUTS[row.layout].partition_columns:
        return "unpartitioned and liquid tables"
    if row.layout in {"daily", "daily-dv"}:
        return (
            "partitioned tables, disjoint partitions"
            if "@C" in row.id
            else "partitioned tables, same partition"
        )
    return None


def differences(rows: Iterable[Row], version: str) -> tuple[int, list[Difference]]:
    """How many outcomes were compared, and those that the matrices don't have."""
    measured = matrices()
    compared, found = 0, []
    for row in rows:
        matrix = measured.get((version, topic_of(row) or ""))
        if matrix is None or VARIANTS & {name.partition("@")[0] for name in row.id.split("/")}:
            continue
        for loser, winner, key in ((0, 1, "firstLoses"), (1, 0, "secondLoses")):
            outcome = row.outcomes[key]
            cell = matrix.get((row.kinds[loser], row.kinds[winner]))
            if cell is None or not outcome.raced:
                continue
            if row.kinds[loser] == "stream" and topic_of(row) == READING_STREAMS:
                continue
            compared += 1
            short = SHORT.get(outcome.outcome, "ERR")
            if short not in cell:
                found.append(Difference(row.id, row.kinds[loser], row.kinds[winner], short, cell))
    return compared, found
