"""What an installation needs around it: it is told where it is missing, and nothing has to be restarted once it is there.

A stack of its own, since nobody else could go on while definitions are missing.
"""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from devenv.stack import Stack
from integration.objects import Server
from integration.operator.accounts import Rules, account_with, rules_of
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, rewrite
from integration.operator.process import OperatorProcess, configuration, first_epochs
from integration.waiting import eventually
from sluice.api import names
from sluice.kube.rights import rights_of

SPARK = "sparkapplications.sparkoperator.k8s.io"
JOBS = "deltawritejobs.sluice.dev"
POLICIES = "deltatablepolicies.sluice.dev"


@pytest.fixture
def definitions(api: client.ApiClient, own_stack: Stack) -> Iterator[client.ApiextensionsV1Api]:
    """The definitions of the cluster; all are back afterwards."""
    yield client.ApiextensionsV1Api(api)
    own_stack.install_crds()


def _remove(definitions: client.ApiextensionsV1Api, name: str) -> None:
    definitions.delete_custom_resource_definition(name)

    def is_gone() -> bool:
        return all(
            one.metadata is None or one.metadata.name != name
            for one in definitions.list_custom_resource_definition().items
        )

    eventually(is_gone, f"definition {name} is gone")


def _says(cluster: Played, name: str, reason: str) -> dict[str, Any]:
    return eventually(
        lambda: (status := cluster.status(name)).get("reason") == reason and status,
        f"{name} says {reason}",
        show=lambda: cluster.status(name),
    )


def test_a_spark_operator_that_is_not_there_is_awaited_and_jobs_say_so(
    cluster: Played,
    operators: StartOperator,
    own_stack: Stack,
    definitions: client.ApiextensionsV1Api,
) -> None:
    _remove(definitions, SPARK)
    operator = operators()
    operator.says("leading as")
    told = cluster.operator_tells("SparkOperatorInstalled", "False")
    assert "the API server serves no sparkapplications of sparkoperator.k8s.io/v1beta2" in told["message"]
    assert "https://github.com/kubeflow/spark-operator" in told["message"]
    cluster.apply("early", rewrite("/lake/early"))
    status = _says(cluster, "early", "SparkOperatorMissing")
    assert status["phase"] == "Pending"
    assert "install kubeflow's Spark operator" in status["message"]
    eventually(
        lambda: "NotSparkOperatorInstalled" in cluster.events_of_the_operator(), "an Event tells of it"
    )
    code, why = operator.get("/readyz")
    assert code == 503
    assert "install kubeflow's Spark operator" in why
    assert operator.get("/healthz")[0] == 200, "to start it anew would help nobody"
    spent = operator.metric("sluice_epoch")
    assert spent in (0, *first_epochs()), "no epochs are spent on rebuilds that cannot succeed"
    assert operator.told().count("cannot list all objects") <= 2, "what stays as it is is said once"
    own_stack.install_crds()
    cluster.start("early").succeeds("file:/lake/early")
    cluster.reaches("early", "Succeeded")
    cluster.operator_tells("SparkOperatorInstalled", "True")
    eventually(lambda: operator.get("/readyz")[0] == 200, "it is ready")

    _remove(definitions, SPARK)  # while it runs
    cluster.operator_tells("SparkOperatorInstalled", "False")
    cluster.apply("late", rewrite("/lake/late"))
    _says(cluster, "late", "SparkOperatorMissing")
    own_stack.install_crds()
    cluster.start("late").succeeds("file:/lake/late")
    cluster.reaches("late", "Succeeded")
    assert operator.running
    assert all("exception" not in entry for entry in operator.entries())


def test_a_definition_of_policies_that_goes_and_comes_back_ends_nothing(
    cluster: Played,
    operators: StartOperator,
    own_stack: Stack,
    definitions: client.ApiextensionsV1Api,
) -> None:
    _remove(definitions, POLICIES)
    operator = operators()
    operator.says("the API server knows no deltatablepolicies")
    cluster.apply("first", rewrite("/lake/first"))
    own_stack.install_crds()
    cluster.start("first").succeeds("file:/lake/first")
    cluster.reaches("first", "Succeeded")
    _remove(definitions, POLICIES)  # while it runs
    operator.says("the API server refuses policies")
    own_stack.install_crds()
    table = {"table": {"name": "lake.second", "path": "/lake/second"}, "logStore": "Safe"}
    cluster.declare("second", table)
    eventually(lambda: cluster.policy("second").get("status"), "the policy is seen", show=operator.told)
    cluster.apply("second", rewrite("/lake/second"))
    cluster.start("second").succeeds("file:/lake/second")
    cluster.reaches("second", "Succeeded")
    assert operator.running
    ours = [entry for entry in operator.entries() if not entry["logger"].startswith("kopf.")]
    assert all("exception" not in entry for entry in ours)
    assert operator.told().count("cannot list all objects") <= 2


