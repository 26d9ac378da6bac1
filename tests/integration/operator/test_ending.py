"""SIGINT and SIGTERM end an operator at any moment: well, without a traceback, and with its Lease given up. Every line of its
log is one JSON object, whoever wrote it."""

import signal
import time
from pathlib import Path

import pytest

from integration.leases.redis_process import RedisProcess
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, append
from integration.operator.process import OperatorProcess
from integration.waiting import eventually

NOWHERE = {
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    "AWS_ALLOW_HTTP": "true",
    "AWS_REGION": "nowhere",
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_S3_LOCKING_PROVIDER": "dynamodb",  # delta-rs complains of it in its own log
}


def test_every_line_of_the_log_is_json_and_none_has_a_piece_of_sql(
    cluster: Played, operators: StartOperator
) -> None:
    operator = operators(environment=NOWHERE)
    operator.says("the lease table was rebuilt")
    cluster.apply("quoted", {"sql": "GRANT SELECT ON TABLE hidden_in_sql TO nobody"})
    cluster.reaches("quoted", "Failed")
    cluster.apply("elsewhere", append("s3://nowhere/orders"))
    cluster.reaches("elsewhere", "Starting")  # its table was tried to be read
    assert operator.stop() == 0
    said = operator.entries()
    assert {"time", "level", "logger", "message"} <= set.intersection(*(set(entry) for entry in said))
    assert "hidden_in_sql" not in operator.told()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_while_it_starts(operators: StartOperator, number: signal.Signals) -> None:
    started = [operators(f"starting-{moment}", imports_itself=True) for moment in range(3)]
    for moment, operator in enumerate(started):
        eventually(lambda one=operator: _imports(one), "it begins")  # type: ignore[misc]
        time.sleep(0.4 * moment)
        _ends_well(operator, number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_while_it_leads_or_waits_to_lead_and_gives_up_its_lease(
    cluster: Played, operators: StartOperator, redis: RedisProcess, number: signal.Signals
) -> None:
    leader = operators("leader")
    leader.says("the lease table was rebuilt")
    waiting = operators("waiting")
    waiting.says("leads; waiting until")
    _ends_well(waiting, number)
    held = cluster.leader_lease()["spec"]
    assert held["holderIdentity"]
    _ends_well(leader, number)
    assert not cluster.leader_lease()["spec"].get("holderIdentity")
    redis.service.freeze()
    cut_off = operators("cut-off")
    cut_off.says("the lease table is not usable: Redis")
    cut_off.signal(_the_other(number))
    _ends_well(cut_off, number)  # told twice
    assert not cluster.leader_lease()["spec"].get("holderIdentity")


def _the_other(number: signal.Signals) -> signal.Signals:
    return signal.SIGINT if number is signal.SIGTERM else signal.SIGTERM


def _ends_well(operator: OperatorProcess, number: signal.Signals) -> None:
    if operator.running:
        operator.signal(number)
    assert operator.ends() == 0, operator.told()
    assert all("exception" not in entry for entry in operator.entries()), operator.told()


def _imports(operator: OperatorProcess) -> bool:
    assert operator.process is not None
    return "pydantic_core" in Path(f"/proc/{operator.process.pid}/maps").read_text(encoding="utf-8")
