"""Real jobs make a table what its policy wants, set again what another tool sets back, compact it and clean it up; its rows stay as
they are."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from devenv.processes import wait_until
from integration.pipeline.conftest import PATIENCE_SECONDS, PROFILE, Pipeline, Place, running_pipeline
from integration.pipeline.foreign import rows
from sluice.api import names
from sluice.api.base import Json

pytestmark = pytest.mark.timeout(900)

RETENTION = "delta.logRetentionDuration"
WANTED = "interval 60 days"


@pytest.fixture(scope="module")
def looking(place: Place) -> Iterator[Pipeline]:
    """One whose operator looks at the tables of policies all the time."""
    with running_pipeline(place, {"default": PROFILE}, settings={"policyLook": "1s"}) as running:
        yield running


def _declare(pipeline: Pipeline, policy: str, spec: Json) -> None:
    manifest = {
        "apiVersion": names.API_VERSION,
        "kind": names.POLICY_KIND,
        "metadata": {"name": policy, "namespace": pipeline.namespace},
        "spec": spec,
    }
    done = pipeline.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
    assert done.returncode == 0, done.stderr


def _status(pipeline: Pipeline, policy: str = "orders") -> Json:
    found = pipeline.kubectl.json("get", "deltatablepolicy", policy, "-n", pipeline.namespace)
    status = found.get("status") or {}
    assert isinstance(status, dict)
    return status


def _becomes(pipeline: Pipeline, reason: str, jobs: int) -> None:
    def is_so() -> bool:
        status = _status(pipeline)
        return status.get("reason") == reason and (status.get("enforced") or {}).get("counted", 0) == jobs

    assert wait_until(is_so, PATIENCE_SECONDS), (_status(pipeline), pipeline.operator.told()[-3000:])


def test_a_table_becomes_as_wanted_and_is_set_again_after_another_tool(looking: Pipeline) -> None:
    path = str(looking.lake / "orders")
    write_deltalake(path, rows("id", (1, "a"), (2, "b"), (3, "c")))
    spec = {
        "table": {"path": path},
        "enforcement": "Enforce",
        "allowIrreversible": True,
        "properties": {RETENTION: WANTED},
        "features": ["changeDataFeed"],
    }
    _declare(looking, "orders", spec)
    _becomes(looking, "AsWanted", 1)
    table = DeltaTable(path)
    assert table.version() == 1, "both were set by one commit"
    assert table.metadata().configuration[RETENTION] == WANTED
    assert table.metadata().configuration["delta.enableChangeDataFeed"] == "true"

    table.alter.set_table_properties({RETENTION: "interval 10 days"})
    _becomes(looking, "AsWanted", 2)
    table = DeltaTable(path)
    assert table.version() == 3
    assert table.metadata().configuration[RETENTION] == WANTED
    (back,) = _status(looking)["enforced"]["setBack"]
    assert (back["field"], back["times"]) == (f"properties.{RETENTION}", 1)
    assert "delta-rs" in back["by"]
    assert _ids(path) == [1, 2, 3]


def _ids(path: str) -> list[int]:
    found = QueryBuilder().register("t", DeltaTable(path)).execute("SELECT id FROM t ORDER BY id").read_all()
    ids: list[int] = found["id"].to_pylist()
    return ids


OLD_SECONDS = 30 * 24 * 3600
MANY = 12


def _with_a_file_removed_long_ago(folder: Path) -> Path:
    """Makes a table of which a commit replaced the only file, and returns that file: both seem to be a month old."""
    write_deltalake(folder, rows("id", (0, "gone")))
    (replaced,) = folder.glob("*.parquet")
    write_deltalake(folder, rows("id", (1, "d1")), mode="overwrite")
    commit = folder / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines()]
    for action in actions:
        if "remove" in action:
            action["remove"]["deletionTimestamp"] -= OLD_SECONDS * 1000
    commit.write_text("".join(f"{json.dumps(action)}\n" for action in actions), encoding="utf-8")
    os.utime(replaced, times=(time.time() - OLD_SECONDS,) * 2)
    return replaced


def _run_now(pipeline: Pipeline, kind: str) -> Json:
    """Asks for maintenance and returns what the policy's status says of it once its job has ended well and was looked at."""
    asked = pipeline.kubectl(
        *("annotate", "dtp", "upkept", "-n", pipeline.namespace),
        *(f"{names.ANNOTATION_RUN}={kind}", "--overwrite"),
    )
    assert asked.returncode == 0, asked.stderr

    def kept() -> Json:
        return (_status(pipeline, "upkept").get("maintenance") or {}).get(kind) or {}

    assert wait_until(lambda: "lastJob" in kept(), PATIENCE_SECONDS), _status(pipeline, "upkept")
    job = kept()["lastJob"]
    assert pipeline.until(job)["phase"] == "Succeeded", pipeline.status(job)

    def is_told() -> bool:
        observed = _status(pipeline, "upkept")["observed"]
        return any(commit.get("job") == f"{pipeline.namespace}/{job}" for commit in observed["lastCommits"])

    assert wait_until(is_told, PATIENCE_SECONDS), _status(pipeline, "upkept")
    return kept()


def test_maintenance_that_is_asked_for_compacts_the_table_and_deletes_what_is_old(looking: Pipeline) -> None:
    folder = looking.lake / "upkept"
    old = _with_a_file_removed_long_ago(folder)
    for number in range(2, MANY + 1):
        write_deltalake(folder, rows("id", (number, f"d{number}")), mode="append")
    small = sorted(folder.glob("*.parquet"))
    assert len(small) == MANY + 1
    seldom = {"schedule": "0 0 29 2 *"}
    _declare(
        looking,
        "upkept",
        {"table": {"path": str(folder)}, "maintenance": {"optimize": seldom, "vacuum": seldom}},
    )

    compacted = _run_now(looking, "optimize")
    assert len(DeltaTable(folder).file_uris()) == 1
    assert _ids(str(folder)) == list(range(1, MANY + 1))
    assert _status(looking, "upkept")["observed"]["files"] == 1
    assert "message" not in compacted
    assert old.exists()

    cleaned = _run_now(looking, "vacuum")
    assert not old.exists()
    assert all(path.exists() for path in small if path != old), "what was removed just now is kept"
    assert _ids(str(folder)) == list(range(1, MANY + 1))
    assert cleaned["lastJob"] != compacted["lastJob"]
    operations = {commit["operation"] for commit in _status(looking, "upkept")["observed"]["lastCommits"]}
    assert {"OPTIMIZE", "VACUUM START", "VACUUM END"} <= operations
