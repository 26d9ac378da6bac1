"""`sluice doctor` on a real API server: what it finds well, what it finds wrong, and that what it advises mends it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from redis import Redis

from integration.conftest import Kubectl
from integration.leases.redis_process import RedisProcess
from integration.operator.accounts import account_with, rules_of
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, rewrite
from integration.operator.process import LINKING, OperatorProcess, configuration, sluice
from integration.waiting import eventually
from sluice.api import names
from sluice.api.conditions import ConditionStatus
from sluice.api.operator_status import OperatorCondition, OperatorConditionType, written
from sluice.installations import quarantined_tables
from sluice.installations.quarantined_tables import QuarantinedTable
from sluice.kube.rights import rights_of

SAFE_ON_S3 = {"spark.delta.logStore.s3.impl": "io.delta.storage.S3DynamoDBLogStore"}
SAFE_ON_S3 |= {
    f"spark.delta.logStore.{scheme}.impl": SAFE_ON_S3["spark.delta.logStore.s3.impl"]
    for scheme in ("s3a", "s3n")
}


def _config(cluster: Played) -> dict[str, Any]:
    profile = {
        "image": "example/sluice-spark:1",
        "sparkVersion": "4.2.0",
        "deltaVersion": "4.4.0",
        "serviceAccount": "spark",
        "sparkConf": LINKING | SAFE_ON_S3,
    }
    return configuration([cluster.namespace], cluster.redis_url) | {"runtimes": {"default": profile}}


def _install_config(cluster: Played, config: dict[str, Any], release: str = "sluice") -> None:
    cluster.objects.create(
        "configmap",
        {
            "metadata": {"name": release, "labels": {"app.kubernetes.io/name": "sluice"}},
            "data": {"sluice.yaml": yaml.safe_dump(config)},
        },
    )


def _examined(kubeconfig: Path, cluster: Played, *more: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
    done = sluice(kubeconfig, "doctor", "-n", cluster.namespace, "-o", "json", *more)
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, list[dict[str, str]]] = {}
    for one in json.loads(done.stdout)["checks"]:
        found.setdefault(one["level"], []).append(one)
    return done.returncode, found


def test_what_somebody_wrote_into_a_lease_or_a_job_is_shown_and_ends_no_command(
    cluster: Played, kubeconfig: Path
) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\x1b[31mRED\r\x9b0m\u202eREV"
    cluster.apply("lost", rewrite("/lake/lost"))
    cluster.write_status("lost", {"phase": "Ending", "reason": "DriverLost", "message": hostile})
    condition = OperatorCondition(
        type=OperatorConditionType.LEASE_TABLE_USABLE,
        status=ConditionStatus.FALSE,
        last_transition_time=datetime.now(UTC),
        reason="RedisFails",
        message=hostile,
    )
    annotations = {names.ANNOTATION_EPOCH: "9" * 5_000, names.ANNOTATION_CONDITIONS: written([condition])}
    cluster.objects.create(
        "lease",
        {
            "metadata": {"name": names.leader_lease(names.DEPLOYMENT), "annotations": annotations},
            "spec": {"holderIdentity": hostile, "renewTime": "2026-11-24T00:00:00.000000Z"},
        },
    )
    config = _config(cluster)
    _install_config(cluster, config | {"namespace": hostile})
    at = ("-n", cluster.namespace, "-o", "text")
    for command in ("status", "doctor"):
        done = sluice(kubeconfig, command, *at)
        said = done.stdout + done.stderr
        assert done.returncode == 1, said
        assert "Traceback" not in said
        assert r"\x1b[2J" in said
        assert not {"\x1b", "\x07", "\r", "\x9b", "\u202e"} & {*said}


def test_an_installation_is_examined_and_what_is_advised_mends_it(
    cluster: Played, operators: StartOperator, kubeconfig: Path, kubectl: Kubectl, tmp_path: Path
) -> None:
    config = _config(cluster)
    _install_config(cluster, config)
    operator = operators(**config)
    operator.says("the lease table was rebuilt")
    cluster.operator_tells("RightsGranted", "True")
    rules = rules_of(rights_of(names.DEPLOYMENT), cluster.namespace, (cluster.namespace,))
    with account_with(kubeconfig, cluster.namespace, "op", rules):
        asked = ("--service-account", "op", "--redis-url", cluster.redis_url)
        code, found = _examined(kubeconfig, cluster, *asked)
        assert code == 1
        [missing] = found["fail"]
        assert (missing["check"], missing["subject"]) == ("service account", f"{cluster.namespace}:spark")
        done = kubectl.typed(missing["cure"], tmp_path)
        assert done.returncode == 0, done.stderr
        code, found = _examined(kubeconfig, cluster, *asked)
        assert (code, found.get("fail", [])) == (0, [])
        warned = {(one["check"], one["subject"]) for one in found["warn"]}
        assert warned == {("condition", "FormerLeadersFenced"), ("admission policy", "")}
        checks = {one["check"] for one in found["ok"]}
        assert checks == {
            "condition",
            "configuration",
            "definitions",
            "installations",
            "kubernetes",
            "log store",
            "operator",
            "policy",
            "redis",
            "rights",
            "service account",
            "table",
            "spark operator",
        }
    with account_with(
        kubeconfig,
        cluster.namespace,
        "fewer",
        {place: [rule for rule in some if "watch" not in rule["verbs"]] for place, some in rules.items()},
    ):
        code, found = _examined(kubeconfig, cluster, "--service-account", "fewer")
        said = [one["message"] for one in found["fail"]]
        assert (
            f"may not watch pods in namespace {cluster.namespace}, which is needed to follow the drivers"
            in said[-1]
        )
    text = sluice(kubeconfig, "doctor", "-n", cluster.namespace)
    assert text.returncode == 0, text.stdout
    assert "ok   kubernetes: version 1." in text.stdout
    assert f"warn rights: there is no Deployment {cluster.namespace}/sluice" in text.stdout
    assert "     -> name it by --service-account" in text.stdout


def test_of_two_installations_in_one_namespace_the_one_that_is_named_is_examined(
    cluster: Played, kubeconfig: Path, kubectl: Kubectl
) -> None:
    for release in ("alpha", "sluice"):
        _install_config(cluster, _config(cluster) | {"deployment": release}, release)
        done = kubectl("apply", "-f", "-", stdin=yaml.safe_dump(_deployment(cluster, release)))
        assert done.returncode == 0, done.stderr
    for release in ("alpha", "sluice"):
        _code, found = _examined(kubeconfig, cluster, "--deployment", release)
        rights = {one["subject"] for one in found["fail"] if one["check"] == "rights"}
        assert rights == {f"{cluster.namespace}:account-of-{release}"}
        [read] = [one for one in found["ok"] if one["check"] == "configuration"]
        assert read["subject"] == f"{cluster.namespace}/{release}"
    which = sluice(kubeconfig, "doctor", "-n", cluster.namespace)
    assert which.returncode == 4
    assert "alpha, sluice" in which.stderr
    assert "--deployment" in which.stderr


def _deployment(cluster: Played, release: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": "sluice", "app.kubernetes.io/instance": release}
    pod = {
        "serviceAccountName": f"account-of-{release}",
        "containers": [{"name": "operator", "image": "never-pulled"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": release, "namespace": cluster.namespace, "labels": labels},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def test_a_configuration_that_is_wrong_is_told_unless_another_installation_is_named(
    cluster: Played, kubeconfig: Path
) -> None:
    _install_config(cluster, _config(cluster) | {"deployment": "alpha", "watchNamespace": "etl"}, "alpha")
    _install_config(cluster, _config(cluster))
    _code, found = _examined(kubeconfig, cluster, "--deployment", "sluice")
    assert not [one for one in found["fail"] if one["check"] == "configuration"]
    _code, found = _examined(kubeconfig, cluster, "--deployment", "alpha")
    [wrong] = [one for one in found["fail"] if one["check"] == "configuration"]
    assert "watchNamespace" in wrong["message"]


def test_a_profile_in_which_no_job_could_run_is_told_with_its_setting(
    cluster: Played, kubeconfig: Path
) -> None:
    config = _config(cluster)
    config["runtimes"]["default"]["sparkConf"] |= {"spark.kubernetes.driver.pod.name": "x"}
    _install_config(cluster, config)
    code, found = _examined(kubeconfig, cluster)
    [wrong] = [one for one in found["fail"] if one["check"] == "configuration"]
    assert code == 1
    assert (
        "runtimes.default.sparkConf.spark.kubernetes.driver.pod.name: Sluice proves the end"
        in wrong["message"]
    )


@pytest.mark.parametrize("leader", ["", "gone"])
def test_what_a_leader_told_that_is_gone_is_not_well(cluster: Played, kubeconfig: Path, leader: str) -> None:
    wrong = OperatorCondition(
        type=OperatorConditionType.LEASE_TABLE_USABLE,
        status=ConditionStatus.FALSE,
        reason="NoAnswer",
        message="Redis does not answer",
        last_transition_time=datetime(2026, 1, 1, tzinfo=UTC),
    )
    well = wrong.model_copy(
        update={"type": OperatorConditionType.RIGHTS_GRANTED, "status": ConditionStatus.TRUE}
    )
    large = QuarantinedTable(
        "s3://lake/large", "facts", "memory", "needed more than 192 MiB", well.last_transition_time
    )
    metadata = {
        "name": names.leader_lease("sluice"),
        "annotations": {
            names.ANNOTATION_CONDITIONS: written((wrong, well)),
            names.ANNOTATION_QUARANTINE: quarantined_tables.written([large]),
        },
    }
    renewed = "2026-01-01T00:00:00.000000Z"
    cluster.objects.create(
        "lease", {"metadata": metadata, "spec": {"holderIdentity": leader, "renewTime": renewed}}
    )
    code, found = _examined(kubeconfig, cluster)
    assert code == 1
    assert [one["check"] for one in found["fail"]] == ["operator"]
    [told] = [one for level in found.values() for one in level if one["check"] == "condition"]
    assert told["level"] == "warn"
    assert told["subject"] == "LeaseTableUsable"
    assert told["message"] == "the last leader said NoAnswer: Redis does not answer"
    [told] = [one for level in found.values() for one in level if one["check"] == "quarantine"]
    assert (told["level"], told["subject"]) == ("warn", "s3://lake/large")
    assert (
        told["message"] == "its log has ended two readers by 00:00:00Z: the last one needed more than 192 MiB"
    )
    assert told["cure"].endswith("sluice-leader sluice.dev/quarantined-tables-")


def test_the_password_of_the_environment_counts_where_the_url_has_none(
    cluster: Played, redis: RedisProcess, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Redis.from_url(redis.url).config_set("requirepass", "p@ss/word")
    monkeypatch.setenv("SLUICE_REDIS_URL", redis.url)
    monkeypatch.setenv("SLUICE_REDIS_PASSWORD", "p@ss/word")
    _code, found = _examined(kubeconfig, cluster)
    assert not [one for one in found["fail"] if one["check"] == "redis"]
    cluster.objects.create("lease", {"metadata": {"name": names.leader_lease("sluice")}, "spec": {}})
    for command in (("leases", "list"), ("adopt",)):
        done = sluice(kubeconfig, *command, "-n", cluster.namespace, "-o", "json")
        assert done.returncode == 0, done.stderr


def test_a_redis_url_that_cannot_be_read_is_told_beside_all_else_without_a_word_of_it(
    cluster: Played, kubeconfig: Path
) -> None:
    code, found = _examined(kubeconfig, cluster, "--redis-url", "redis://:sup3r/Half@h:6379/0")
    assert code == 1
    [redis] = [one for one in found["fail"] if one["check"] == "redis"]
    assert "cannot be read as redis://" in redis["message"]
    assert "sup3r" not in json.dumps(found)
    assert found["ok"]


def test_a_redis_is_told_by_whether_it_can_keep_leases(
    cluster: Played, redis: RedisProcess, kubeconfig: Path
) -> None:
    def redis_found(level: str) -> list[str]:
        found = _examined(kubeconfig, cluster, "--redis-url", redis.url)[1]
        assert {one["subject"] for one in found[level] if one["check"] == "redis"} <= {
            f"127.0.0.1:{redis.port}/0"
        }
        return [one["message"] for one in found[level] if one["check"] == "redis"]

    with redis.client() as client:
        [told] = redis_found("ok")
        version = client.info("server")["redis_version"]
        assert told == f"it answers, and can keep leases: version {version}, noeviction"
        client.config_set("maxmemory-policy", "allkeys-lru")
        [told] = redis_found("fail")
        assert "maxmemory-policy is allkeys-lru: set it to noeviction" in told
        client.config_set("maxmemory-policy", "noeviction")
        client.execute_command("REPLICAOF", "127.0.0.1", "1")
        [told] = redis_found("fail")
        assert "it is a replica of 127.0.0.1:1" in told


def test_what_is_not_there_or_wrong_fails_with_what_to_do(cluster: Played, kubeconfig: Path) -> None:
    code, found = _examined(kubeconfig, cluster, "--redis-url", "redis://127.0.0.1:1/0")
    assert code == 1
    failed = {one["check"]: one for one in found["fail"]}
    assert set(failed) == {"operator", "redis"}
    assert "no operator of that name has led yet" in failed["operator"]["message"]
    assert "kubectl get pods" in failed["operator"]["cure"]
    assert "127.0.0.1:1" in failed["redis"]["message"]
    warned = {one["check"] for one in found["warn"]}
    assert warned == {"admission policy", "configuration", "installations", "rights", "runtimes"}
    _install_config(cluster, _config(cluster) | {"watchNamespace": "etl"})
    code, found = _examined(kubeconfig, cluster)
    assert "watchNamespace" in next(
        one["message"] for one in found["fail"] if one["check"] == "configuration"
    )


@pytest.mark.parametrize("is_installed", [False, True])
def test_whoever_may_not_look_is_told_so_by_each_check_and_at_the_end(
    cluster: Played, kubeconfig: Path, tmp_path: Path, *, is_installed: bool
) -> None:
    if is_installed:
        _install_config(cluster, _config(cluster))
    with account_with(kubeconfig, cluster.namespace, "nobody", {}) as nobody:
        file = tmp_path / "nobody"
        file.write_text(yaml.safe_dump(nobody), encoding="utf-8")
        done = sluice(file, "doctor", "-n", cluster.namespace, "-o", "json")
    assert done.returncode == 4, done.stdout
    answer = json.loads(done.stdout)
    assert answer["well"] is False
    warned = [one for one in answer["checks"] if one["level"] == "warn"]
    assert {one["check"] for one in warned} >= {"operator", "rights", "installations", "configuration"}
    assert all("cannot" in one["message"] for one in warned if one["check"] == "operator")
    assert done.stderr.count("\n") == 1
    assert f"how the installation sluice in {cluster.namespace} is could not be seen" in done.stderr
    assert "forbidden" in done.stderr


def test_whoever_sees_the_lease_alone_is_told_what_it_says(
    cluster: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    renewed = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": "pod", "renewTime": renewed}
    cluster.objects.create("lease", {"metadata": {"name": names.leader_lease("sluice")}, "spec": spec})
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}
    with account_with(kubeconfig, cluster.namespace, "onlooker", {cluster.namespace: [rule]}) as onlooker:
        file = tmp_path / "onlooker"
        file.write_text(yaml.safe_dump(onlooker), encoding="utf-8")
        code, found = _examined(file, cluster)
    assert code == 0
    assert "operator" in {one["check"] for one in found["ok"]}
    assert {one["check"] for one in found["warn"]} >= {"rights", "installations", "configuration"}


@pytest.mark.parametrize("command", ["doctor", "status"])
def test_a_token_that_the_cluster_does_not_know_is_one_sentence(
    cluster: Played, kubeconfig: Path, tmp_path: Path, command: str
) -> None:
    content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    content["users"][0]["user"] = {"token": "wrong"}
    file = tmp_path / "wrong"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    done = sluice(file, command, "-n", cluster.namespace)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.count("\n") == 1
    assert "does not know who asks (Unauthorized)" in done.stderr
    assert "log in again" in done.stderr


def test_an_installation_that_is_refused_beside_another_is_told_whose_namespaces_they_are(
    cluster: Played, operator: OperatorProcess, kubeconfig: Path
) -> None:
    operator.says("leading as")
    config = _config(cluster) | {"deployment": "second"}
    _install_config(cluster, config)
    code, found = _examined(kubeconfig, cluster)
    [other] = [one for one in found["fail"] if one["check"] == "installations"]
    assert code == 1
    assert other["subject"] == f"{cluster.namespace}.sluice"
    assert f"both run the jobs of namespace {cluster.namespace}" in other["message"]
    assert "delete its Lease" in other["cure"]


def test_a_password_that_redis_refuses_is_one_sentence_and_over_once_it_is_right(
    cluster: Played, operators: StartOperator, redis: RedisProcess, kubeconfig: Path
) -> None:
    Redis.from_url(redis.url).config_set("requirepass", "right")
    operator = operators(redisUrl=redis.url.replace("redis://", "redis://:wrong@"))
    operator.says("leading as")
    told = cluster.operator_tells("LeaseTableUsable", "False")
    assert told["reason"] == "RedisRefusesLogin"
    assert (
        f"Redis at 127.0.0.1:{redis.port}/0 refuses the default user with the password of its URL"
        in told["message"]
    )
    assert "wrong@" not in operator.told()
    eventually(lambda: operator.get("/readyz")[0] == 503, "it is not ready")
    cluster.apply("patient", rewrite("/lake/patient"))
    eventually(lambda: cluster.status("patient").get("reason") == "LeasesUnavailable", "its job says so")
    _code, found = _examined(kubeconfig, cluster, "--redis-url", redis.url)
    assert any(one["check"] == "redis" and "password" in one["message"] for one in found["fail"])
    Redis.from_url(redis.url, password="right").config_set("requirepass", "wrong")
    cluster.operator_tells("LeaseTableUsable", "True")
    eventually(lambda: operator.get("/readyz")[0] == 200, "it is ready")
    cluster.start("patient").succeeds("file:/lake/patient")
    cluster.reaches("patient", "Succeeded")


@pytest.mark.parametrize("account", ["absent", "default"])
def test_a_driver_without_its_service_account_is_told_with_the_commands_that_make_it(
    shared: Played, account: str
) -> None:
    name = f"as-{account}"
    uid = shared.apply(name, rewrite(f"/lake/{name}", runtime={"serviceAccount": account}))
    application = eventually(lambda: shared.applications_of(uid), "the application")[0]["metadata"]["name"]
    shared.application_is(application, "FAILED", "failed to run spark-submit")
    status = shared.reaches(name, "Failed")
    assert status["reason"] == "DriverNotStarted"
    assert "failed to run spark-submit" in status["message"]
    advised = f"kubectl create serviceaccount {account} -n {shared.namespace}" in status["message"]
    assert advised is (account == "absent")
