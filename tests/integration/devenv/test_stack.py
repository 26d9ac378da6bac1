"""The local stack does what tests of the operator rest on."""

from collections.abc import Callable
from subprocess import CompletedProcess

from redis import Redis

from devenv.processes import wait_until
from devenv.stack import Stack

Kubectl = Callable[..., CompletedProcess[str]]

OWNED = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: owned
  ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}}}]
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: driver}
spec: {containers: [{name: spark-kubernetes-driver, image: none}]}
"""


def test_what_an_owner_leaves_is_collected(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "configmap", "owner", "-n", namespace)
    uid = kubectl("get", "configmap", "owner", "-n", namespace, "-o", "jsonpath={.metadata.uid}").stdout
    assert kubectl("apply", "-n", namespace, "-f", "-", stdin=OWNED.format(uid=uid)).returncode == 0
    kubectl("delete", "configmap", "owner", "-n", namespace)
    assert wait_until(lambda: kubectl("get", "configmap", "owned", "-n", namespace).returncode != 0, 120)


def test_a_pod_can_be_created_and_nobody_schedules_it(kubectl: Kubectl, namespace: str) -> None:
    created = kubectl("apply", "-n", namespace, "-f", "-", stdin=POD)
    assert created.returncode == 0, created.stderr
    shown = kubectl(
        "get", "pod", "driver", "-n", namespace, "-o", "jsonpath={.status.phase}/{.spec.nodeName}"
    )
    assert shown.stdout == "Pending/"


def test_redis_never_evicts_and_starts_empty(redis_url: str) -> None:
    with Redis.from_url(redis_url, decode_responses=True) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.dbsize() == 0


def test_a_killed_redis_comes_back_as_another_run(stack: Stack, redis_url: str) -> None:
    with Redis.from_url(redis_url, decode_responses=True) as client:
        first = client.info("server")["run_id"]
        client.set("kept", "no")
        stack.redis.kill()
        assert not stack.redis.alive
        stack.redis.start()
        assert client.info("server")["run_id"] != first
        assert client.get("kept") is None


def test_the_api_server_keeps_its_objects_over_a_restart(
    stack: Stack, kubectl: Kubectl, namespace: str
) -> None:
    kubectl("create", "configmap", "survivor", "-n", namespace)
    stack.apiserver.kill()
    try:
        assert kubectl("get", "configmap", "survivor", "-n", namespace).returncode != 0
    finally:
        stack.apiserver.start()
    assert kubectl("get", "configmap", "survivor", "-n", namespace).returncode == 0


def test_service_accounts_get_tokens_that_the_api_server_takes(kubectl: Kubectl, namespace: str) -> None:
    issued = kubectl("create", "token", "default", "-n", namespace)
    assert issued.returncode == 0, issued.stderr
    # The kubeconfig's own user would be the administrator, so the token is the only one that is named.
    who = kubectl(
        "--token", issued.stdout.strip(), "--user", "", "auth", "whoami", "-o", "jsonpath={.status.userInfo}"
    )
    assert f"system:serviceaccount:{namespace}:default" in who.stdout, who.stderr
