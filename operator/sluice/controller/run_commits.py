"""Asks tables' logs what a run has committed, each in a process of its own that can be ended."""

import asyncio
import json
import logging
import sys
from collections.abc import Callable
from datetime import datetime

from sluice.api.job_status import Attempt, Commit
from sluice.lifecycle.job import JobView
from sluice.lifecycle.outcome import LogsSay
from sluice.tables import TableKey
from sluice.tables.log import READING, LogUnreadableError, StampedCommit

PATIENCE = 15.0
START_PATIENCE = 120.0
"""Seconds for a reader to start: that depends on how busy the operator's machine is, and says nothing about the log."""

MOST = 8
"""Processes at once: each is a Python of its own."""

logger = logging.getLogger(__name__)

PROGRAM = (sys.executable, "-m", "sluice.tables.log")


class RunLogs:
    """Asks logs beside the acting loop: a storage that hangs holds up only those whose drivers left no result there."""

    def __init__(self, answered: Callable[[str], None]) -> None:
        self._answered = answered
        """Called with the uid of the job."""
        self._asked: dict[tuple[str, int], asyncio.Task[LogsSay]] = {}
        self._places = asyncio.Semaphore(MOST)

    def ask(self, job: JobView, attempt: Attempt) -> LogsSay | None:
        """Returns the answer, or None as long as there is none; the job is marked when it comes."""
        key = job.uid, attempt.number
        if key not in self._asked:
            task = asyncio.create_task(self._in_its_turn(job, attempt), name=f"logs of {job.key}")
            task.add_done_callback(lambda _: self._answered(job.uid))
            self._asked[key] = task
        task = self._asked[key]
        return task.result() if task.done() else None

    async def _in_its_turn(self, job: JobView, attempt: Attempt) -> LogsSay:
        async with self._places:
            return await what_logs_say(job, attempt)

    def forget(self, job: JobView, attempt: Attempt) -> None:
        """Forgets a job whose outcome is written."""
        self._asked.pop((job.uid, attempt.number), None)

    def close(self) -> None:
        for task in self._asked.values():
            task.cancel()


async def what_logs_say(job: JobView, attempt: Attempt) -> LogsSay:
    """Returns what the logs say. Whatever a log holds, the attempt has ended: a log must not keep it open, and its leases
    held."""
    commits: list[Commit] = []
    unread: list[str] = []
    for table in _tables(job):
        try:
            found = await commits_of_run(table, job.uid, attempt.number, attempt.granted_at)
        except LogUnreadableError as error:
            unread.append(str(error))
            continue
        except Exception as error:
            logger.exception("%s: the operator failed on the log of %s", job.key, table)
            unread.append(f"{table}: the operator failed on its log: {error!r}")
            continue
        commits += [
            Commit(table=table.text, version=c.version, statement=c.statement, operation=c.operation)
            for c in found
        ]
    return LogsSay(tuple(commits), tuple(unread))


def _tables(job: JobView) -> list[TableKey]:
    """The tables as they were understood when the job was admitted: the configuration may have changed since."""
    return [TableKey.parse(text) for text in dict.fromkeys(table.table for table in job.status.footprint)]


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
    process = await asyncio.create_subprocess_exec(
        *program,
        *(table.text, uid, str(attempt), begun.isoformat()),
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
    return [StampedCommit(**commit) for commit in answer["commits"]]
