"""A run takes effect once although its driver is killed as a kubelet does it, or stands still until it has been replaced."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.freezing import wait_for
from integration.runner.jobs import Document, Driver, at, plan, run_here, sql, submit
from integration.warm_drivers.jvm import SPARK_SUBMIT
from integration.warm_drivers.server import WarmDrivers

TOKEN = 1 << 32
SETTINGS = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}
MOMENTS = (1, 2)
"""So many commits has the driver made when it is killed: in the middle of its work, with a run key and without; --long draws more
moments, from none to all commits."""
HALF_WAY = re.compile(r"\.{1,2}(?P<version>\d{20})\.(?:json|crc)\.[0-9a-f-]{36}\.tmp(?:\.crc)?")
IN_A_POD = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""The driver is the first process there: it gets no signal that it doesn't handle, and its end is that of all others."""


def work_on(table: Path) -> Document:
    """The DELETE matches nothing. To run it once more after the INSERT would destroy its row."""
    return sql(
        f"DELETE FROM {at(table)} WHERE id = 3",
        f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-19', 'c')",
        f"UPDATE {at(table)} SET item = item || '!' WHERE id = 3",
        f"INSERT INTO {at(table)} VALUES (4, DATE'2026-11-19', 'd')",
    )


EXPECTED = [(1, "a"), (2, "b"), (3, "c!"), (4, "d")]
COMMITS = 3


def attempt(number: int, table: Path, *, closes: bool) -> Document:
    run = {
        "appId": "sluice/sales/killed" if closes else "sluice/slot/0",
        "closes": closes,
        "firstToken": TOKEN + 1,
        "tables": [{"path": str(table)}],
    }
    return plan(work_on(table), "killed", attempt=number, token=TOKEN + number, run=run)


def rows(spark: SparkSession, table: Path) -> list[tuple[int, str]]:
    return [tuple(row) for row in spark.sql(f"SELECT id, item FROM {at(table)} ORDER BY ALL").collect()]


def commits(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*.json")))


def unfinished(table: Path) -> dict[str, int]:
    """Files of commits, or of Delta's checksums beside them, that SIGKILL left half way, and their versions. They are hidden:
    nothing reads them."""
    found = {}
    for name in (file.name for file in (table / "_delta_log").iterdir() if "tmp" in file.name):
        match = HALF_WAY.fullmatch(name)
        assert match is not None, name
        found[name] = int(match["version"])
    return found


@contextmanager
def driver_of(folder: Path, document: Document) -> Iterator[tuple[Driver, int]]:
    """A driver in a namespace of processes of its own, and its number outside."""
    driver = submit(folder, document, SETTINGS, command=(*IN_A_POD, SPARK_SUBMIT))
    try:
        yield driver, first_process(driver)
    finally:
        driver.process.kill()
        driver.process.communicate()


def first_process(driver: Driver) -> int:
    children = Path(f"/proc/{driver.process.pid}/task/{driver.process.pid}/children")
    wait_for(lambda: bool(children.read_text().split()), "the driver's first process")
    return int(children.read_text().split()[0])


def has_ended(driver: Driver) -> bool:
    return driver.process.poll() is not None


def killed(driver: Driver, first: int, grace: float) -> None:
    """TERM, and after a grace KILL, to the first process alone."""
    with suppress(ProcessLookupError):
        os.kill(first, signal.SIGTERM)
        time.sleep(grace)
        os.kill(first, signal.SIGKILL)
    driver.process.wait(60)


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(number, marks=() if number in MOMENTS else pytest.mark.long(minutes=0.5))
        for number in range(50)
    ],
)
def test_what_a_killed_driver_left_is_done_once_by_its_retry(
    spark: SparkSession, table: Path, tmp_path: Path, moment: int
) -> None:
    chance = random.Random(moment)  # noqa: S311 - not a secret
    before = commits(table)
    done = moment % (COMMITS + 1)
    delay, grace = chance.uniform(0, 0.5), chance.choice((0, chance.uniform(0, 0.5)))
    closes = moment % 2 == 0
    with driver_of(tmp_path, attempt(1, table, closes=closes)) as (driver, first):
        wait_for(lambda: commits(table) >= before + done or has_ended(driver), f"{done} commits")
        time.sleep(delay if done else chance.uniform(3, 12))
        killed(driver, first, grace)
    left, hidden = commits(table) - before, unfinished(table)
    result = run_here(spark.newSession(), attempt(2, table, closes=closes))
    told = f"killed after {done} commits and {delay:.2f} s, {grace:.2f} s after TERM, with {left} commits: {result}"
    assert result["outcome"] in ("Succeeded", "AlreadyCommitted"), told
    assert rows(spark, table) == EXPECTED, told
    assert unfinished(table).keys() <= hidden.keys(), f"the retry leaves none: {told}"
    last = before + left - 1
    assert set(hidden.values()) <= {last, last + 1}, f"{hidden}: {told}"


def test_a_driver_that_stood_still_while_it_was_replaced_writes_nothing_more(
    spark: SparkSession, warm: WarmDrivers, table: Path, tmp_path: Path
) -> None:
    before = commits(table)
    document = attempt(1, table, closes=False)
    driver = submit(tmp_path, document, SETTINGS, command=[warm.spark_submit])
    wait_for(lambda: commits(table) > before or has_ended(driver), "the first commit")
    warm.send_signal(tmp_path.name, signal.SIGSTOP)
    try:
        retried = run_here(spark.newSession(), attempt(2, table, closes=False))
        after = commits(table)
    finally:
        warm.send_signal(tmp_path.name, signal.SIGCONT)
    assert driver.ended() == 1
    assert retried["outcome"] == "Succeeded", retried
    result = driver.result()
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "Superseded"), result
    assert commits(table) == after
    assert rows(spark, table) == EXPECTED
