"""What a leader tells Prometheus of jobs that wait, run, lose and end."""

import re

from integration.operator.conftest import StartOperator
from integration.operator.played import Played, lost_a_race, rewrite
from integration.operator.process import OperatorProcess
from integration.waiting import eventually

RUNNING = 'sluice_leases{kind="partition",state="running"}'
AVOIDED = re.compile(r"^sluice_conflicts_avoided_total\{.*\} ([0-9.]+)$", re.MULTILINE)


def _sum(operator: OperatorProcess, series: re.Pattern[str]) -> float:
    return sum(map(float, series.findall(operator.get("/metrics")[1])))


def test_a_wait_a_lost_race_and_what_they_cost_are_counted_once(
    cluster: Played, operators: StartOperator
) -> None:
    leader = operators("leader")
    leader.says("the lease table was rebuilt")
    cluster.apply("first", rewrite("/lake/measured"))
    first = cluster.start("first")
    cluster.apply("second", rewrite("/lake/measured"))
    cluster.reaches("second", "Waiting")
    eventually(lambda: leader.metric(RUNNING) == 1, "the lease of the first job is counted as running")
    assert _sum(leader, AVOIDED) == 1
    eventually(
        lambda: (leader.metric("sluice_longest_wait_seconds") or 0) > 0.1, "the wait of the second job grows"
    )
    assert leader.metric("sluice_release_to_grant_seconds_count") == 0
    first.ends(1, lost_a_race())
    cluster.reaches("first", "Failed")
    second = cluster.start("second")
    lost = 'sluice_conflicts_total{exception="ConcurrentAppendException",winner="foreign"}'
    assert leader.metric(lost) == 1
    assert leader.metric("sluice_longest_wait_seconds") == 0
    assert leader.metric("sluice_release_to_grant_seconds_count") == 1
    assert leader.metric("sluice_wait_seconds_count") == 2
    eventually(
        lambda: leader.metric("sluice_create_seconds_count") == 2, "the API server's answers are counted"
    )
    second.succeeds("file:/lake/measured")
    cluster.reaches("second", "Succeeded")
    eventually(lambda: leader.metric(RUNNING) == 0, "no lease is counted any more")
    assert leader.metric(lost) == 1
    assert _sum(leader, AVOIDED) == 1
