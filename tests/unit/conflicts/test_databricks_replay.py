"""What open-source Delta aborts, no document lets pass on Databricks, where neither the weaker level nor deletion vectors do.

So the recorded truth bounds these rules from one side, too, though no Databricks was ever raced.
"""

import json
from collections import Counter
from itertools import product
from typing import Any

import pytest

from contract.harness import truth
from sluice.conflicts import Level, databricks, databricks_rows, pair_of
from sluice.offline.batch import answer
from sluice.tables import oss
from unit.conflicts import databricks_pairs as d
from unit.conflicts import pairs as p

STRICT = {
    "dialect": {"name": "databricks", "runtime": "15.4", "photon": True},
    "isolationLevel": "Serializable",
}


STATEMENTS = [
    value
    for module in (p, d)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, str) and "{t}" in value
]


LETS_PASS = (
    databricks.vacuum,
    databricks_rows.blind_insert,
    databricks_rows.disjoint,
    databricks_rows.optimize_beside_insert,
)
"""The rules by which a pair passes neither because of the weaker level nor because of deletion vectors."""


def strictly(row: dict[str, Any]) -> dict[str, Any]:
    table = {**row["table"], **STRICT, "generatedColumns": row["generatedColumns"]}
    properties = {**(table.get("properties") or {})}
    properties.pop("delta.enableDeletionVectors", None)
    table["properties"] = properties
    asked = {name: row[name] for name in ("id", "first", "second")}
    found = answer(json.dumps({**asked, "table": table}), 1)
    assert "error" not in found, f"{row['id']}: {found.get('error')}"
    return found


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_no_pair_that_open_source_delta_aborted_is_never(version: str) -> None:
    passed, missed, aborted = Counter[str](), [], 0
    for row in truth.rows(version):
        if row["refused"]:
            continue
        found = strictly(row)
        for direction in ("firstLoses", "secondLoses"):
            outcome, verdict = row["outcomes"][direction]["outcome"], found[direction]
            if not row["raced"][direction]:
                continue
            aborted += outcome != "ok"
            if verdict["verdict"] != "never":
                continue
            passed[verdict["rule"]] += 1
            if outcome != "ok":
                missed.append(f"{row['id']} {direction}: {outcome}, but never ({verdict['rule']})")
    assert not missed, "\n".join(missed)
    assert aborted > 1000
    few = {rule.id: passed[rule.id] for rule in LETS_PASS if passed[rule.id] < 20}
    assert not few, "where hardly anything passes, this test shows nothing"


UPSTREAM = [
    json.loads(line) for line in (truth.FOLDER / "upstream.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(
    "case", [c for c in UPSTREAM if "first" in c and c["expect"] != "ok"], ids=lambda case: case["id"]
)
def test_no_case_that_upstream_aborts_is_never(case: dict[str, Any]) -> None:
    table = {
        "schema": case["schema"],
        "partitionColumns": case["partitionColumns"],
        "logStore": "safe",
        **STRICT,
    }
    line = json.dumps({"id": case["id"], "table": table, "first": case["first"], "second": case["second"]})
    assert answer(line.replace("{table}", "/lake/t"), 1)["firstLoses"]["verdict"] != "never"


@pytest.mark.parametrize("partitioned", [True, False], ids=["partitioned", "unpartitioned"])
@pytest.mark.parametrize("version", ["3.3.3", "4.4.0"])
def test_no_pair_of_statements_passes_that_open_source_delta_may_abort(
    version: str, partitioned: bool
) -> None:
    known = {
        dialect: p.facts(dialect=dialect, partitioned=partitioned, serializable=True)
        for dialect in (d.CURRENT, oss(version))
    }
    jobs = {dialect: [p.job(text, facts) for text in STATEMENTS] for dialect, facts in known.items()}
    ours, theirs = (
        {
            (loser, winner): pair_of(one, other).first_loses
            for (loser, one), (winner, other) in product(zip(STATEMENTS, of_engine, strict=True), repeat=2)
        }
        for of_engine in jobs.values()
    )
    passing = [pair for pair, verdict in ours.items() if verdict.level is Level.NEVER]
    missed = [
        f"{loser}\n    {winner}\n    {ours[loser, winner].rule}, {theirs[loser, winner].rule}"
        for loser, winner in passing
        if theirs[loser, winner].level is not Level.NEVER
    ]
    assert not missed, "\n".join(missed)
    assert len(passing) > 100
