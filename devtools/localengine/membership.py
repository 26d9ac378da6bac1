"""Finds and ends the processes of one driver, whatever became of their parents.

A driver is a tree: spark-submit, a JVM, Python, Python's workers in process groups of their own. Process ids are reused and
groups are left, but what a process was started with stays: every process of a driver carries the driver's marker in its
environment, and is signalled through a file descriptor that can't come to mean another process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

MARKER = "LOCALENGINE_DRIVER"


def members(mark: str) -> list[int]:
    """The living processes that carry the mark."""
    return [
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _carries(entry, mark)
    ]


def send(pid: int, mark: str, sent: signal.Signals) -> bool:
    """Signals a process if it (still) carries the mark; says whether it did."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if not _carries(Path("/proc") / str(pid), mark):
            return False
        signal.pidfd_send_signal(descriptor, sent)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


def end_all(mark: str, patience: float = 10) -> None:
    """Kills until nobody carries the mark: a process may fork while it is being killed."""
    deadline = time.monotonic() + patience
    while living := members(mark):
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes {living} of driver {mark} survive SIGKILL: look at them by hand")
        for pid in living:
            send(pid, mark, signal.SIGKILL)
        time.sleep(0.02)


def _carries(process: Path, mark: str) -> bool:
    """Whether the process carries the mark. One that has gone, or that isn't ours to look at, does not; a zombie's environment
    is empty."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        return f"{MARKER}={mark}".encode() in (process / "environ").read_bytes().split(b"\0")
    return False
