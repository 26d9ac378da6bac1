"""Several installations in one cluster: they act on different jobs and keep their leases apart, or don't start."""

import json
from typing import Any

from kubernetes import client

from integration.leases.redis_process import RedisProcess
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, append
from integration.operator.process import OperatorProcess
from integration.waiting import PATIENCE, eventually


def ended(operator: OperatorProcess) -> tuple[int, str]:
    assert operator.process is not None
    return operator.process.wait(PATIENCE), operator.told()


def claims(api: client.ApiClient) -> dict[str, Any]:
    found = client.CoreV1Api(api).read_namespaced_config_map("sluice-installations", "kube-system")
    return {key: json.loads(text) for key, text in found.data.items()}


def test_an_installation_that_watches_what_another_watches_ends_with_a_sentence(
    cluster: Played, operator: OperatorProcess, operators: StartOperator, namespace: str, redis: RedisProcess
) -> None:
    second = operators("second", deployment="second")
    code, told = ended(second)
    assert code == 2, told
    assert f"/{namespace}/second doesn't start beside" in told
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


def test_a_redis_with_the_leases_of_another_installation_is_not_touched(
    cluster: Played, operators: StartOperator, redis: RedisProcess
) -> None:
    with redis.client() as asked:
        asked.set("sluice:{sluice}:installation", "gone/sluice-system/sluice")
        asked.set("sluice:{sluice}:epoch", "7")
        asked.hset("sluice:{sluice}:leases", "u/1", "7 1\nh\n{}")
    operators()
    cluster.apply("refused", append("/lake/refused"))

    def is_told() -> bool:
        status = cluster.status("refused")
        told = status.get("message", "")
        named = "gone/sluice-system/sluice" in told and f"/{cluster.namespace}/sluice" in told
        return status.get("reason") == "LeasesUnavailable" and named and "sluice adopt" in told

    eventually(is_told, "the job's status names both", show=lambda: cluster.status("refused"))
    with redis.client() as asked:
        assert asked.hkeys("sluice:{sluice}:leases") == ["u/1"]
        assert asked.get("sluice:{sluice}:epoch") == "7"
