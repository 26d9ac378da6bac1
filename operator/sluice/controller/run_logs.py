"""Asks tables' logs what a run has committed, each in a process of its own that can be ended."""

import asyncio
import json
import sys
from datetime import datetime

from sluice.tables import TableKey
from sluice.tables.log import READING, LogUnreadableError, StampedCommit

PATIENCE = 15.0
START_PATIENCE = 120.0
"""A reader's start takes as long as the operator's machine is busy, and says nothing of the log."""

PROGRAM = (sys.executable, "-m", "sluice.tables.log")


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
    limit = f"{table}: what reads its log did not start within {start_patience:g} s"
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
