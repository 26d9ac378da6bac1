"""A job that names its table finds it where a policy says, with no catalog anywhere."""

import json

import pytest
from deltalake import DeltaTable

from devenv.processes import wait_until
from integration.pipeline.conftest import PATIENCE_SECONDS, Pipeline

pytestmark = pytest.mark.timeout(900)


def bind(pipeline: Pipeline, policy: str, name: str, path: str) -> None:
    manifest = {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaTablePolicy",
        "metadata": {"name": policy, "namespace": pipeline.namespace},
        "spec": {"table": {"name": name, "path": path}},
    }
    done = pipeline.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
    assert done.returncode == 0, done.stderr

    def is_read() -> bool:
        seen = pipeline.kubectl.json("get", "deltatablepolicy", policy, "-n", pipeline.namespace)
        status = seen.get("status", {})
        return isinstance(status, dict) and bool(status.get("conditions"))

    assert wait_until(is_read, PATIENCE_SECONDS), pipeline.operator.told()[-3000:]


def test_a_table_is_made_and_written_by_the_names_that_policies_bind(pipeline: Pipeline) -> None:
    path = str(pipeline.lake / "orders")
    bind(pipeline, "orders", "sales.orders", path)
    bind(pipeline, "orders-in-prod", "prod.sales.orders", path)
    pipeline.apply(
        "make",
        {
            "sql": "CREATE TABLE sales.orders (id BIGINT, date DATE) USING delta PARTITIONED BY (date);\n"
            "INSERT INTO sales.orders SELECT id, DATE '2026-11-19' FROM range(10)"
        },
    )
    made = pipeline.until("make")
    assert made["phase"] == "Succeeded", made
    assert {commit["table"] for commit in made["attempts"][-1]["commits"]} == {f"file:{path}"}

    # Another name of the same table, and a DataFrame write by it.
    pipeline.apply(
        "delete", {"sql": "DELETE FROM prod.sales.orders WHERE date = DATE '2026-11-19' AND id < 3"}
    )
    deleted = pipeline.until("delete")
    assert deleted["phase"] == "Succeeded", deleted
    assert deleted["attempts"][-1]["footprintHeld"] is True
    assert deleted["footprint"][0]["table"] == f"file:{path}"
    assert deleted["footprint"][0]["writes"] == "date = DATE '2026-11-19'"
    rows = {"sql": "SELECT id + 100 AS id, date FROM sales.orders"}
    pipeline.apply("append", {"write": {"table": {"name": "sales.orders"}, "source": rows}})
    appended = pipeline.until("append")
    assert appended["phase"] == "Succeeded", appended
    assert DeltaTable(path).count() == 14

    pipeline.apply("unbound", {"sql": "INSERT INTO sales.other VALUES (1)"})
    unbound = pipeline.until("unbound")
    assert unbound["phase"] == "Failed"
    assert "TABLE_OR_VIEW_NOT_FOUND" in unbound["attempts"][-1]["exception"]["message"]
