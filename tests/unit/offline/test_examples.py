"""What the examples say about who runs beside whom comes true as they are written: by name, with the policies beside them."""

import json
from pathlib import Path

import pytest
import yaml

from sluice.api.job import DeltaWriteJobSpec
from sluice.api.manifests import Document
from sluice.conflicts import PairOrder, pair_of
from sluice.footprint import JobFootprint
from sluice.offline.files import read_files
from sluice.offline.jobs import Job
from sluice.offline.known_facts import KnownFacts
from sluice.offline.workspace import workspace_of
from unit.cli.folders import sluice

EXAMPLES = Path(__file__).parents[3] / "examples"
ORDERS_LOG = {
    "name": "lake.sales.orders",
    "schema": [
        {"name": "id", "type": "bigint"},
        {"name": "customer", "type": "bigint"},
        {"name": "amount", "type": "decimal(12,2)"},
        {"name": "date", "type": "date"},
    ],
    "partitionColumns": ["date"],
    "dialect": {"name": "oss", "version": "4.4.0"},
}
"""The facts as the operator reads them from the table's log."""
STOCK_LOG = {
    "name": "lake.shops.stock",
    "schema": [{"name": "item", "type": "bigint"}, {"name": "region", "type": "string"}],
    "partitionColumns": ["region"],
    "dialect": {"name": "oss", "version": "4.4.0"},
}


@pytest.fixture(scope="module")
def known() -> KnownFacts:
    files = read_files(sorted(EXAMPLES.glob("*.yaml")))
    files.found += [Document("orders", ORDERS_LOG), Document("stock", STOCK_LOG)]
    workspace = workspace_of(files, read_files([]))
    assert workspace.troubles == []
    return workspace.knowledge


def example(name: str, known: KnownFacts, **changed: str) -> JobFootprint:
    """Returns the example's footprint, with some of its text changed."""
    text = (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
    for old, new in changed.items():
        before = old.replace("_", "-").removeprefix("-")
        assert before in text, before
        text = text.replace(before, new)
    spec = DeltaWriteJobSpec.model_validate(yaml.safe_load(text)["spec"])
    return known.footprint(Job(name, name, spec))


def order(first: JobFootprint, second: JobFootprint) -> PairOrder:
    return pair_of(first, second).order


OTHER_DAY = {"_2026_11_19": "2026-11-20"}


def test_merges_of_different_days_run_side_by_side_and_of_the_same_day_the_second_waits(
    known: KnownFacts,
) -> None:
    one = example("sql-merge-one-day", known)
    assert order(one, example("sql-merge-one-day", known, **OTHER_DAY)) is PairOrder.ANY
    assert order(one, one) is PairOrder.NONE


def test_a_promised_partition_runs_beside_writers_of_other_days(known: KnownFacts) -> None:
    promised = example("sql-promised-partition", known)
    assert order(promised, example("sql-merge-one-day", known, **OTHER_DAY)) is PairOrder.ANY
    assert order(promised, example("sql-promised-partition", known, **OTHER_DAY)) is PairOrder.ANY
    assert order(promised, example("sql-merge-one-day", known)) is not PairOrder.ANY
    assert order(promised, example("write-backfill-replace-where", known)) is PairOrder.ANY


def test_a_backfill_runs_beside_the_writers_of_every_other_month(known: KnownFacts) -> None:
    october = example("write-backfill-replace-where", known)
    september = {
        "_2026_10_01": "2026-09-01",
        "_2026_11_01": "2026-10-01",
        "backfill_orders/2026_10": "backfill-orders/2026-09",
    }
    assert order(october, example("write-backfill-replace-where", known, **september)) is PairOrder.ANY
    assert order(october, example("sql-merge-one-day", known)) is PairOrder.ANY
    assert order(october, example("sql-optimize", known)) is PairOrder.ANY
    in_october = example("sql-merge-one-day", known, _2026_11_19="2026-10-19")
    assert order(october, in_october) is not PairOrder.ANY


def test_a_blind_append_runs_beside_other_appends_and_never_loses_to_a_merge(known: KnownFacts) -> None:
    append = example("sql-append", known)
    assert order(append, append) is PairOrder.ANY
    assert order(append, example("sql-merge-one-day", known)) is PairOrder.SECOND_THEN_FIRST


def test_overwritten_partitions_are_told_apart_by_what_is_promised(known: KnownFacts) -> None:
    berlin = example("write-overwrite-partitions", known)
    assert order(berlin, example("write-overwrite-partitions", known, Berlin="Hamburg")) is PairOrder.ANY
    assert order(berlin, berlin) is PairOrder.NONE


def test_who_changes_the_whole_table_runs_alone(known: KnownFacts) -> None:
    for alone in ("sql-restore", "sql-alter-table", "sql-delete-customer"):
        assert order(example(alone, known), example("sql-merge-one-day", known)) is not PairOrder.ANY, alone


def test_without_the_sources_policies_the_same_jobs_wait(known: KnownFacts) -> None:
    files = read_files([EXAMPLES / "policy-bind-name.yaml"])
    files.found.append(Document("orders", ORDERS_LOG))
    alone = workspace_of(files, read_files([])).knowledge
    one, other = (example("sql-merge-one-day", alone, **day) for day in ({}, OTHER_DAY))
    assert order(one, other) is PairOrder.NONE
    assert "lake.raw.orders may be a view over lake.sales.orders" in " ".join(one.tables[0].widened)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("policy-*.yaml")), ids=lambda file: file.stem)
