"""Whichever write of a pause is a leader's last one, the next leader goes on from there: nothing is granted twice, and the stream
pauses once and goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.leases.redis_process import RedisProcess
from integration.operator.conftest import StartOperator
from integration.operator.fatal import FatalWay, Is, Moment, fatal_way
from integration.operator.played import Played, set_property
from integration.operator.process import OperatorProcess, configuration
from integration.operator.test_pausing import grants, started_stream
from integration.waiting import eventually
from sluice.api import names

TABLE = "/lake/killed-at-a-pause"


def _status(job: str, *words: str) -> Is:
    """The status of a job is written, with these words."""

    def is_it(method: str, path: str, body: str) -> bool:
        return method == "PATCH" and f"/{job}/status" in path and all(word in body for word in words)

    return is_it


def _of(method: str, kind: str, job: str, word: str = "") -> Is:
    """Something of a job that has this word."""
    return lambda sent, path, body: (
        sent == method and f"/{kind}" in path and job in path + body and word in body
    )


WRITES = {
    "for whom it pauses": _status("yields", '"Pausing"'),
    "that the driver is to stop": _of("PATCH", "pods", "yields-", names.ANNOTATION_STOP),
    "that it has paused": _status("yields", '"Paused"'),
    "that its pod may go": _of("PATCH", "pods", "yields-", "finalizers"),
    "that the other is granted": _status("sets", '"Starting"'),
    "the other's application": _of("POST", "sparkapplications", "sets-"),
    "that the other has ended": _status("sets", '"Succeeded"'),
    "that it is granted again": _status("yields", '"Starting"', '"attempt":2'),
}

ALWAYS = "that the driver is to stop"
"""Between two leaders lies what the first one's Lease lasts for: the others take long."""


@pytest.fixture(params=list(Moment), ids=lambda moment: moment.name.lower())
def way_of_the_first(
    request: pytest.FixtureRequest, kubeconfig: Path, cluster: Played, redis: RedisProcess, tmp_path: Path
) -> Iterator[tuple[FatalWay, OperatorProcess]]:
    """A leader on its way to the API server."""
    with fatal_way(kubeconfig, tmp_path, request.param) as (way, path):
        first = OperatorProcess(path, configuration([cluster.namespace], redis.url), tmp_path, "first")
        first.start()
        first.says("the lease table was rebuilt")
        yield way, first
        first.kill()


@pytest.mark.parametrize(
    "write", [pytest.param(one, marks=() if one == ALWAYS else pytest.mark.long) for one in WRITES]
)
def test_whichever_write_of_a_pause_is_a_leader_s_last_one_the_next_one_goes_on(
    cluster: Played, operators: StartOperator, way_of_the_first: tuple[FatalWay, OperatorProcess], write: str
) -> None:
    way, first = way_of_the_first
    operators("second")
    driver = started_stream(cluster, "yields", TABLE, **{"yield": "Metadata"})
    way.dies_at(WRITES[write], first.kill)
    uids = {"sets": cluster.apply("sets", set_property(TABLE))}
    driver.is_asked_to_stop()
    driver.stops(2, f"file:{TABLE}", 2)
    change = cluster.start("sets")
    cluster.reaches("sets", "Running")
    change.succeeds(f"file:{TABLE}", 3)
    grants(cluster, "yields", 2)
    again = cluster.start("yields")
    again.has_ended_batches(1, f"file:{TABLE}", 4)
    cluster.reaches("yields", "Running")
    assert way.has_died.is_set()
    stream, other = cluster.job("yields"), cluster.reaches("sets", "Succeeded")
    assert stream is not None
    uids["yields"] = stream["metadata"]["uid"]
    assert [one.get("outcome") for one in stream["status"]["attempts"]] == ["Paused", None]
    assert [one.get("outcome") for one in other["attempts"]] == ["Succeeded"]
    made = {name: len(cluster.applications_of(uid)) for name, uid in uids.items()}
    assert made == {"sets": 1, "yields": 2}
    pod = cluster.pod(again.pod)
    assert pod is not None
    assert names.ANNOTATION_STOP not in pod["metadata"]["annotations"]
    eventually(
        lambda: cluster.holders() == {f"{uids['yields']}/2"},
        "the stream alone holds leases",
        show=cluster.holders,
    )
