"""Asks tables' logs what a run has committed, each in a process of its own that can be ended."""

import asyncio
import json
import sys
from datetime import datetime

from sluice.tables import TableKey
from sluice.tables.log import LogUnreadableError, StampedCommit

PATIENCE = 15.0

PROGRAM = (sys.executable, "-m", "sluice.tables.log")


async def commits_of_run(
    table: TableKey,
    uid: str,
    attempt: int,
    begun: datetime,
    *,
    patience: float = PATIENCE,
    program: tuple[str, ...] = PROGRAM,
) -> list[StampedCommit]:
    process = await asyncio.create_subprocess_exec(
        *program,
        *(table.text, uid, str(attempt), begun.isoformat()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        told, complaint = await asyncio.wait_for(process.communicate(), patience)
    except TimeoutError:
        raise LogUnreadableError(f"{table}: its log did not answer within {patience:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        last = complaint.decode(errors="replace").strip().rpartition("\n")[2]
        raise LogUnreadableError(
            f"{table}: its log cannot be read: {last or f'exit code {process.returncode}'}"
        )
    answer = json.loads(told)
    if "unreadable" in answer:
        raise LogUnreadableError(answer["unreadable"])
    return [StampedCommit(**commit) for commit in answer["commits"]]