def test_definitions_of_another_version_are_named_and_nothing_is_granted_until_they_are_applied(
    cluster: Played,
    operators: StartOperator,
    own_stack: Stack,
    definitions: client.ApiextensionsV1Api,
) -> None:
    place = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/blockedByCount"
    # The library sends a list as a JSON patch.
    definitions.patch_custom_resource_definition(JOBS, [{"op": "remove", "path": place}])

    def is_published() -> bool:
        published = own_stack.api.call("GET", "/openapi/v3/apis/sluice.dev/v1alpha1", None)
        return "blockedByCount" not in json.dumps(published)

    eventually(is_published, "the API server publishes the older schema")
    operator = operators()
    operator.says("leading as")
    told = cluster.operator_tells("DefinitionsCurrent", "False")
    assert "DeltaWriteJob" in told["message"]
    assert "status.blockedByCount" in told["message"]
    assert "kubectl apply --server-side -f crds/" in told["message"]
    cluster.apply("waits-for-fields", rewrite("/lake/fields"))
    status = _says(cluster, "waits-for-fields", "DefinitionsOutdated")
    assert "it lacks status.blockedByCount" in status["message"]
    assert cluster.applications() == []
    eventually(lambda: operator.get("/readyz")[0] == 503, "it is not ready")
    own_stack.install_crds()
    cluster.start("waits-for-fields").succeeds("file:/lake/fields")
    cluster.reaches("waits-for-fields", "Succeeded")
    cluster.operator_tells("DefinitionsCurrent", "True")
    assert operator.running


def test_the_rights_of_the_list_are_enough_and_one_that_lacks_is_named(
    cluster: Played, own_stack: Stack, tmp_path: Path
) -> None:
    account = f"operator-{uuid.uuid4().hex[:6]}"
    config = configuration([cluster.namespace], cluster.redis_url)
    everything = rules_of(rights_of(names.DEPLOYMENT), cluster.namespace, (cluster.namespace,))
    with account_with(own_stack.kubeconfig, cluster.namespace, account, everything) as allowed:
        operator = OperatorProcess(_written(tmp_path, allowed), config, tmp_path)
        operator.start()
        try:
            cluster.apply("allowed", rewrite("/lake/allowed"))
            cluster.start("allowed").succeeds("file:/lake/allowed")
            cluster.reaches("allowed", "Succeeded")
            eventually(lambda: "Admitted" in cluster.events_of("allowed"), "its Events are written")
            cluster.operator_tells("RightsGranted", "True")
            assert "is forbidden" not in operator.told()
            _one_goes_and_comes_back(cluster, Server.of(own_stack.kubeconfig), account, everything)
        finally:
            operator.kill()
    fewer = {
        place: [rule for rule in rules if "events" not in rule["resources"]]
        for place, rules in everything.items()
    }
    account = f"operator-{uuid.uuid4().hex[:6]}"
    with account_with(own_stack.kubeconfig, cluster.namespace, account, fewer) as allowed:
        operator = OperatorProcess(_written(tmp_path, allowed), config, tmp_path, "lacking")
        operator.start()
        try:
            operator.says("leading as")
            told = cluster.operator_tells("RightsGranted", "False")
            assert f"may not create events in namespace {cluster.namespace}" in told["message"]
        finally:
            operator.kill()


def _one_goes_and_comes_back(cluster: Played, server: Server, account: str, everything: Rules) -> None:
    """What is refused for it tells, long before all rights are asked for again; and a job that has ended says how."""
    roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{cluster.namespace}/roles"
    role, rules = f"{roles}/{cluster.namespace}-{account}", everything[cluster.namespace]
    fewer = [rule for rule in rules if (rule["resources"], rule["verbs"]) != (["pods"], ["patch"])]
    uid = cluster.apply("refused", rewrite("/lake/refused"))
    driver = cluster.start("refused")
    cluster.reaches("refused", "Running")
    server.ask("PATCH", role, {"rules": fewer}, content="application/merge-patch+json")
    driver.succeeds("file:/lake/refused")
    ended = cluster.reaches("refused", "Succeeded")
    told = cluster.operator_tells("RightsGranted", "False")
    assert f"may not patch pods in namespace {cluster.namespace}" in told["message"]
    eventually(lambda: "ApiServerRefuses" in cluster.events_of("refused"), "an Event tells what is refused")
    assert f"{uid}/1" in cluster.holders()
    server.ask("PATCH", role, {"rules": rules}, content="application/merge-patch+json")
    eventually(lambda: not cluster.holders(), "its lease is released", show=cluster.holders)
    cluster.operator_tells("RightsGranted", "True")
    assert cluster.status("refused") == ended
    assert ended["reason"] == "Committed"


def _written(folder: Path, kubeconfig: dict[str, Any]) -> Path:
    file = folder / f"kubeconfig-{uuid.uuid4().hex[:6]}"
    file.write_text(yaml.safe_dump(kubeconfig), encoding="utf-8")
    return file
