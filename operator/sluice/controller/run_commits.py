"""Asks tables' logs what a run has committed, each in a process of its own that can be ended."""

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from sluice.api.job_status import MAX_FOOTPRINTS, Attempt, Commit
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.job import JobView
from sluice.lifecycle.kept import LoggedCommit, kept
from sluice.lifecycle.logs import LogsSay
from sluice.lifecycle.strayed import FootprintSaid
from sluice.tables import TableKey
from sluice.tables.log import OF_APPLICATION, OF_RUN, READING, LogUnreadableError, StampedCommit

PATIENCE = 15.0
START_PATIENCE = 120.0
"""Seconds for a reader to start: that depends on how busy the operator's machine is, and says nothing about the log."""

_MORE_TABLES = f"its status has room for {MAX_FOOTPRINTS} footprints, and the tables of the others are not known any more"

MOST = 8
"""Processes at once: each is a Python of its own."""

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

PROGRAM = (sys.executable, "-m", "sluice.tables.log")


class RunLogs:
    """Asks logs beside the acting loop: a storage that hangs holds up only those whose drivers left no result there."""

    def __init__(self, answered: Callable[[str], None]) -> None:
        self._answered = answered
        """Called with the uid of the job."""
        self._asked: dict[tuple[str, int], asyncio.Task[LogsSay]] = {}
        self._places = asyncio.Semaphore(MOST)

    def ask(
        self, job: JobView, attempt: Attempt, looked_at: Collection[tuple[str, int]] = ()
    ) -> LogsSay | None:
        """Returns the answer, or None as long as there is none; the job is marked when it comes. `looked_at`: see `kept`."""
        key = job.uid, attempt.number
        if key not in self._asked:
            task = asyncio.create_task(self._in_its_turn(job, attempt, looked_at), name=f"logs of {job.key}")
            task.add_done_callback(lambda _: self._answered(job.uid))
            self._asked[key] = task
        task = self._asked[key]
        return task.result() if task.done() else None

    async def _in_its_turn(
        self, job: JobView, attempt: Attempt, looked_at: Collection[tuple[str, int]]
    ) -> LogsSay:
        async with self._places:
            return await what_logs_say(job, attempt, looked_at)

    def forget(self, job: JobView, attempt: Attempt) -> None:
        """Forgets a job whose outcome is written."""
        self._asked.pop((job.uid, attempt.number), None)

    def close(self) -> None:
        for task in self._asked.values():
            task.cancel()


async def what_logs_say(
    job: JobView, attempt: Attempt, looked_at: Collection[tuple[str, int]] = ()
) -> LogsSay:
    """Returns what the logs say. Whatever a log holds, the attempt has ended: a log must not keep it open, and its leases
    held."""
    if job.spec.application is not None:
        return await _what_logs_say_of_application(job, attempt, looked_at)
    commits, unread = await _of_each(job, attempt, partial(_commits_of_job, job, attempt))
    return LogsSay(tuple(commits), unread)


async def _what_logs_say_of_application(
    job: JobView, attempt: Attempt, looked_at: Collection[tuple[str, int]]
) -> LogsSay:
    found, unread = await _of_each(job, attempt, partial(_commits_of_application, job, attempt))
    logged = [one for one, _ in found]
    own = [commit for _, commit in found if commit is not None]
    unstamped = tuple(one.name for one in logged if not one.is_own)
    try:
        # Each partition is read as a condition, of which there may be thousands: nobody else waits for that.
        footprint = await asyncio.to_thread(kept, job.footprint, logged, unread, looked_at=looked_at)
    except NotUnderstoodError as error:
        why = f"it is not known whether it kept to its footprint, because that is not understood any more: {error}"
        footprint = FootprintSaid(is_held=None, message=why)
    except Exception as error:
        logger.exception("%s: the operator failed on whether it kept to its footprint", job.key)
        why = f"it is not known whether it kept to its footprint: the operator failed on that: {error!r}"
        footprint = FootprintSaid(is_held=None, message=why)
    return LogsSay(tuple(own), unread, of_application=True, unstamped=unstamped, footprint=footprint)


