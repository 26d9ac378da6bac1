"""Delta's own test cases, as far as jobs can stand for their transactions (see upstream-left-out.tsv for the others)."""

import json
from typing import Any

import pytest

from contract.harness.truth import FOLDER
from sluice.offline.batch import answer

CASES = [json.loads(line) for line in (FOLDER / "upstream.jsonl").read_text(encoding="utf-8").splitlines()]
DECLARED = [case for case in CASES if "first" in case]


@pytest.mark.parametrize("case", DECLARED, ids=[case["id"] for case in DECLARED])
def test_what_upstream_aborts_is_never_let_through(case: dict[str, Any]) -> None:
    table = {
        "schema": case["schema"],
        "partitionColumns": case["partitionColumns"],
        "dialect": {"name": "oss", "version": "4.4.0"},
        "logStore": "safe",
    }
    line = json.dumps({"id": case["id"], "table": table, "first": case["first"], "second": case["second"]})
    found = answer(line.replace("{table}", "/lake/t"), 1)
    assert "error" not in found
    verdict = found["firstLoses"]
    if case["expect"] != "ok":
        assert verdict["verdict"] != "never", verdict
    if verdict["verdict"] == "will":
        assert verdict["exception"] == case["expect"]
