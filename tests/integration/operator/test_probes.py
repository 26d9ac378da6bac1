"""What a leader and a follower answer to probes and to Prometheus."""

import json
import os
import re
import subprocess
import sys

from integration.forking import OPERATOR
from integration.leases.redis_process import RedisProcess
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, rewrite
from integration.operator.process import OperatorProcess, first_epochs
from integration.waiting import eventually
from sluice.api.base import Json


def test_leader_and_follower_tell_how_they_are(
    cluster: Played, operators: StartOperator, redis: RedisProcess
) -> None:
    leader = operators("leader")
    leader.says("the lease table was rebuilt")
    follower = operators("follower")
    follower.says("leads; waiting until")
    for operator in (leader, follower):
        eventually(lambda one=operator: one.get("/readyz") == (200, "ok\n"), f"{operator.name} is ready")  # type: ignore[misc]
        assert operator.get("/healthz") == (200, "ok\n")
    assert (leader.metric("sluice_leader"), follower.metric("sluice_leader")) == (1, 0)
    assert leader.metric("sluice_epoch") in first_epochs()
    assert follower.metric("sluice_epoch") == 0
    cluster.apply("first", rewrite("/lake/measured"))
    cluster.start("first")
    cluster.apply("second", rewrite("/lake/measured"))
    cluster.reaches("second", "Waiting")
    cluster.apply("third", {"sql": "GRANT SELECT ON TABLE a TO b"})
    cluster.reaches("third", "Failed")
    counted = {
        outcome: leader.metric(f'sluice_decisions_total{{outcome="{outcome}"}}')
        for outcome in ("granted", "blocked", "refused")
    }
    assert counted == {"granted": 1, "blocked": 1, "refused": 1}
    assert leader.metric('sluice_jobs{phase="Waiting"}') == 1
    assert leader.metric('sluice_redis_calls_total{call="change",outcome="CHANGED"}') == 1
    created = 'sluice_api_requests_total{code="201",resource="sparkapplications",verb="create"}'
    assert leader.metric(created) == 1
    assert leader.metric("sluice_turn_seconds_count")
    assert leader.metric("sluice_loop_lag_seconds_count")
    assert leader.metric('sluice_condition{type="LeaseTableUsable"}') == 1
    code, told = _status(leader)
    assert (code, told["problems"], told["jobs"]) == (0, [], {"Failed": 1, "Running": 1, "Waiting": 1})
    assert told["leader"] == cluster.leader_lease()["spec"]["holderIdentity"]
    assert [(one["job"], one["tables"]) for one in told["holding"]] == [
        (f"{cluster.namespace}/first", ["file:/lake/measured"])
    ]
    redis.service.freeze()
    eventually(lambda: leader.metric('sluice_condition{type="LeaseTableUsable"}') == 0, "Redis is missed")
    cluster.operator_tells("LeaseTableUsable", "False")
    code, told = _status(leader)
    assert code == 1
    assert "LeaseTableUsable is False" in told["problems"][0]
    assert leader.get("/healthz") == leader.get("/readyz") == (200, "ok\n")
    assert re.search(r'redis_calls_total{call="\w+",outcome="TimeoutError"}', leader.get("/metrics")[1])
    assert follower.metric('sluice_condition{type="LeaseTableUsable"}') is None


def _status(operator: OperatorProcess) -> tuple[int, Json]:
    """`sluice status` of the operator's installation, into a pipe."""
    config = operator.folder / f"{operator.name}.yaml"
    done = subprocess.run(
        [sys.executable, "-m", "sluice.cli.main", "status", "--config", str(config)],
        env={**os.environ, "PYTHONPATH": str(OPERATOR), "KUBECONFIG": str(operator.kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_an_address_that_is_taken_is_said_and_off_serves_nowhere(operators: StartOperator) -> None:
    first = operators("first")
    first.says("on port")
    taken = re.search(r"on port (\d+)", first.told())
    assert taken is not None
    second = operators("second", httpAddress=f"127.0.0.1:{taken[1]}")
    assert second.ends() == 2
    assert f"httpAddress: nothing can be served at 127.0.0.1:{taken[1]}" in second.entries()[-1]["message"]
    third = operators("third", httpAddress="off")
    third.says("leads; waiting until")
    assert "on port" not in third.told()
