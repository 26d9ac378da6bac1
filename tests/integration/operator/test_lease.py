"""The Lease of a leader whose loop is busy or hangs, on a real API server."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from integration.objects import Objects
from integration.operator.process import configuration
from sluice.controller.leadership.election_thread import ElectionThread
from sluice.controller.process.configuration import OperatorConfig
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.kube.client import Kube

BUSY = 4.0
NEVER = 90.0
"""Seconds: more than a hung leader keeps its Lease on any machine."""


Connected = Callable[[], Coroutine[Any, Any, ElectionThread]]


@pytest.fixture
def connected(namespace: str, kubeconfig: Path) -> Connected:
    config = OperatorConfig.model_validate(configuration([namespace], "redis://unused"))
    return lambda: ElectionThread.connect(
        OperatorConditions(), config, partial(Kube.connect, str(kubeconfig))
    )


def busy_until(is_over: Callable[[], bool], seconds: float) -> None:
    """Keeps the process busy in Python alone, as a long decision does."""
    until = monotonic() + seconds
    while monotonic() < until and not is_over():
        sum(range(1000))


async def test_a_leader_whose_loop_is_busy_renews_its_lease_meanwhile(
    connected: Connected, objects: Objects
) -> None:
    leadership = await connected()
    try:
        await leadership.acquire()
        keeping = asyncio.create_task(leadership.keep())
        await asyncio.sleep(0)
        [before] = objects.every("lease")
        busy_until(lambda: False, BUSY)
        [after] = objects.every("lease")
        assert leadership.leads()
        assert _renewed(after) > _renewed(before)
        keeping.cancel()
    finally:
        await leadership.release()
        await leadership.close()


def _renewed(lease: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(lease["spec"]["renewTime"])


async def test_a_leader_whose_loop_hangs_is_replaced_and_finds_so_when_it_turns_again(
    connected: Connected, caplog: pytest.LogCaptureFixture
) -> None:
    replaced = threading.Event()

    async def waits() -> None:
        candidate = await connected()
        try:
            await candidate.acquire()
            replaced.set()
            await candidate.release()
        finally:
            await candidate.close()

    leadership = await connected()
    follower = threading.Thread(target=lambda: asyncio.run(waits()), daemon=True)
    try:
        await leadership.acquire()
        keeping = asyncio.create_task(leadership.keep())
        await asyncio.sleep(0)
        follower.start()
        busy_until(replaced.is_set, NEVER)
        assert replaced.is_set()
        assert not leadership.leads()
        await keeping
    finally:
        await leadership.close()
    follower.join(NEVER)
    said = [line for line in caplog.records if "has not turned" in line.message]
    assert [line.levelno for line in said] == [logging.WARNING]