async def _of_each(
    job: JobView, attempt: Attempt, asked: Callable[[TableKey], Awaitable[list[_T]]]
) -> tuple[list[_T], tuple[str, ...]]:
    """What is found of each table, and why nothing is of the others."""
    tables, unknown = _tables(job, attempt)
    found: list[_T] = []
    unread = [unknown] if unknown is not None else []
    for table in tables:
        try:
            found += await asked(table)
        except LogUnreadableError as error:
            unread.append(str(error))
        except Exception as error:
            logger.exception("%s: the operator failed on the log of %s", job.key, table)
            unread.append(f"{table}: the operator failed on its log: {error!r}")
    return found, tuple(unread)


async def _commits_of_application(
    job: JobView, attempt: Attempt, table: TableKey
) -> list[tuple[LoggedCommit, Commit | None]]:
    """Each with what the job's status tells of it, if it is the attempt's own."""
    found = await commits_of_application(table, job.uid, attempt.number, attempt.granted_at)
    return [(one, _told(one) if one.is_own else None) for one in found]


def _told(one: LoggedCommit) -> Commit:
    return Commit(table=one.table.text, version=one.version, statement=one.statement, operation=one.operation)


async def _commits_of_job(job: JobView, attempt: Attempt, table: TableKey) -> list[Commit]:
    found = await commits_of_run(table, job.uid, attempt.number, attempt.granted_at)
    return [
        Commit(table=table.text, version=c.version, statement=c.statement, operation=c.operation)
        for c in found
    ]


def _tables(job: JobView, attempt: Attempt) -> tuple[list[TableKey], str | None]:
    """The tables as they were understood when the job was admitted: the configuration may have changed since. Its status may
    have no room for all; then also those of its statements, or why these aren't known."""
    shown = [TableKey.parse(table.table) for table in job.status.footprint]
    more: list[TableKey] = []
    unknown = None
    if len(job.status.footprint) >= MAX_FOOTPRINTS:
        try:
            more = [table.table for table in job.footprint.tables]
            unknown = (
                None
                if job.hashes.are(attempt.hash)
                else f"{_MORE_TABLES}: {job.hashes.how_changed(attempt.hash)}"
            )
        except NotUnderstoodError as error:
            unknown = f"{_MORE_TABLES}: {error}"
    return list(dict.fromkeys((*shown, *more))), unknown


async def commits_of_run(
    table: TableKey,
    uid: str,
    attempt: int,
    begun: datetime,
    *,
    patience: float = PATIENCE,
    start_patience: float = START_PATIENCE,
    program: tuple[str, ...] = PROGRAM,
) -> list[StampedCommit]:
    asked = (*program, table.text, uid, str(attempt), begun.isoformat(), OF_RUN)
    return [StampedCommit(**commit) for commit in await _answer(table, asked, patience, start_patience)]


async def commits_of_application(
    table: TableKey, uid: str, attempt: int, begun: datetime
) -> list[LoggedCommit]:
    asked = (*PROGRAM, table.text, uid, str(attempt), begun.isoformat(), OF_APPLICATION)
    return [
        LoggedCommit(table=table, **commit)
        for commit in await _answer(table, asked, PATIENCE, START_PATIENCE)
    ]


async def _answer(
    table: TableKey, asked: tuple[str, ...], patience: float, start_patience: float
) -> list[dict[str, Any]]:
    process = await asyncio.create_subprocess_exec(
        *asked,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None  # noqa: S101 - it was asked for
    limit = f"{table}: the reader of its log did not start within {start_patience:g} s"
    try:
        began = await asyncio.wait_for(process.stdout.readline(), start_patience)
        limit = f"{table}: its log did not answer within {patience:g} s"
        told, complaint = await asyncio.wait_for(process.communicate(), patience)
    except TimeoutError:
        raise LogUnreadableError(limit) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0 or began.decode(errors="replace").strip() != READING:
        last = complaint.decode(errors="replace").strip().rpartition("\n")[2]
        raise LogUnreadableError(
            f"{table}: its log cannot be read: {last or f'exit code {process.returncode}'}"
        )
    answer = json.loads(told)
    if "unreadable" in answer:
        raise LogUnreadableError(answer["unreadable"])
    commits: list[dict[str, Any]] = answer["commits"]
    return commits
