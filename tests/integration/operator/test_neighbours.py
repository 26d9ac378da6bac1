"""Jobs of two namespaces that write one table: each learns of the other what its namespace may know."""

import json
import uuid
from typing import Any

import pytest
from kubernetes import client

from integration.leases.redis_process import RedisProcess
from integration.objects import Objects
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, lost_a_race, rewrite
from integration.waiting import eventually

SECRET = "acquisition-of-acme"


@pytest.fixture
def other(api: client.ApiClient, cluster: Played, redis: RedisProcess) -> Played:
    objects = Objects(cluster.objects.server, f"other-{uuid.uuid4().hex[:10]}")
    objects.create_namespace()
    return Played(api, objects, redis.url)


def test_a_job_in_another_namespace_is_not_named_in_status_or_events(
    cluster: Played, other: Played, operators: StartOperator
) -> None:
    operators(watchNamespaces=[cluster.namespace, other.namespace])
    uid = other.apply(SECRET, rewrite("/lake/both"))
    driver = other.start(SECRET)
    other.reaches(SECRET, "Running")
    cluster.apply("waits", rewrite("/lake/both"))
    status = cluster.reaches("waits", "Waiting")
    (blocker,) = status["blockedBy"]
    assert blocker["job"] == "a job in another namespace"
    assert "uid" not in blocker
    assert "waits for a job in another namespace, which runs on file:/lake/both" in status["message"]
    eventually(lambda: cluster.events_of("waits"), "an Event tells that it waits")
    driver.succeeds("file:/lake/both")
    other.reaches(SECRET, "Succeeded")
    won: dict[str, Any] = {
        "version": 5,
        "operation": "MERGE",
        "stamp": {"sluice": {"job": f"{other.namespace}/{SECRET}"}},
    }
    result = json.loads(lost_a_race())
    quoted = json.dumps({"userMetadata": json.dumps(won["stamp"] | {"uid": uid})})
    result["exception"] |= {
        "conflictingCommit": won,
        "message": f"Files were added\nConflicting commit: {quoted}",
    }
    cluster.start("waits").ends(1, json.dumps(result))
    ended = cluster.reaches("waits", "Failed")
    assert ended["attempts"][0]["exception"]["conflictingCommit"]["job"] == "a job in another namespace"
    assert "version 5 (MERGE) of a job in another namespace was committed first" in ended["message"]
    eventually(lambda: len(cluster.events_of("waits")) >= 3, "Events tell how it ended")
    told = json.dumps([cluster.job("waits"), cluster.objects.every("event")])
    for secret in (SECRET, other.namespace, uid):
        assert secret not in told


def test_where_both_namespaces_are_shared_jobs_are_named_to_one_another(
    cluster: Played, other: Played, operators: StartOperator
) -> None:
    both = [cluster.namespace, other.namespace]
    operators(watchNamespaces=both, sharedNamespaces=both)
    uid = other.apply("runs", rewrite("/lake/both"))
    other.start("runs")
    other.reaches("runs", "Running")
    cluster.apply("waits", rewrite("/lake/both"))
    (blocker,) = cluster.reaches("waits", "Waiting")["blockedBy"]
    assert (blocker["job"], blocker["uid"]) == (f"{other.namespace}/runs", uid)
