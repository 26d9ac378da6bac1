"""The command line reads a table on S3 as the operator does, with the credentials of whoever calls it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from integration.tables.store_proxy import StoreProxy, s3_error
from sluice.cli.main import app

JOB = """\
apiVersion: sluice.dev/v1alpha1
kind: DeltaWriteJob
metadata: {{name: on-{day}}}
spec:
  sql: "DELETE FROM delta.`s3://lake/orders` WHERE date = DATE '2026-11-{day}'"
"""
SAFE = """\
apiVersion: sluice.dev/v1alpha1
kind: DeltaTablePolicy
metadata: {name: orders}
spec: {table: {path: "s3://lake/orders"}, logStore: Safe}
"""


@pytest.fixture
def manifests(tmp_path: Path) -> list[str]:
    files = {"19.yaml": JOB.format(day=19), "20.yaml": JOB.format(day=20), "policy.yaml": SAFE}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return [str(tmp_path / name) for name in files]


@pytest.mark.usefixtures("signed_in")
def test_jobs_are_told_apart_by_the_columns_of_a_table_on_s3(manifests: list[str]) -> None:
    done = CliRunner().invoke(app, ["plan", *manifests, "--table-path", "s3a://lake/orders"])
    assert done.exit_code == 0, done.output
    assert "0 of 1 pair must wait" in done.stdout
    assert done.stderr == ""


@pytest.mark.usefixtures("signed_in")
def test_a_copy_stands_for_the_table_that_the_jobs_name(manifests: list[str]) -> None:
    done = CliRunner().invoke(app, ["plan", *manifests, "--table-path", "s3://lake/orders=s3://lake/deep"])
    assert done.exit_code == 0, done.output
    assert "0 of 1 pair must wait" in done.stdout


@pytest.mark.usefixtures("signed_in")
def test_a_table_that_cannot_be_read_is_named_with_what_to_do_and_the_rest_is_answered(
    manifests: list[str], store: StoreProxy
) -> None:
    store.fault = lambda _: s3_error(403, "AccessDenied", "Access Denied")
    done = CliRunner().invoke(app, ["footprint", manifests[0], "--table-path", "s3://lake/orders"])
    assert done.exit_code == 3
    assert "reads    all of the table" in done.stdout
    said = " ".join(done.stderr.split())
    assert "the log of s3://lake/orders cannot be read: AccessDenied: " in said
    assert "s3:ListBucket" in said


@pytest.mark.usefixtures("signed_in")
def test_a_location_without_a_table_is_named(manifests: list[str]) -> None:
    done = CliRunner().invoke(app, ["footprint", manifests[0], "--table-path", "s3://lake/nothing-here"])
    assert done.exit_code == 3
    assert "s3://lake/nothing-here: there is no Delta table here" in done.stderr
