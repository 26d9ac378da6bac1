"""An API server that is away, or comes back with an older store: a stack of its own, since nobody else could go on without it."""

import json
import shutil
from pathlib import Path

import pytest
from kubernetes import client

from devenv.stack import Stack
from integration.leases.redis_process import RedisProcess
from integration.operator.played import Played, rewrite
from integration.operator.process import OperatorProcess, sluice
from integration.waiting import eventually


@pytest.mark.parametrize("until", ["cannot renew the Lease", "no longer leading"])
def test_an_api_server_that_is_away_for_a_while_makes_nothing_suspect(
    until: str, cluster: Played, operator: OperatorProcess, own_stack: Stack
) -> None:
    uid = cluster.apply("patient", rewrite("/lake/patient"))
    driver = cluster.start("patient")
    cluster.reaches("patient", "Running")
    cluster.apply("waits", rewrite("/lake/patient"))
    cluster.reaches("waits", "Waiting")
    eventually(lambda: cluster.events_of("waits") == ["Queued"], "an Event tells that it waits")
    waits = cluster.job("waits")
    own_stack.apiserver.kill()
    try:
        operator.says(until)
        eventually(lambda: operator.get("/readyz")[0] == 503, "its watches are down")
        assert operator.get("/healthz")[0] == 200, "to start it anew would help nobody"
    finally:
        own_stack.apiserver.start()
    eventually(lambda: "NotApiServerReachable" in cluster.events_of_the_operator(), "it is told afterwards")
    cluster.operator_tells("ApiServerReachable", "True")
    eventually(lambda: "ApiServerReachable" in cluster.events_of_the_operator(), "and that it is over")
    cluster.apply("behind", rewrite("/lake/patient"))
    cluster.reaches("behind", "Waiting")
    assert cluster.status("patient")["phase"] == "Running"
    assert cluster.job("waits") == waits, "nobody wrote to it"
    assert cluster.events_of("waits") == ["Queued"]
    cluster.delete("waits")
    driver.succeeds("file:/lake/patient")
    cluster.reaches("patient", "Succeeded")
    cluster.start("behind").succeeds("file:/lake/patient", 2)
    cluster.reaches("behind", "Succeeded")
    assert len(cluster.applications_of(uid)) == 1
    # Counted before it is away: each time it is said only once.
    once_more = operator.told().count("cannot renew the Lease") + 1
    own_stack.apiserver.kill()
    try:
        operator.says("cannot renew the Lease", times=once_more)
        assert operator.stop() == 0
    finally:
        own_stack.apiserver.start()
    assert all("exception" not in entry for entry in operator.entries())


class Store:
    """The stack's etcd, of which an earlier state can be put back, as people do after a disaster."""

    def __init__(self, stack: Stack, kept: Path) -> None:
        self._stack = stack
        self._data = stack.folder / "etcd"
        self._kept = kept

    def keep(self) -> None:
        """Copies it between two writes: what a crash would leave there, from which it starts."""
        self._stack.etcd.freeze()
        try:
            shutil.copytree(self._data, self._kept)
        finally:
            self._stack.etcd.thaw()

    def put_back(self) -> None:
        stack = self._stack
        stack.controller_manager.kill()
        stack.apiserver.kill()
        stack.etcd.stop()
        shutil.rmtree(self._data)
        shutil.copytree(self._kept, self._data)
        for service in (stack.etcd, stack.apiserver, stack.controller_manager):
            service.start()


