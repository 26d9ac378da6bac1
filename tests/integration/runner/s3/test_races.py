"""Drivers that commit to one log on S3 at the same time, and are killed in the middle of it: nothing is lost, doubled or partial.

Against versitygw; not against Amazon's S3 itself.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from py4j.protocol import Py4JError

from devenv.s3_server import S3Server
from integration.runner.s3.conftest import Log
from integration.runner.s3.drivers import (
    DELTAS_OWN,
    OURS,
    Driver,
    Store,
    driver,
    hadoop_settings,
    lines_in,
)
from integration.runner.s3.proxy import Request, S3Proxy, Send, Together, lose_reply

DRIVERS = (4, pytest.param(8, marks=pytest.mark.long))
COMMITS = 20
LINES = 50
"""A commit has so many lines of its tag, so that a part of one would be seen."""


@pytest.fixture(scope="module", params=DRIVERS)
def drivers(request: pytest.FixtureRequest) -> Iterator[list[Driver]]:
    with ExitStack() as ends:
        yield [ends.enter_context(driver()) for _ in range(request.param)]


class Writer:
    """Commits as a driver does: one version after the newest one, and the next where that is taken."""

    def __init__(self, store: Store, log: Log, name: str) -> None:
        self._store = store
        self._log = log
        self._name = name
        self.acknowledged: list[str] = []
        self.unsure: str | None = None
        self.refused = 0

    def commit(self, number: int) -> None:
        tag = f"{self._name}-{number}"
        self.unsure = tag
        version = int(self._store.list_from(self._log.commit(0))[-1].split(".")[0]) + 1
        while True:
            refused = self._store.write(self._log.commit(version), [tag] * LINES)
            if refused is None:
                break
            assert refused.is_conflict, refused
            self.refused += 1
            version += 1
        self.acknowledged.append(tag)
        self.unsure = None

    def commit_all(self) -> None:
        for number in range(COMMITS):
            self.commit(number)


CREATED = "created"


def create(log: Log, store: Store) -> None:
    assert store.write(log.commit(0), [CREATED] * LINES) is None


def tags(log: Log) -> list[str]:
    """Of each commit after the first, after a look that it is whole."""
    found = []
    for version, name in enumerate(log.names()):
        assert name == f"{version:020}.json", f"version {version} is missing"
        lines = lines_in(log.folder, version)
        assert lines == [lines[0]] * LINES, f"version {version} is not whole"
        found.append(lines[0])
    return [tag for tag in found if tag != CREATED]


def test_every_commit_that_was_acknowledged_is_there_once(
    drivers: list[Driver], store: Store, log: Log, proxy: S3Proxy
) -> None:
    """And by the way every seventh reply to a commit is lost."""
    create(log, store)
    count = iter(range(1 << 30))

    def every_seventh(request: Request, send: Send) -> bytes | None:
        return lose_reply(request, send) if next(count) % 7 == 6 else send(request)  # type: ignore[func-returns-value]

    proxy.on("PUT", rf"/{log.bucket}/orders/_delta_log/\d", every_seventh)
    writers = [
        Writer(one.store(hadoop_settings(proxy.endpoint)), log, str(number))
        for number, one in enumerate(drivers)
    ]
    with ThreadPoolExecutor(len(drivers)) as threads:
        for done in [threads.submit(writer.commit_all) for writer in writers]:
            done.result(300)
    acknowledged = [tag for writer in writers for tag in writer.acknowledged]
    assert len(acknowledged) == len(drivers) * COMMITS
    assert sum(writer.refused for writer in writers) > 0, "nobody met anybody"
    assert Counter(tags(log)) == Counter(acknowledged)


def test_two_drivers_with_deltas_own_log_store_lose_every_commit_that_they_make_at_one_moment(
    drivers: list[Driver], log: Log, proxy: S3Proxy
) -> None:
    """What conditional writes are for. Each of the two has looked that the version isn't there when both go on."""
    told = race_at_one_moment(drivers, log, proxy, DELTAS_OWN)
    acknowledged = [tag for tag, refused in told if not refused]
    assert len(acknowledged) == 2 * ROUNDS
    assert len(set(acknowledged) - set(tags(log))) == ROUNDS


def test_of_two_drivers_that_commit_at_one_moment_one_is_there_and_the_other_is_told(
    drivers: list[Driver], log: Log, proxy: S3Proxy
) -> None:
    told = race_at_one_moment(drivers, log, proxy, OURS)
    acknowledged = [tag for tag, refused in told if not refused]
    assert len(acknowledged) == ROUNDS
    assert tags(log) == acknowledged


ROUNDS = 20


def race_at_one_moment(
    drivers: list[Driver], log: Log, proxy: S3Proxy, log_store: str
) -> list[tuple[str, bool]]:
    """Which tags were refused. The PUTs of a version go on when both have come."""
    stores = [one.store(hadoop_settings(proxy.endpoint), log_store) for one in drivers[:2]]
    told = []
    with ThreadPoolExecutor(2) as threads:
        for version in range(ROUNDS):
            proxy.quiet()
            proxy.on("PUT", log.key(version), Together(2), 2)
            names = [f"{version}-{number}" for number in range(2)]
            writing = [
                threads.submit(store.write, log.commit(version), [tag] * LINES)
                for store, tag in zip(stores, names, strict=True)
            ]
            for tag, one in zip(names, writing, strict=True):
                refused = one.result(240)
                assert refused is None or refused.is_conflict, refused
                told.append((tag, refused is not None))
    return told


def test_a_driver_that_is_killed_leaves_its_commit_whole_or_not_at_all(
    server: S3Server, store: Store, log: Log
) -> None:
    create(log, store)
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)  # noqa: S311 - nobody's secret
    with ExitStack() as ends:
        running = [ends.enter_context(driver()) for _ in range(2)]
        writers = [
            Writer(one.store(hadoop_settings(server.endpoint)), log, str(number))
            for number, one in enumerate(running)
        ]
        with ThreadPoolExecutor(len(writers)) as threads:
            writing = [
                threads.submit(until_killed, one, writer)
                for one, writer in zip(running, writers, strict=True)
            ]
            for one in running:
                time.sleep(chance.uniform(0.1, 1))
                one.kill()
            for ended in writing:
                ended.result(120)
    there = tags(log)
    acknowledged = [tag for writer in writers for tag in writer.acknowledged]
    unsure = {writer.unsure for writer in writers} - {None}
    assert len(set(there)) == len(there), f"doubled, with the seed {seed}"
    assert set(acknowledged) <= set(there) <= {*acknowledged, *unsure}, f"with the seed {seed}"


def until_killed(driver: Driver, writer: Writer) -> None:
    number = 0
    try:
        while True:
            writer.commit(number)
            number += 1
    except (Py4JError, OSError):
        driver.kill()  # it is: this waits for its end
