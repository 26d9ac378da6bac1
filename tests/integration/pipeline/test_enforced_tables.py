"""A table becomes as its policy wants by real jobs, and what another tool sets back is set again; its rows stay as they are."""

import json
from collections.abc import Iterator

import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from devenv.processes import wait_until
from devenv.stack import Stack
from integration.conftest import Kubectl
from integration.pipeline.conftest import PATIENCE_SECONDS, PROFILE, Pipeline, namespace_of, running_pipeline
from integration.pipeline.foreign import rows
from sluice.api.base import Json

pytestmark = pytest.mark.timeout(900)

RETENTION = "delta.logRetentionDuration"
WANTED = "interval 60 days"


@pytest.fixture(scope="module")
def looking(
    stack: Stack, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Pipeline]:
    """One whose operator looks at the tables of policies all the time."""
    folder = tmp_path_factory.mktemp("looking")
    runtimes = {"default": PROFILE}
    with running_pipeline(
        stack, kubectl, folder, namespace_of(request), runtimes, settings={"policyLook": "1s"}
    ) as running:
        yield running


def _status(pipeline: Pipeline) -> Json:
    policy = pipeline.kubectl.json("get", "deltatablepolicy", "orders", "-n", pipeline.namespace)
    status = policy.get("status") or {}
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
    manifest = {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaTablePolicy",
        "metadata": {"name": "orders", "namespace": looking.namespace},
        "spec": spec,
    }
    done = looking.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
    assert done.returncode == 0, done.stderr
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
    kept = QueryBuilder().register("t", table).execute("SELECT id FROM t ORDER BY id").read_all()
    assert kept["id"].to_pylist() == [1, 2, 3]
