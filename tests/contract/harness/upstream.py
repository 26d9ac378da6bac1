"""Delta's own test cases, as far as jobs of ours can be in their place.

    ./dev run python -m contract.harness.upstream      # writes tests/contract/truth/upstream.jsonl and -left-out.tsv

truth/upstream-cases.jsonl has them: of some what their transactions read, add and remove by file, of the others, which are
told in statements, what is expected. The former become jobs with declared footprints; the latter are the same races as rows
that were recorded here, and are named by them. Whatever becomes neither is listed with the reason.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from contract.harness.rows import FIRST_LOSES, SECOND_LOSES
from contract.harness.truth import FOLDER

GIVEN = FOLDER / "upstream-cases.jsonl"
CASES = FOLDER / "upstream.jsonl"
LEFT_OUT = FOLDER / "upstream-left-out.tsv"


SAME_RACE: Mapping[str, tuple[str, str]] = {
    "O01": ("plain-dv/delete@A/optimize-all@C", SECOND_LOSES),
    "I01": ("identity/insert-generated/insert-generated", FIRST_LOSES),
    "I02": ("identity/insert-generated/sync", FIRST_LOSES),
    "I03": ("identity/insert-generated/insert-explicit", FIRST_LOSES),
    "I06": ("identity/insert-generated/sync", SECOND_LOSES),
    "I07": ("identity/sync/sync", FIRST_LOSES),
    "I09": ("identity/sync/row-tracking", FIRST_LOSES),
    "I10": ("identity/sync/add-column", FIRST_LOSES),
    "I12": ("identity/insert-explicit/sync", FIRST_LOSES),
    "I14": ("identity/insert-explicit/row-tracking", FIRST_LOSES),
    "I16": ("identity/insert-generated/row-tracking", SECOND_LOSES),
    "I18": ("identity/insert-explicit/row-tracking", SECOND_LOSES),
    "I19": ("identity/row-tracking/row-tracking", FIRST_LOSES),
    "I21": ("identity/insert-generated/add-column", SECOND_LOSES),
    "I22": ("identity/sync/add-column", SECOND_LOSES),
    "I23": ("identity/insert-explicit/add-column", SECOND_LOSES),
    "I24": ("identity/add-column/row-tracking", FIRST_LOSES),
    "I25": ("identity/add-column/add-column", FIRST_LOSES),
    "I26": ("identity/insert-explicit/sync", SECOND_LOSES),
    "F03": ("plain/update/column-mapping", FIRST_LOSES),
    "F04": ("mapped/delete/unmap", FIRST_LOSES),
    "F05": ("tracking-supported/delete/row-tracking", FIRST_LOSES),
    "F06": ("tracking-supported/deletion-vectors/row-tracking", FIRST_LOSES),
    "F08": ("plain/delete/checkpoint-v2", FIRST_LOSES),
    "F09": ("checkpoint-v2/delete/checkpoint-classic", FIRST_LOSES),
    "F10": ("plain/delete/commit-timestamps", FIRST_LOSES),
    "F13": ("plain/delete/timestamps-and-interval", FIRST_LOSES),
    "F14": ("plain/checkpoint-interval/commit-timestamps", FIRST_LOSES),
    "F15": ("plain/commit-timestamps/deletion-vectors", FIRST_LOSES),
    "F17": ("plain/commit-timestamps/commit-timestamps", FIRST_LOSES),
    "F18": ("commit-timestamps/delete/no-commit-timestamps", FIRST_LOSES),
    "F19": ("altered/unset/delete", SECOND_LOSES),
    "R01": ("tracking-supported/append/row-tracking", FIRST_LOSES),
    "R03": ("tracking-supported/row-tracking/row-tracking", FIRST_LOSES),
    "R07": ("daily/enable-row-tracking@A/append@A", SECOND_LOSES),
    "R10": ("daily/enable-row-tracking@A/merge@A", SECOND_LOSES),
    "R11": ("tracking-supported/merge-by-source/row-tracking", FIRST_LOSES),
    "R12": ("daily/enable-row-tracking@A/optimize@A", SECOND_LOSES),
    "R14": ("daily/enable-row-tracking@A/restore@A", SECOND_LOSES),
    "R15": ("row-tracking/append@A/append@A", FIRST_LOSES),
    "P02": ("plain/commit-timestamps/commit-timestamps", FIRST_LOSES),
}

_HAND_MADE = "a transaction made by hand: no job of ours does that"
NOT_A_JOB: Mapping[str, str] = {
    "R04": "a batch of the backfill that enabling row tracking starts by itself, frozen inside the statement",
    "R06": "a batch of the backfill that enabling row tracking starts by itself, frozen inside the statement",
    "R18": "two phases inside ALTER statements, frozen one against the other",
    "P03": "the change falls between a MERGE's analysis and its start, where nothing can be held",
    "B04": "asks how a commit is marked, not what becomes of a pair",
    "B06": "asks how a setting is refused, not what becomes of a pair",
    "B08": "needs a commit coordinator that is made to refuse",
    "S12": _HAND_MADE,
    "S19": "needs a setting of Delta that is off",
}


class NotExpressibleError(Exception):
    """Why a case can't be put in terms of jobs."""


@dataclass(frozen=True)
class _Files:
    """The files of a case's table, by path, with their partition."""

    columns: Sequence[str]
    partitions: Mapping[str, Mapping[str, object]]

    def where(self, parts: Iterable[Mapping[str, object]]) -> str:
        """The predicate that is true of these partitions."""
        terms = {" AND ".join(f"{column} = {part[column]}" for column in self.columns) for part in parts}
        if not terms:
            return "false"
        return "true" if terms == {""} else " OR ".join(f"({term})" for term in sorted(terms))

    def of(self, paths: Iterable[str]) -> list[Mapping[str, object]]:
        return [self.partitions[path] for path in paths]


