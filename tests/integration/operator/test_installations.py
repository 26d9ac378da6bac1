"""Several installations in one cluster: they act on different jobs and keep their leases apart, or don't start."""

import json
from pathlib import Path
from typing import Any

from kubernetes import client

from integration.leases.redis_process import RedisProcess
from integration.objects import Objects, Server
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, append, rewrite
from integration.operator.process import OperatorProcess, sluice
from integration.waiting import PATIENCE, eventually
from sluice.leases import Lease

LOST = Lease("lost", 1, "hash", "etl/lost", ("file:/lake/refused",))
"""A lease of a cluster that is gone."""


def ended(operator: OperatorProcess) -> tuple[int, str]:
    assert operator.process is not None
    return operator.process.wait(PATIENCE), operator.told()


def claims(api: client.ApiClient) -> dict[str, Any]:
    found = client.CoreV1Api(api).read_namespaced_config_map("sluice-installations", "kube-system")
    assert found.data is not None, "nothing is claimed"
    return {key: json.loads(text) for key, text in found.data.items()}


def test_an_installation_that_watches_what_another_watches_ends_with_a_sentence(
    cluster: Played, operator: OperatorProcess, operators: StartOperator, namespace: str, redis: RedisProcess
) -> None:
    second = operators("second", deployment="second")
    code, told = ended(second)
    assert code == 2, told
    assert f"/{namespace}/second does not start beside" in told
    assert f"/{namespace}/sluice" in told
    assert f"both run the jobs of namespace {namespace}" in told
    assert f"kubectl delete lease -n {namespace} sluice-leader" in told
    assert "Traceback" not in told
    cluster.apply("undisturbed", append("/lake/undisturbed"))
    cluster.start("undisturbed").succeeds("file:/lake/undisturbed")
    cluster.reaches("undisturbed", "Succeeded")
    with redis.client() as asked:
        assert asked.keys("sluice:{second}:*") == []


def test_an_installation_that_would_keep_its_leases_where_another_does_ends_with_a_sentence(
    operator: OperatorProcess, operators: StartOperator, redis: RedisProcess
) -> None:
    second = operators("second", namespace="default", watchNamespaces=["elsewhere"])
    code, told = ended(second)
    assert code == 2, told
    assert f"both keep their leases in Redis 127.0.0.1:{redis.port}/0 under sluice:{{sluice}}" in told


def test_the_claim_of_an_installation_without_its_lease_is_void(
    api: client.ApiClient, operator: OperatorProcess, operators: StartOperator, namespace: str
) -> None:
    operator.kill()
    client.CoordinationV1Api(api).delete_namespaced_lease("sluice-leader", namespace)
    second = operators("second", deployment="second")
    second.says(f"the claim {namespace}.sluice is void")
    second.says("the lease table was rebuilt")
    assert f"{namespace}.sluice" not in claims(api)
    assert claims(api)[f"{namespace}.second"]["namespaces"] == [namespace]


def test_an_installation_may_watch_other_namespaces_than_before(
    api: client.ApiClient, operator: OperatorProcess, operators: StartOperator, namespace: str
) -> None:
    before = claims(api)[f"{namespace}.sluice"]
    assert before["namespaces"] == [namespace]
    assert operator.stop() == 0
    operators("changed", watchNamespaces=[namespace, f"{namespace}-more"])

    def is_claimed() -> bool:
        now = claims(api)[f"{namespace}.sluice"]
        return bool(now == before | {"namespaces": [namespace, f"{namespace}-more"]})

    eventually(is_claimed, "it claims the namespaces that it watches now", show=lambda: claims(api))


def test_a_driver_in_a_namespace_that_is_watched_no_longer_keeps_its_lease(
    cluster: Played, api: client.ApiClient, kubeconfig: Path, operators: StartOperator, redis: RedisProcess
) -> None:
    elsewhere = Objects(Server.of(kubeconfig), f"{cluster.namespace}-too")
    elsewhere.create_namespace()
    both = [cluster.namespace, elsewhere.namespace]
    there = Played(api, elsewhere, redis.url)
    before = operators(watchNamespaces=both)
    uid = there.apply("runs", rewrite("/lake/both"))
    driver = there.start("runs")
    there.reaches("runs", "Running")
    assert before.stop() == 0
    fewer = operators("fewer", sharedNamespaces=["*"])
    fewer.says("the lease table was rebuilt with 1 leases")
    waits = cluster.apply("waits", rewrite("/lake/both"))
    status = cluster.reaches("waits", "Waiting")
    assert [one["job"] for one in status["blockedBy"]] == [f"{elsewhere.namespace}/runs"]
    told = cluster.operator_tells("LeasesExplained", "False")
    assert "left watchNamespaces, add it again" in told["message"]
    assert f"sluice leases revoke {uid}/1 -n " in told["message"]
    assert fewer.stop() == 0

    operators("again", watchNamespaces=both)
    cluster.operator_tells("LeasesExplained", "True")
    assert cluster.applications_of(waits) == []
    driver.succeeds("file:/lake/both")
    there.reaches("runs", "Succeeded")
    cluster.start("waits").succeeds("file:/lake/both", 2)
    cluster.reaches("waits", "Succeeded")


def test_a_redis_with_the_leases_of_another_installation_is_not_touched_before_it_is_adopted(
    cluster: Played, operators: StartOperator, redis: RedisProcess, kubeconfig: Path
) -> None:
    with redis.client() as asked:
        asked.set("sluice:{sluice}:installation", "gone/sluice-system/sluice")
        asked.set("sluice:{sluice}:epoch", "7")
        asked.hset("sluice:{sluice}:leases", LOST.holder, f"7 1\nrequest\n{LOST.to_json()}")
    operator = operators(sharedNamespaces=["*"])
    cluster.apply("refused", rewrite("/lake/refused"))

    def is_told() -> bool:
        status = cluster.status("refused")
        told = status.get("message", "")
        named = "gone/sluice-system/sluice" in told and f"/{cluster.namespace}/sluice" in told
        return status.get("reason") == "LeasesUnavailable" and named and "sluice adopt" in told

    eventually(is_told, "the job's status names both", show=lambda: cluster.status("refused"))
    with redis.client() as asked:
        assert asked.hkeys("sluice:{sluice}:leases") == ["lost/1"]
        assert asked.get("sluice:{sluice}:epoch") == "7"

    where = ("--namespace", cluster.namespace)
    adopting = ("adopt", *where, "--redis-url", redis.url)
    told = sluice(kubeconfig, *adopting)
    assert told.returncode == 2
    assert "gone/sluice-system/sluice" in told.stdout
    assert "lost/1 of job etl/lost on file:/lake/refused" in told.stdout
    done = sluice(kubeconfig, *adopting, "--yes")
    assert done.returncode == 0, done.stderr
    operator.says("1 leases are held that nothing explains")
    assert cluster.reaches("refused", "Waiting")["blockedBy"][0]["job"] == "etl/lost"
    revoked = sluice(kubeconfig, "leases", "revoke", "lost/1", "--yes", *where)
    assert revoked.returncode == 0, revoked.stderr
    cluster.start("refused").succeeds("file:/lake/refused")
    cluster.reaches("refused", "Succeeded")