def test_leases_that_a_restored_api_server_does_not_know_of_are_held_until_they_are_revoked(  # noqa: PLR0917 - fixtures
    cluster: Played,
    operator: OperatorProcess,
    redis: RedisProcess,
    own_stack: Stack,
    kubeconfig: Path,
    api: client.ApiClient,
    tmp_path: Path,
) -> None:
    store = Store(own_stack, tmp_path / "etcd")
    before = cluster.apply("before", rewrite("/lake/before"))
    known = cluster.start("before")
    cluster.reaches("before", "Running")
    cluster.apply("over", rewrite("/lake/over"))
    comes_back = cluster.start("over")
    cluster.reaches("over", "Running")
    store.keep()
    beat = _beat(redis)
    comes_back.succeeds("file:/lake/over")
    cluster.reaches("over", "Succeeded")
    eventually(lambda: cluster.holders() == {f"{before}/1"}, "its lease is released")
    uid = cluster.apply("after", rewrite("/lake/after"))
    cluster.start("after")
    cluster.reaches("after", "Running")
    eventually(lambda: _beat(redis) > beat + 2, "the leader's renewals go on")

    store.put_back()
    operator.says("1 leases are held that nothing explains")
    assert cluster.job("after") is None
    ended = cluster.application(comes_back.application)
    assert ended is not None, "it came back, with its finalizer"
    assert "deletionTimestamp" in ended["metadata"]
    assert "deletionTimestamp" in (cluster.pod(comes_back.pod) or {}).get("metadata", {})
    assert "deletionTimestamp" not in (cluster.application(known.application) or {})["metadata"]
    comes_back.container_ends(137)
    told = cluster.reaches("over", "Failed")
    assert told["reason"] == "ApplicationDeleted"
    eventually(lambda: cluster.application(comes_back.application) is None, "the garbage collector is done")
    free = cluster.apply("free", rewrite("/lake/free"))
    rival = cluster.apply("rival", rewrite("/lake/after"))
    status = cluster.reaches("rival", "Waiting")
    assert status["blockedBy"][0]["job"].endswith("/after")
    eventually(lambda: cluster.applications_of(free), "what conflicts with nobody goes on")
    assert cluster.applications_of(rival) == []

    where = ("--namespace", cluster.namespace)
    listed = sluice(kubeconfig, "leases", "list", "-o", "json", *where)
    leases = {one["holder"]: one for one in json.loads(listed.stdout)["leases"]}
    assert leases.keys() == {f"{before}/1", f"{uid}/1", f"{free}/1"}, listed.stderr
    assert (leases[f"{uid}/1"]["state"], leases[f"{before}/1"]["state"]) == ("unexplained", "running")
    cluster.operator_tells("LeasesExplained", "False")
    shown = sluice(kubeconfig, "status", "-o", "text", *where)
    assert shown.returncode == 1, shown.stderr
    command = f"sluice leases revoke {uid}/1 -n {cluster.namespace} --yes"
    assert leases[f"{uid}/1"]["revoke"] == command
    assert f"{command} (job {cluster.namespace}/after on file:/lake/after)" in shown.stdout
    refused = sluice(kubeconfig, "leases", "revoke", f"{before}/1", "--yes", *where)
    assert refused.returncode == 4
    assert "is explained" in refused.stderr
    revoked = sluice(kubeconfig, "leases", "revoke", f"{uid}/1", "--yes", *where)
    assert revoked.returncode == 0, revoked.stderr
    assert f"lease {uid}/1 of job {cluster.namespace}/after on file:/lake/after was revoked" in revoked.stdout
    events = client.CoreV1Api(api).list_namespaced_event(
        cluster.namespace, field_selector="involvedObject.kind=Lease"
    )
    cluster.operator_tells("LeasesExplained", "True")
    assert "LeaseRevoked" in [event.reason for event in events.items]

    cluster.start("rival").succeeds("file:/lake/after")
    cluster.reaches("rival", "Succeeded")
    known.succeeds("file:/lake/before")
    cluster.reaches("before", "Succeeded")
    eventually(lambda: cluster.holders() == {f"{free}/1"}, "no other lease is left", show=cluster.holders)
    assert operator.running


def _beat(redis: RedisProcess) -> int:
    with redis.client() as asked:
        return int(asked.get("sluice:{sluice}:beat") or 0)
