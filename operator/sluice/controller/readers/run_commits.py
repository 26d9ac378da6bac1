"""Asks tables' logs what a run has committed, beside the acting loop.

Namespaces and stores take turns: one that hangs holds up the others for one question's patience, and then its next one waits
behind theirs.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from functools import partial

from sluice.api.job_status import MAX_FOOTPRINTS, Attempt, Commit
from sluice.controller.readers.store_threads import StoreThreads
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.evidence.footprint_compliance import LoggedCommit, kept
from sluice.lifecycle.evidence.log_findings import LogFindings
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.spec.footprint_violations import FootprintSaid
from sluice.tables import TableKey
from sluice.tables.log import FoundCommit, LogUnreadableError, RunQuestion, StampedCommit

_MORE_TABLES = f"its status has room for {MAX_FOOTPRINTS} footprints, and the tables of the others are not known any more"

AT_ONCE = 3
"""Questions: the process answers one at a time, and stays for the next one. A namespace has two places at most."""

logger = logging.getLogger(__name__)

Commits = Sequence[StampedCommit] | Sequence[FoundCommit]


class RunCommits:
    def __init__(self, read: Callable[[RunQuestion], Commits], answered: Callable[[str], None]) -> None:
        """`read`: called in threads, raises LogUnreadableError. `answered`: called with the uid of the job."""
        self._read = read
        self._answered = answered
        self._asked: dict[tuple[str, int], asyncio.Task[LogFindings]] = {}
        self._threads = StoreThreads[Commits](per_store=1, in_all=AT_ONCE, most_stuck=0)

    def ask(
        self, job: JobView, attempt: Attempt, looked_at: Collection[tuple[str, int]] = ()
    ) -> LogFindings | None:
        """Returns the answer, or None as long as there is none; the job is marked when it comes. `looked_at`: see `kept`."""
        key = job.uid, attempt.number
        if key not in self._asked:
            task = asyncio.create_task(self.what_logs_say(job, attempt, looked_at), name=f"logs of {job.key}")
            task.add_done_callback(lambda _: self._answered(job.uid))
            self._asked[key] = task
        task = self._asked[key]
        return task.result() if task.done() else None

    def forget(self, job: JobView, attempt: Attempt) -> None:
        """Forgets a job whose outcome is written."""
        self._asked.pop((job.uid, attempt.number), None)

    def close(self) -> None:
        for task in self._asked.values():
            task.cancel()
        self._threads.close()

    async def what_logs_say(
        self, job: JobView, attempt: Attempt, looked_at: Collection[tuple[str, int]]
    ) -> LogFindings:
        """Returns what the logs say. The attempt has ended: no log may keep it open, and its leases held."""
        job = job.apart()  # its spec may be long to read: a thread does that
        tables, unknown = await asyncio.to_thread(_tables, job, attempt)
        unread = [unknown] if unknown is not None else []
        found: list[tuple[TableKey, StampedCommit | FoundCommit]] = []
        is_application = job.spec.application is not None
        for table in tables:
            try:
                question = RunQuestion(table, job.uid, attempt.number, attempt.granted_at, is_application)
                commits, _ = await self._threads.read(table, [job.namespace], partial(self._read, question))
                found += [(table, commit) for commit in commits]
            except LogUnreadableError as error:
                unread.append(str(error))
            except Exception as error:
                logger.exception("%s: the operator failed on the log of %s", job.key, table)
                unread.append(f"{table}: the operator failed on its log: {error!r}")
        own = tuple(
            _told(table, one) for table, one in found if not isinstance(one, FoundCommit) or one.is_own
        )
        if not is_application:
            return LogFindings(own, tuple(unread))
        logged = [
            LoggedCommit(table=table, **asdict(one)) for table, one in found if isinstance(one, FoundCommit)
        ]
        return LogFindings(
            own,
            tuple(unread),
            of_application=True,
            unstamped=tuple(one.name for one in logged if not one.is_own),
            footprint=await _footprint(job, logged, unread, looked_at),
        )


async def _footprint(
    job: JobView,
    logged: Sequence[LoggedCommit],
    unread: Sequence[str],
    looked_at: Collection[tuple[str, int]],
) -> FootprintSaid:
    try:
        # Each partition is read as a condition, of which there may be thousands.
        return await asyncio.to_thread(lambda: kept(job.footprint, logged, unread, looked_at=looked_at))
    except NotUnderstoodError as error:
        why = f"it is not known whether it kept to its footprint, because that is not understood any more: {error}"
        return FootprintSaid(is_held=None, message=why)
    except Exception as error:
        logger.exception("%s: the operator failed on whether it kept to its footprint", job.key)
        why = f"it is not known whether it kept to its footprint: the operator failed on that: {error!r}"
        return FootprintSaid(is_held=None, message=why)


def _told(table: TableKey, one: StampedCommit | FoundCommit) -> Commit:
    return Commit(table=table.text, version=one.version, statement=one.statement, operation=one.operation)


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
