"""A newcomer asks what is understood of a statement, and narrows it until it is what was meant."""

from pathlib import Path

import pytest

from unit.cli.folders import sluice

JOB = """\
apiVersion: sluice.dev/v1alpha1
kind: DeltaWriteJob
metadata:
  name: fix-amounts
spec:
  sql: |
    UPDATE delta.`s3://lake/orders`
    SET amount = 0
    WHERE id = 7
"""
FACTS = """\
path: s3://lake/orders
schema: [{name: id, type: bigint}, {name: amount, type: int}, {name: date, type: date}]
partitionColumns: [date]
"""


def test_from_a_statement_to_the_partitions_that_it_touches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fix.yaml").write_text(JOB, encoding="utf-8")

    told = " ".join(sluice("footprint", "fix.yaml").stdout.split())
    assert (
        "fix-amounts statement 1: Update on s3://lake/orders reads all of the table writes all of the table"
        in told
    )
    assert "give --table or --table-path for s3://lake/orders" in told

    Path("orders.yaml").write_text(FACTS, encoding="utf-8")
    told = " ".join(sluice("footprint", "fix.yaml", "--table", "orders.yaml").stdout.split())
    assert "give --table" not in told
    assert "because no condition of it names partitions" in told
    assert "advice" not in told, "nothing less has the same result"

    Path("fix.yaml").write_text(
        JOB.replace("id = 7", "id = 7 AND date = DATE '2026-11-19'"), encoding="utf-8"
    )
    told = " ".join(sluice("footprint", "fix.yaml", "--table", "orders.yaml").stdout.split())
    assert "reads date = DATE '2026-11-19' writes date = DATE '2026-11-19'" in told

    Path("fix.yaml").write_text(JOB.replace("WHERE id = 7", "WEHRE id = 7"), encoding="utf-8")
    result = sluice("footprint", "fix.yaml")
    assert result.exit_code == 3
    assert result.stderr.startswith("! fix.yaml: fix-amounts: ")
    assert "statement 1, line 3, column 1: " in " ".join(result.stderr.split())
    assert "'WEHRE' is not expected here" in " ".join(result.stderr.split())
