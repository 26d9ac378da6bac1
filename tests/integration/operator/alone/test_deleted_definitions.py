"""A definition that somebody deletes takes all its objects along: what still runs holds its leases, the operator says what is
missing, and goes on once it is back.

A stack of its own, since nobody else could go on while definitions are missing.
"""

from collections.abc import Iterator

import pytest
from kubernetes import client

from devenv.stack import Stack
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, rewrite
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api.base import Json

JOBS = "deltawritejobs.sluice.dev"
POLICIES = "deltatablepolicies.sluice.dev"
SPARK = "sparkapplications.sparkoperator.k8s.io"


@pytest.fixture
def definitions(api: client.ApiClient, own_stack: Stack) -> Iterator[client.ApiextensionsV1Api]:
    """The definitions of the cluster; all are back afterwards."""
    made = client.ApiextensionsV1Api(api)
    yield made
    eventually(lambda: not _going(made), "no definition is on its way out", show=lambda: _going(made))
    own_stack.install_crds()


def _names(definitions: client.ApiextensionsV1Api, *, going: bool) -> set[str]:
    listed = [one.metadata for one in definitions.list_custom_resource_definition().items]
    return {
        str(one.name)
        for one in listed
        if one is not None and (one.deletion_timestamp is not None or not going)
    }


def _going(definitions: client.ApiextensionsV1Api) -> set[str]:
    return _names(definitions, going=True)


def _is_gone(definitions: client.ApiextensionsV1Api, name: str) -> None:
    eventually(lambda: name not in _names(definitions, going=False), f"definition {name} is gone")


def _runs(cluster: Played, name: str) -> str:
    uid = cluster.apply(name, rewrite(f"/lake/{name}"))
    cluster.start(name)
    cluster.reaches(name, "Running")
    return uid


def _pod_goes(cluster: Played, name: str) -> Json:
    """The driver's pod, once it is told to end."""
    return eventually(
        lambda: (pod := cluster.pod(name)) and "deletionTimestamp" in pod["metadata"] and pod,
        f"pod {name} is told to end",
        show=lambda: cluster.pod(name),
    )


@pytest.mark.parametrize("is_started_anew", [False, True])
def test_drivers_whose_jobs_went_with_the_definition_hold_their_leases_until_they_are_dead(
    cluster: Played,
    operators: StartOperator,
    own_stack: Stack,
    definitions: client.ApiextensionsV1Api,
    *,
    is_started_anew: bool,
) -> None:
    operator = operators()
    uid = _runs(cluster, "taken-along")
    [application] = cluster.applications_of(uid)
    driver = cluster.driver_named(application["metadata"]["name"])
    definitions.delete_custom_resource_definition(JOBS)
    _is_gone(definitions, JOBS)
    if is_started_anew:
        operator.kill()
        operator = operators("later")
    told = cluster.operator_tells("DefinitionsCurrent", "False")
    assert "the API server does not serve DeltaWriteJob" in told["message"]
    assert "kubectl apply --server-side -f crds/" in told["message"]
    eventually(lambda: operator.get("/readyz")[0] == 503, "it is not ready")
    assert operator.get("/healthz")[0] == 200, "to start it anew would help nobody"
    assert cluster.holders() == {f"{uid}/1"}
    if not is_started_anew:
        _pod_goes(cluster, driver.pod)
    own_stack.install_crds()
    cluster.operator_tells("DefinitionsCurrent", "True")
    cluster.apply("next", rewrite("/lake/taken-along"))
    assert cluster.reaches("next", "Waiting")["blockedBy"][0]["job"].endswith("/taken-along")
    _pod_goes(cluster, driver.pod)
    assert cluster.holders() == {f"{uid}/1"}
    driver.container_ends(143)
    cluster.delete_pod(driver.pod)
    eventually(lambda: cluster.application(driver.application) is None, "the application goes")
    cluster.start("next").succeeds("file:/lake/taken-along")
    cluster.reaches("next", "Succeeded")
    assert operator.running
    assert all("exception" not in entry for entry in operator.entries())


def test_a_definition_of_applications_goes_once_their_drivers_are_dead(
    cluster: Played, operator: OperatorProcess, own_stack: Stack, definitions: client.ApiextensionsV1Api
) -> None:
    uid = _runs(cluster, "undefined")
    [application] = cluster.applications_of(uid)
    driver = cluster.driver_named(application["metadata"]["name"])
    cluster.apply("next", rewrite("/lake/undefined"))
    definitions.delete_custom_resource_definition(SPARK)
    eventually(
        lambda: "deletionTimestamp" in (cluster.application(driver.application) or {})["metadata"],
        "its application is being deleted",
    )
    cluster.reaches("next", "Waiting")
    assert _going(definitions) == {SPARK}
    assert cluster.holders() == {f"{uid}/1"}
    driver.container_ends(143)
    status = cluster.reaches("undefined", "Failed")
    assert status["reason"] == "ApplicationDeleted"
    _is_gone(definitions, SPARK)
    eventually(lambda: f"{uid}/1" not in cluster.holders(), "its lease is released", show=cluster.holders)
    told = cluster.operator_tells("SparkOperatorInstalled", "False")
    assert "install kubeflow's Spark operator" in told["message"]
    own_stack.install_crds()
    cluster.start("next").succeeds("file:/lake/undefined")
    cluster.reaches("next", "Succeeded")
    assert operator.running
    assert all("exception" not in entry for entry in operator.entries())


def test_a_table_that_a_policy_named_stays_held_when_the_definition_of_policies_goes(
    cluster: Played, operator: OperatorProcess, own_stack: Stack, definitions: client.ApiextensionsV1Api
) -> None:
    cluster.declare("orders", {"table": {"name": "lake.orders", "path": "/lake/orders"}, "logStore": "Safe"})
    eventually(lambda: cluster.policy("orders").get("status"), "the policy is seen")
    cluster.apply("by-name", {"sql": "DELETE FROM lake.orders WHERE id = 1"})
    driver = cluster.start("by-name")
    cluster.reaches("by-name", "Running")
    definitions.delete_custom_resource_definition(POLICIES)
    _is_gone(definitions, POLICIES)
    operator.says("the API server refuses policies")
    cluster.apply("by-path", rewrite("/lake/orders"))
    assert cluster.reaches("by-path", "Waiting")["blockedBy"][0]["job"].endswith("/by-name")
    own_stack.install_crds()
    eventually(lambda: POLICIES in _names(definitions, going=False), "the definition is back")
    assert cluster.reaches("by-path", "Waiting")["blockedBy"][0]["job"].endswith("/by-name")
    driver.succeeds("file:/lake/orders")
    cluster.reaches("by-name", "Succeeded")
    cluster.start("by-path").succeeds("file:/lake/orders", 2)
    cluster.reaches("by-path", "Succeeded")
    assert operator.running
    ours = [entry for entry in operator.entries() if not entry["logger"].startswith("kopf.")]
    assert all("exception" not in entry for entry in ours)
