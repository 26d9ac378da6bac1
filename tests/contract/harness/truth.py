"""The recorded truth, as tests read it: no Spark is needed.

from contract.harness import truth
for row in truth.rows("4.4.0"):
    row["id"], row["table"], row["first"], row["second"]   # a line of `sluice explain --batch`
    row["outcomes"]["firstLoses"]                          # {"outcome": "ok" | class, "errorClass", ...}
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from contract.harness.layouts import LAYOUTS
from contract.harness.rows import PLACES, Row, placed

FOLDER = Path(__file__).parent.parent / "truth"
RECORDABLE = ("4.4.0", "3.3.3")


def file_of(version: str) -> Path:
    return FOLDER / f"{version}.jsonl"


def file_with_functions_of(version: str) -> Path:
    """Pairs whose conditions speak of functions of partition columns: a file of their own, recorded later."""
    return FOLDER / f"functions-{version}.jsonl"


VERSIONS = tuple(version for version in RECORDABLE if file_of(version).exists())
"""The versions that some truth has been recorded for."""


def recorded(version: str) -> list[Row]:
    """The rows as they were recorded, with their placeholders; none of a version that was never recorded."""
    files = [file for file in (file_of(version), file_with_functions_of(version)) if file.exists()]
    found = [Row.from_line(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return sorted(found, key=lambda row: row.id)


def rows(version: str) -> list[dict[str, Any]]:
    """The rows in the product's own terms: id, table, first and second as in a line of `sluice explain --batch`; and

    - outcomes: {"firstLoses", "secondLoses"}, each {"outcome": "ok" or the exception's class, "errorClass" if it failed,
      "held": false if the loser came to no commit at all, "winner": the class of the winner's exception if it failed};
    - raced: {"firstLoses", "secondLoses"}: whether this order was a race at all (the loser was held, the winner didn't
      fail); where it wasn't, the outcome says nothing about conflicts;
    - kinds, layout, partitions (same, disjoint, unknown, none), generatedColumns;
    - opaque: functions that nobody can see through;
    - refused: one of the jobs is none that Sluice takes;
    - before: a third job that ran before the two, after it was foretold what they touch, or None;
    - touched: [{"added", "removed", "partitions"}], files, and in how many partitions, of each job as the winner;
    - populated: each job touched files in every partition that it addresses, as far as that is known, so that a pair
      which passed in both orders didn't pass by luck.
    """
    return [in_product_terms(row, version) for row in recorded(version)]


def in_product_terms(row: Row, version: str) -> dict[str, Any]:
    """One row as `rows` gives it."""
    layout = LAYOUTS[row.layout]
    return {
        "id": row.id,
        "table": layout.described(version),
        "first": placed(row.first, PLACES),
        "second": placed(row.second, PLACES),
        "outcomes": {key: outcome.as_json() for key, outcome in row.outcomes.items()},
        "raced": {key: outcome.raced for key, outcome in row.outcomes.items()},
        "kinds": row.kinds,
        "layout": row.layout,
        "partitions": row.partitions,
        "opaque": row.opaque,
        "refused": row.refused,
        "before": None if row.before is None else placed(row.before, PLACES),
        "generatedColumns": dict(layout.generated_columns),
        "touched": [asdict(touched) if touched else None for touched in row.touched],
        "populated": row.populated,
    }
