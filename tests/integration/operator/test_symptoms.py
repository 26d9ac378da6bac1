"""What docs/operations.md shows by symptom is what the commands print, with the real operator in that state; and what it
advises helps."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from documentation import ROOT, Command, commands_run_by
from integration.conftest import Kubectl
from integration.leases.redis_process import RedisProcess
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, append, rewrite
from integration.operator.process import OperatorProcess
from integration.operator.test_refused_creates import applications_are_refused
from integration.terminal import Terminal
from integration.waiting import eventually

GUIDE = ROOT / "docs" / "operations.md"


class Reader:
    """Follows the document from its first command to its last, and holds that each prints what is shown there."""

    def __init__(self, terminal: Terminal, namespace: str) -> None:
        self._terminal = terminal
        self._namespace = namespace
        self._commands: Iterator[Command] = iter(commands_run_by(__file__, GUIDE))

    def runs(self, begin: str, *, exit_code: int = 0) -> None:
        command = next(self._commands)
        assert command.text.startswith(begin)
        text = command.text.replace("-n sales", f"-n {self._namespace}")
        printed = self._terminal.run(text, exit_code=exit_code)
        shown = [_same_each_time(line, self._namespace) for line in printed.splitlines()]
        for line in command.printed.splitlines():
            assert _same_each_time(line, self._namespace) in shown, f"$ {text}\n{printed}"

    def follows(self, advice: str) -> None:
        """Runs a command that a message advises."""
        self._terminal.run(advice)

    def is_done(self) -> bool:
        return next(self._commands, None) is None


def _same_each_time(line: str, namespace: str) -> str:
    """Without ages, ports, and what makes names unique."""
    line = line.replace(namespace, "sales")
    line = re.sub(r"\b\d+m?\d*s\b", "9s", line)
    line = re.sub(r"Redis at \S+", "Redis at redis:6379/0", line)
    line = re.sub(r"-[0-9a-f]{8}-1\b", "-1d3f5a7c-1", line)
    line = re.sub(r"\bon node [\w-]+", "on node worker-1", line)
    line = re.sub(r"\d\d:\d\d:\d\d UTC", "10:00:00 UTC", line)
    line = re.sub(r"@\d{4}-[\d-]+T[\d:.]+Z", "@2026-11-19T10:00:00.123456Z", line)
    return " ".join(line.split())


@pytest.fixture
def reader(cluster: Played, kubectl: Kubectl, tmp_path: Path) -> Reader:
    return Reader(Terminal.opened(kubectl, cluster.namespace, tmp_path, tmp_path / "home"), cluster.namespace)


def test_symptoms_are_shown_as_they_are(
    cluster: Played, operators: StartOperator, redis: RedisProcess, reader: Reader
) -> None:
    operator = _wrong_password(cluster, operators, redis, reader)
    _waits(cluster, reader)
    _refused(cluster, reader)
    _lost(cluster, reader)
    _stalled_policy(cluster, reader)
    _older_definitions(reader)
    operator.stop()
    eventually(lambda: not cluster.leader_lease()["spec"].get("holderIdentity"), "the Lease is given up")
    reader.runs("sluice status", exit_code=1)
    assert reader.is_done()


def _wrong_password(
    cluster: Played, operators: StartOperator, redis: RedisProcess, reader: Reader
) -> OperatorProcess:
    with redis.client() as client:
        client.config_set("requirepass", "right")
        operator = operators("locked-out", redisUrl=redis.url.replace("redis://", "redis://:wrong@"))
        cluster.apply("nightly", append("/lake/nightly"))
        cluster.reaches("nightly", "Pending")
        reader.runs("kubectl get dwj nightly")
        client.config_set("requirepass", "wrong")
        cluster.start("nightly").succeeds("file:/lake/nightly")
        cluster.reaches("nightly", "Succeeded")
    return operator


def _waits(cluster: Played, reader: Reader) -> None:
    cluster.apply("correct-prices", rewrite("/lake/orders"))
    cluster.start("correct-prices")
    cluster.reaches("correct-prices", "Running")
    cluster.apply("forget-customer", rewrite("/lake/orders"))
    cluster.reaches("forget-customer", "Waiting")
    reader.runs("kubectl get dwj")
    reader.runs("kubectl get dwj forget-customer")
    reader.runs("kubectl get dwj forget-customer")


def _refused(cluster: Played, reader: Reader) -> None:
    with applications_are_refused(cluster):
        cluster.apply("on-monday", append("/lake/on-monday"))
        eventually(
            lambda: cluster.status("on-monday").get("reason") == "ApplicationRefused",
            "its application is refused",
        )
        reader.runs("kubectl get dwj on-monday")
    cluster.start("on-monday").succeeds("file:/lake/on-monday")
    cluster.reaches("on-monday", "Succeeded")


def _lost(cluster: Played, reader: Reader) -> None:
    cluster.apply("lost", append("/lake/lost"))
    driver = cluster.start("lost")
    cluster.reaches("lost", "Running")  # by then the operator knows its node
    driver.vanishes()
    cluster.reaches("lost", "Ending")
    reader.runs("kubectl get dwj lost")
    reader.follows(cluster.status("lost")["message"].partition("say so: ")[2])
    cluster.reaches("lost", "Failed")


def _stalled_policy(cluster: Played, reader: Reader) -> None:
    cluster.declare("orders", {"table": {"path": "s3://lake/orders"}, "logStore": "S3DynamoDB"})
    cluster.policy_is("orders", "Counts")
    cluster.declare("orders-again", {"table": {"path": "s3://lake/orders"}, "logStore": "Safe"})
    cluster.policy_is("orders-again", "LeftOut")
    reader.runs("kubectl get dtp")


def _older_definitions(reader: Reader) -> None:
    reader.runs("echo", exit_code=1)
