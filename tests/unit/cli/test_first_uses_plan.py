"""A newcomer asks of a folder of manifests, before a merge, whether a new job is in another's way, and does what is answered."""

from pathlib import Path

import pytest

from unit.cli.folders import sluice

FORGET = """\
apiVersion: sluice.dev/v1alpha1
kind: DeltaWriteJob
metadata:
  name: forget-customer
spec:
  sql: DELETE FROM delta.`s3://lake/orders` WHERE date = DATE '2026-11-19' AND id = 7
"""
LOAD = """\
apiVersion: sluice.dev/v1alpha1
kind: DeltaWriteJob
metadata:
  name: load-corrections
spec:
  sql: |
    MERGE INTO delta.`s3://lake/orders` t
    USING (SELECT * FROM delta.`s3://lake/corrections` WHERE date = DATE '2026-11-18') s
    ON t.id = s.id AND t.date = s.date
    WHEN MATCHED THEN UPDATE SET amount = s.amount
    WHEN NOT MATCHED THEN INSERT *
"""
FACTS = """\
path: s3://lake/orders
schema: [{name: id, type: bigint}, {name: amount, type: int}, {name: date, type: date}]
partitionColumns: [date]
dialect: {name: oss, version: 4.4.0}
logStore: S3Conditional
"""


def asked(command: str) -> str:
    result = sluice(*command.split()[1:])
    assert result.exit_code == 0, result.stderr
    return " ".join(result.stdout.split())


def test_from_a_folder_of_manifests_to_two_that_run_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jobs").mkdir()
    monkeypatch.chdir(tmp_path)
    Path("jobs/forget.yaml").write_text(FORGET, encoding="utf-8")
    Path("jobs/load.yaml").write_text(LOAD, encoding="utf-8")

    told = asked("sluice plan jobs")
    assert told.startswith("2 jobs on 1 table: 1 of 1 pair must wait for each other (1 unsafe).")
    assert "unsafe forget-customer and load-corrections lost-commits on s3://lake/orders" in told
    assert "give --table or --table-path for s3://lake/orders" in told

    Path("orders.yaml").write_text(FACTS, encoding="utf-8")
    told = asked("sluice plan jobs --table orders.yaml")
    assert "may forget-customer and load-corrections ConcurrentAppendException on s3://lake/orders" in told
    assert "Change load-corrections: 1 pair fewer must wait spec.sql, line 3" in told
    advised = "ON t.id = s.id AND t.date = s.date AND t.date = DATE '2026-11-18'"
    assert f"- ON t.id = s.id AND t.date = s.date + {advised}" in told
    assert "Same result: " in told

    Path("jobs/load.yaml").write_text(
        LOAD.replace("ON t.id = s.id AND t.date = s.date", advised), encoding="utf-8"
    )
    assert asked("sluice plan jobs --table orders.yaml") == (
        "2 jobs on 1 table: 0 of 1 pair must wait for each other."
    )