def test_every_policy_of_a_table_on_s3_says_how_its_commits_are_kept_apart(file: Path) -> None:
    for policy in yaml.safe_load_all(file.read_text(encoding="utf-8")):
        on_s3 = policy["spec"]["table"].get("path", "").startswith("s3")
        assert not on_s3 or "logStore" in policy["spec"], policy["metadata"]["name"]


def test_an_assumption_is_told_of_the_tables_that_the_jobs_write_alone() -> None:
    for command in ("footprint", "plan"):
        told = sluice(command, EXAMPLES / "sql-merge-one-day.yaml", *sorted(EXAMPLES.glob("policy-*.yaml")))
        (assumed,) = [line for line in told.stdout.splitlines() if line.startswith("Assumed: ")]
        assert "s3://lake/sales/orders: taken to be partitioned by date date" in assumed


def test_a_footprint_for_programs_is_json_also_where_no_job_is_found() -> None:
    assert sluice("footprint", EXAMPLES / "policy-bind-name.yaml", "-o", "json").stdout == "[]\n"


def test_the_jobs_of_the_install_page_are_planned_as_the_page_says_they_run() -> None:
    found = json.loads(sluice("plan", EXAMPLES / "install", "-o", "json").stdout)
    assert found["runTogether"]["jobs"] == ["make-orders", "load-monday", "load-tuesday"]
    assert {(one["first"], one["second"], one["verdict"]) for one in found["conflicts"]} == {
        ("load-monday", "forget-customer", "may"),
        ("load-tuesday", "forget-customer", "may"),
    }
    assert (found["assumptions"], found["troubles"]) == ([], [])


def test_a_log_store_that_only_a_profile_could_tell_is_called_an_assumption() -> None:
    jobs = [EXAMPLES / "install" / name for name in ("make-orders.yaml", "orders.yaml")]
    [assumed] = json.loads(sluice("plan", *jobs, "-o", "json").stdout)["assumptions"]
    assert assumed.startswith("file:/lake/orders: jobs are taken to commit through Delta's own LogStore")
    assert "Assumed: file:/lake/orders: " in sluice("plan", *jobs).stdout


def test_the_day_on_which_a_job_is_made_is_assumed_where_it_asks_for_the_day(tmp_path: Path) -> None:
    kept = tmp_path / "kept.yaml"
    text = "DELETE FROM delta.`/lake/orders` WHERE date < current_date() - INTERVAL 90 DAYS"
    job = {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaWriteJob",
        "metadata": {"name": "kept"},
        "spec": {"sql": text},
    }
    kept.write_text(yaml.safe_dump(job), encoding="utf-8")
    (assumed,) = json.loads(sluice("plan", kept, "-o", "json").stdout)["assumptions"]
    assert "file:/lake/orders: conditions on current_date() are read for a job that is made on " in assumed


def test_a_folder_of_test_data_is_read_only_if_it_is_named() -> None:
    found = json.loads(sluice("plan", EXAMPLES / "gitops", "-o", "json").stdout)
    assert [one["name"] for one in found["jobs"]] == ["forget-customer-7", "merge-shop-orders-2026-11-19"]
    assert found["troubles"] == []
    [folder] = EXAMPLES.rglob("DeltaWriteJob/testdata")
    assert len(json.loads(sluice("plan", folder, "-o", "json").stdout)["jobs"]) > 10
