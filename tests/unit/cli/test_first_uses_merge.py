"""The first use that brings most people here: a nightly MERGE is aborted again and again, and nobody sees why, because it looks as
if it kept to three days. From the first manifest to "may run together" by nothing but what the command line says."""

from pathlib import Path

import pytest

from unit.cli.folders import sluice

JOB = """\
apiVersion: sluice.dev/v1alpha1
kind: DeltaWriteJob
metadata:
  name: {name}
spec:
  sql: |
    {sql}
"""
MERGE = """\
MERGE INTO sales.orders t
    USING (SELECT * FROM staging.orders WHERE date >= '2026-11-15' AND date < '2026-11-18') s
    ON t.id = s.id AND t.date = s.date
    WHEN MATCHED THEN UPDATE SET *
    WHEN NOT MATCHED THEN INSERT *"""
FORGET = "DELETE FROM sales.orders WHERE date = DATE '2026-10-01' AND customer = 7"
POLICY = """\
apiVersion: sluice.dev/v1alpha1
kind: DeltaTablePolicy
metadata:
  name: {name}
spec:
  table:
    name: {name}.orders
    path: s3://lake/{name}/orders
  logStore: S3Conditional
"""
FACTS = """\
path: s3://lake/{name}/orders
schema:
- {{name: id, type: bigint}}
- {{name: customer, type: bigint}}
- {{name: date, type: date}}
partitionColumns: [{by}]
dialect: {{name: oss, version: 4.4.0}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "load.yaml").write_text(JOB.format(name="load", sql=MERGE), encoding="utf-8")
    (tmp_path / "forget.yaml").write_text(JOB.format(name="forget", sql=FORGET), encoding="utf-8")
    return tmp_path


def asked(folder: Path, *tables: str) -> str:
    manifests = sorted(set(folder.glob("*.yaml")) - set(folder.glob("*.facts.yaml")))
    given = [part for name in tables for part in ("--table", folder / f"{name}.facts.yaml")]
    return sluice("explain", *manifests, *given).stdout


def words(text: str) -> str:
    return " ".join(text.split())


def with_policies(folder: Path) -> None:
    for name in ("sales", "staging"):
        (folder / f"{name}.yaml").write_text(POLICY.format(name=name), encoding="utf-8")


def with_facts(folder: Path, name: str, by: str = "") -> str:
    (folder / f"{name}.facts.yaml").write_text(FACTS.format(name=name, by=by), encoding="utf-8")
    return name


def test_who_knows_nothing_yet_is_told_to_bind_both_names(folder: Path) -> None:
    told = words(asked(folder))
    assert "All of this, and they may run together:" in told
    assert "Advice: bind sales.orders to its path in a DeltaTablePolicy (table.name and table.path)" in told
    assert "Advice: bind staging.orders in a DeltaTablePolicy (table.name and table.path)" in told
    assert "let the operator" not in told


def test_who_has_bound_them_is_told_to_say_what_the_table_is_like(folder: Path) -> None:
    with_policies(folder)
    told = words(asked(folder))
    assert "Advice: give --table or --table-path for s3://lake/sales/orders" in told
    assert "bind" not in told


def test_who_has_said_so_is_told_which_line_to_change_and_what_it_promises(folder: Path) -> None:
    with_policies(folder)
    told = words(asked(folder, with_facts(folder, "sales", "date")))
    assert (
        "+ ON t.id = s.id AND t.date = s.date AND t.date >= DATE '2026-11-15' AND t.date <= DATE '2026-11-17'"
        in told
    )
    assert "A promise, check it first" in told
    assert "the type of its column is not known" in told


def test_whose_source_is_known_too_gets_a_line_with_the_same_result_after_which_both_may_run(
    folder: Path,
) -> None:
    with_policies(folder)
    tables = with_facts(folder, "sales", "date"), with_facts(folder, "staging")
    told = asked(folder, *tables)
    assert "Change load, then they may run together:" in told
    assert "Same result: the source holds no other rows, but Delta does not see that." in told
    before, after = (
        next(line.strip()[2:] for line in told.splitlines() if line.startswith(f"  {sign} ON"))
        for sign in "-+"
    )
    text = (folder / "load.yaml").read_text(encoding="utf-8")
    assert text.count(before) == 1
    (folder / "load.yaml").write_text(text.replace(before, after), encoding="utf-8")
    assert asked(folder, *tables).startswith("✓ forget and load may run together.")