def convert(cases: Iterable[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """The cases in our terms, and the others with their reasons."""
    converted, left_out = [], []
    for case in cases:
        try:
            converted.append(_converted(case))
        except NotExpressibleError as reason:
            left_out.append((case["id"], str(reason)))
    return converted, left_out


def _converted(case: Mapping[str, Any]) -> dict[str, Any]:
    name = case["id"]
    facts = {
        "id": name,
        "expect": "ok" if case["expect"] == "commit" else case["expect"],
        "since": case.get("since"),
    }
    if name in NOT_A_JOB:
        raise NotExpressibleError(NOT_A_JOB[name])
    if case["kind"] == "file":
        return {**facts, **_from_files(case)}
    if case["kind"] in {"delta-rs", "kernel"}:
        raise NotExpressibleError(
            f"is about commits by {case['kind']}, and all of ours are made by Delta on Spark"
        )
    row, direction = SAME_RACE[name]
    return {**facts, "row": row, "direction": direction}


def _from_files(case: Mapping[str, Any]) -> dict[str, Any]:
    table, losing, winning = case["table"], case["losing"], case["winning"]
    added = [*losing["add"], *winning["add"]]
    files = _Files(
        table["partition_cols"],
        {file["path"]: file["part"] for file in [*table["files"], *added]},
    )
    columns = [{"name": name, "type": "int"} for name in (*table["partition_cols"], "value")]
    return {
        "schema": columns,
        "partitionColumns": table["partition_cols"],
        "first": _loser(losing, files),
        "second": _winner(winning, files),
    }


def _loser(losing: Mapping[str, Any], files: _Files) -> dict[str, Any]:
    reads = _any_of(losing["read_predicates"])
    writes = files.where(add["part"] for add in losing["add"])
    adds, removes = bool(losing["add"]), bool(losing["remove"])
    if losing["metadata"] or losing["protocol"]:
        raise NotExpressibleError(_HAND_MADE)
    if losing["read_app_ids"]:
        return _job("Append", reads="false", writes="true", txnAppId=losing["read_app_ids"][0])
    if not adds and not removes:
        raise NotExpressibleError("the loser reads and then commits nothing: no job does that")
    if not losing["track_files_read"]:
        return _job("OverwritePartitions", reads=None, writes=writes)
    if removes and reads == "false":
        raise NotExpressibleError("the loser removes what it hasn't read: no job does that")
    if removes and not _covers(losing, files):
        raise NotExpressibleError("the loser removes files outside of what it reads: no job does that")
    if not losing["data_change"]:
        return _job("Optimize", reads=reads, writes=writes)
    if not removes:
        return _job("Append", reads=reads, writes=writes)
    return _job("Merge", reads=reads, writes=writes) if adds else _job("Delete", reads=reads, writes=writes)


def _winner(winning: Mapping[str, Any], files: _Files) -> dict[str, Any]:
    writes = files.where(add["part"] for add in winning["add"])
    if winning["protocol"]:
        raise NotExpressibleError(_HAND_MADE)
    if winning["metadata"]:
        return _job("Alter", reads="false", writes="false", metadata=True)
    if winning["set_txn"]:
        return _job("Append", reads="false", writes="true", txnAppId=winning["set_txn"][0])
    removed = files.where(files.of(winning["remove"]))
    if winning["add"] and winning["remove"]:
        return _job("Merge", reads=removed, writes=writes)
    if winning["remove"]:
        return _job("Delete", reads=removed, writes="false")
    return _job("Append", reads="true" if winning["reads_table"] else "false", writes=writes)


def _job(operation: str, reads: str | None, **more: object) -> dict[str, Any]:
    declared = {"table": {"path": "{table}"}, "operation": operation, **more}
    if reads is not None:
        declared["reads"] = reads
    return {"application": {"engine": "kubeflow", "template": {"type": "Python"}}, "footprint": [declared]}


def _any_of(predicates: Sequence[str]) -> str:
    if not predicates:
        return "false"
    return " OR ".join(f"({_sql(predicate)})" for predicate in predicates)


def _sql(predicate: str) -> str:
    text = predicate.replace("==", "=").replace("True", "true")
    return re.sub(r"in \((\d+),\)", r"IN (\1)", text).replace(" and ", " AND ").replace(" or ", " OR ")


def _covers(losing: Mapping[str, Any], files: _Files) -> bool:
    """Whether the loser read the partitions of what it removes."""
    condition = _any_of(losing["read_predicates"])
    with closing(sqlite3.connect(":memory:")) as database:
        for part in files.of(losing["remove"]):
            columns = ", ".join(f"{value} AS {name}" for name, value in part.items()) or "1 AS one"
            if not database.execute(f"SELECT {condition} FROM (SELECT {columns})").fetchone()[0]:
                return False
    return True


def read_cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in GIVEN.read_text(encoding="utf-8").splitlines()]


def as_texts(cases: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """What is committed: the cases, and those that were left out."""
    converted, left_out = convert(cases)
    lines = [json.dumps(case, separators=(",", ":"), sort_keys=True) for case in converted]
    table = ["case\treason", *(f"{name}\t{reason}" for name, reason in left_out)]
    return "\n".join(lines) + "\n", "\n".join(table) + "\n"


def main() -> None:
    cases, left_out = as_texts(read_cases())
    CASES.write_text(cases, encoding="utf-8")
    LEFT_OUT.write_text(left_out, encoding="utf-8")


if __name__ == "__main__":
    main()
