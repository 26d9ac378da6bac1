"""What open-source Delta aborts, no document lets pass on Databricks, where neither the weaker level nor deletion vectors do.

So the recorded truth bounds these rules from one side, too, though no Databricks was ever raced.
"""

import json
from collections import Counter
from typing import Any

import pytest

from contract.harness import truth
from sluice.conflicts import Level, pair_of
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
    passed, missed = Counter[str](), []
    for row in truth.rows(version):
        if row["refused"]:
            continue
        found = strictly(row)
        for direction in ("firstLoses", "secondLoses"):
            outcome, verdict = row["outcomes"][direction]["outcome"], found[direction]
            if not row["raced"][direction] or verdict["verdict"] != "never":
                continue
            passed[verdict["rule"]] += 1
            if outcome != "ok":
                missed.append(f"{row['id']} {direction}: {outcome}, but never ({verdict['rule']})")
    print(dict(passed))
    assert not missed, "\n".join(missed)


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
    missed = [
        f"{loser}\n    {winner}\n    {ours.first_loses.rule}, {theirs.first_loses.rule}"
        for one, loser in enumerate(STATEMENTS)
        for other, winner in enumerate(STATEMENTS)
        if (ours := pair_of(jobs[d.CURRENT][one], jobs[d.CURRENT][other])).first_loses.level is Level.NEVER
        and (theirs := pair_of(jobs[oss(version)][one], jobs[oss(version)][other])).first_loses.level
        is not Level.NEVER
    ]
    assert not missed, "\n".join(missed)
