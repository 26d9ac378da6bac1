"""`sluice leases list` beside a running operator: what objects tell, what Redis tells, and what is said where one is away."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.leases.redis_process import RedisProcess
from integration.operator.accounts import account_with
from integration.operator.played import Played, append, rewrite
from integration.operator.process import OperatorProcess, sluice
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

LEASES = "sluice:{sluice}:leases"


def listed(kubeconfig: Path, cluster: Played, *more: str, code: int = 0) -> tuple[dict[str, Json], list[str]]:
    """Returns the leases by their jobs' names, and what was not shown."""
    done = sluice(kubeconfig, "leases", "list", "-n", cluster.namespace, "-o", "json", *more)
    assert done.returncode == code, done.stderr
    answer = json.loads(done.stdout)
    return {one["job"].rpartition("/")[2]: one for one in answer["leases"]}, answer["notShown"]


@pytest.fixture
def busy(cluster: Played, operator: OperatorProcess) -> Played:
    """One job that runs, one whose driver is on its way, one whose driver is lost, one that waits, and one that is over."""
    cluster.apply("running", rewrite("/lake/running"))
    cluster.apply("lost", append("/lake/lost"))
    cluster.apply("over", append("/lake/over"))
    cluster.start("over").succeeds("file:/lake/over")
    cluster.start("lost").vanishes()
    cluster.start("running")
    cluster.apply("starting", append("/lake/starting"))
    cluster.apply("waiting", rewrite("/lake/running"))
    cluster.submitted("starting")
    cluster.reaches("over", "Succeeded")
    cluster.reaches("lost", "Ending")
    cluster.reaches("running", "Running")
    cluster.reaches("starting", "Starting")
    cluster.reaches("waiting", "Waiting")
    eventually(lambda: len(cluster.holders()) == 3, "three hold leases", show=cluster.holders)
    assert operator.running
    return cluster


def test_all_leases_are_listed_with_and_without_redis(busy: Played, kubeconfig: Path) -> None:
    alone, not_shown = listed(kubeconfig, busy)
    assert {name: one["state"] for name, one in alone.items()} == {
        "running": "running",
        "lost": "lost",
        "starting": "starting",
    }
    assert not_shown == ["what Redis holds: say where it is, by --redis-url or --config"]
    both, nothing = listed(kubeconfig, busy, "--redis-url", busy.redis_url)
    assert nothing == []
    for name, one in both.items():
        [attempt] = busy.status(name)["attempts"]
        assert alone[name] | {"message": ""} == one | {
            "inRedis": None,
            "message": "",
        }  # messages go on meanwhile
        assert (one["token"], one["attempt"]) == (attempt["token"], 1)
        assert one["since"].startswith(attempt["grantedAt"].rstrip("Z")[:19])
        assert (one["inKubernetes"], one["inRedis"], one["differences"]) == (True, True, [])
    [table] = both["running"]["tables"]
    assert table["table"] == "file:/lake/running"
    assert [one["operation"] for one in table["statements"]] == ["Delete"]
    assert both["running"]["lastSeen"] is not None
    assert both["lost"]["message"] == busy.status("lost")["message"]


def test_people_read_it_with_what_to_do_and_without_naming_the_command(
    busy: Played, kubeconfig: Path
) -> None:
    done = sluice(kubeconfig, "leases", "-n", busy.namespace, "--redis-url", busy.redis_url)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 leases: " in done.stdout
    assert f"! {busy.namespace}/lost: the driver's pod is gone, and its end was not seen" in done.stdout
    assert f"{names.ANNOTATION_DRIVER_DEAD}=" in done.stdout


def test_where_the_cluster_and_redis_differ_both_are_told(
    busy: Played, redis: RedisProcess, kubeconfig: Path
) -> None:
    before, _ = listed(kubeconfig, busy, "--redis-url", busy.redis_url)
    with redis.client() as asked:
        asked.hdel(LEASES, before["running"]["holder"])
        asked.hset(LEASES, before["starting"]["holder"], "nonsense")
        asked.hset(LEASES, "nobody/1", "nonsense")
    found, _ = listed(kubeconfig, busy, "--redis-url", busy.redis_url)
    assert (found["running"]["state"], found["running"]["inRedis"]) == ("running", False)
    assert found["running"]["differences"][0].startswith("Redis does not hold it")
    assert "cannot be read" in found["starting"]["differences"][0]
    assert (found["?"]["holder"], found["?"]["state"]) == ("nobody/1", "unreadable")
    assert found["lost"]["differences"] == []


def test_a_redis_that_is_away_hides_nothing_of_the_cluster(busy: Played, kubeconfig: Path) -> None:
    found, [why] = listed(kubeconfig, busy, "--redis-url", "redis://127.0.0.1:1/0", code=3)
    assert found.keys() == {"running", "lost", "starting"}
    assert why.startswith("what Redis holds: Redis at 127.0.0.1:1/0 could not be asked")


def test_who_may_not_list_drivers_is_shown_what_the_statuses_say(
    busy: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    rules: list[dict[str, Any]] = [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
        {"apiGroups": [names.GROUP], "resources": [names.JOB_PLURAL], "verbs": ["list"]},
    ]
    config = tmp_path / "sluice.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "namespace": busy.namespace,
                "watchNamespaces": [busy.namespace],
                "runtimes": {"default": {"sparkVersion": "4.2.0"}},
            }
        ),
        encoding="utf-8",
    )
    with account_with(kubeconfig, busy.namespace, "reader", {busy.namespace: rules}) as reader:
        file = tmp_path / "reader"
        file.write_text(yaml.safe_dump(reader), encoding="utf-8")
        found, not_shown = listed(file, busy, "--config", str(config), "--redis-url", busy.redis_url)
    assert {name: one["state"] for name, one in found.items()} == {
        "running": "running",
        "lost": "lost",
        "starting": "starting",
    }
    assert [said.split(":")[0] for said in not_shown] == ["what sparkapplications tell", "what pods tell"]
    assert all("forbidden" in said for said in not_shown)


def test_another_installations_leases_are_not_its_own(busy: Played, shared: Played, kubeconfig: Path) -> None:
    """Which namespaces it watches it has claimed."""
    shared.apply("of-another", append("/lake/of-another"))
    shared.start("of-another")
    shared.reaches("of-another", "Running")
    found, _ = listed(kubeconfig, busy, "--redis-url", busy.redis_url)
    assert found.keys() == {"running", "lost", "starting"}
