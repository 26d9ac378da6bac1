"""An API server that is away: a stack of its own, since nobody else could go on without it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes import client, config

from devenv.stack import Stack
from integration.operator.played import Played, rewrite
from integration.operator.process import OperatorProcess
from integration.waiting import eventually


@pytest.fixture(scope="module")
def kubeconfig(own_stack: Stack) -> Path:
    return own_stack.kubeconfig


@pytest.fixture(scope="module")
def api(kubeconfig: Path) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(kubeconfig)) as connection:
        yield connection


def test_an_api_server_that_is_away_for_a_while_makes_nothing_suspect(
    cluster: Played, operator: OperatorProcess, own_stack: Stack
) -> None:
    uid = cluster.apply("patient", rewrite("/lake/patient"))
    driver = cluster.start("patient")
    cluster.reaches("patient", "Running")
    cluster.apply("waits", rewrite("/lake/patient"))
    cluster.reaches("waits", "Waiting")
    eventually(lambda: cluster.events_of("waits") == ["Blocked"], "an Event tells that it waits")
    waits = cluster.job("waits")
    own_stack.apiserver.kill()
    try:
        operator.says("cannot renew the Lease")
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
    assert cluster.events_of("waits") == ["Blocked"]
    cluster.delete("waits")
    driver.succeeds("file:/lake/patient")
    cluster.reaches("patient", "Succeeded")
    cluster.start("behind").succeeds("file:/lake/patient", 2)
    cluster.reaches("behind", "Succeeded")
    assert len(cluster.applications_of(uid)) == 1
    own_stack.apiserver.kill()
    try:
        operator.says("cannot renew the Lease", times=operator.told().count("cannot renew the Lease") + 1)
        assert operator.stop() == 0
    finally:
        own_stack.apiserver.start()
    assert all("exception" not in entry for entry in operator.entries())
