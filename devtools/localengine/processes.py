"""The drivers of this machine, as the engine sees them: one folder each, which outlives the engine.

What is true of a driver is read from its folder and from the kernel every time, never remembered: so an engine that was just
started knows as much as one that has run for days.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

from localengine import supervisor
from localengine.ledger import write_durably
from localengine.membership import MARKER, members, send

SEALED = "sealed"
KEPT_FOLDERS = 200


class Life(Enum):
    UNBORN = "unborn"  # never started, and may be started
    SEALED = "sealed"  # never started, and never will be
    RUNNING = "running"
    EXITED = "exited"  # its exit code is known
    LOST = "lost"  # it is dead, and nobody saw how it ended


@dataclass(frozen=True)
class Facts:
    life: Life
    started: datetime | None = None
    ended: datetime | None = None
    exit_code: int | None = None

    @property
    def over(self) -> bool:
        return self.life in (Life.SEALED, Life.EXITED, Life.LOST)


class Drivers:
    """Starts, looks at and ends the driver processes whose folders lie under `root`."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._root = root
        self._supervisors: list[subprocess.Popen[bytes]] = []

    def folder(self, uid: str) -> Path:
        return self._root / uid

    def known(self) -> list[str]:
        return [entry.name for entry in self._root.iterdir() if entry.is_dir()]

    def running(self) -> list[str]:
        return [uid for uid in self.known() if self.facts(uid).life is Life.RUNNING]

    async def start(self, uid: str, command: list[str], environment: dict[str, str]) -> None:
        """Starts the driver, unless it was started before: returns when one supervisor has taken it."""
        folder = self.folder(uid)
        for part in (folder, folder / "tmp", folder / "run"):
            part.mkdir(exist_ok=True, mode=0o700)
        launch = {
            "command": command,
            "environment": {**environment, MARKER: uid},
            "folder": str(folder / "run"),
        }
        write_durably(folder / supervisor.LAUNCH, json.dumps(launch))
        with (folder / "supervisor.log").open("ab") as log:
            process = subprocess.Popen(  # noqa: ASYNC220 - asyncio would end it together with the engine
                [sys.executable, "-m", "localengine.supervisor", str(folder)],
                cwd=Path(__file__).parent.parent,
                env={key: value for key, value in os.environ.items() if key != MARKER},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._supervisors.append(process)
        while not (folder / supervisor.STARTED).exists():
            if process.poll() is not None:
                raise RuntimeError(
                    f"the supervisor of driver {uid} ended before it began, see {folder}/supervisor.log"
                )
            await asyncio.sleep(0.02)

    def seal(self, uid: str) -> None:
        """From now on this driver can't be started, not even by a supervisor that is on its way."""
        folder = self.folder(uid)
        folder.mkdir(exist_ok=True, mode=0o700)
        try:
            descriptor = os.open(folder / supervisor.STARTED, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return
        os.write(descriptor, SEALED.encode())
        os.close(descriptor)

    def facts(self, uid: str) -> Facts:
        folder = self.folder(uid)
        try:
            started_text = (folder / supervisor.STARTED).read_text()
        except FileNotFoundError:
            return Facts(Life.UNBORN)
        if started_text == SEALED:
            return Facts(Life.SEALED)
        # A supervisor creates the file and writes the moment into it a microsecond later.
        started = datetime.fromisoformat(started_text) if started_text else datetime.now(UTC)
        for _ in range(2):
            if (folder / supervisor.EXITED).exists():
                exited = json.loads((folder / supervisor.EXITED).read_text())
                ended = datetime.fromisoformat(exited["at"])
                return Facts(Life.EXITED, started, ended, int(exited["code"]))
            if _is_locked(folder / supervisor.LOCK) or members(uid):
                return Facts(Life.RUNNING, started)
        return Facts(Life.LOST, started, datetime.now(UTC))

    def terminate(self, uid: str) -> None:
        """Asks the driver to end, as a kubelet asks a container's first process."""
        file = self.folder(uid) / "pid"
        first = int(file.read_text()) if file.exists() else None
        if first is None or not send(first, uid, signal.SIGTERM):
            self._signal_all(uid, signal.SIGTERM)

    def kill(self, uid: str) -> None:
        self._signal_all(uid, signal.SIGKILL)

    def forget_oldest(self, needed: set[str]) -> None:
        """Keeps the folders (logs) of the newest drivers only, and of all that are needed."""
        self._supervisors = [process for process in self._supervisors if process.poll() is None]
        old = [uid for uid in self.known() if uid not in needed and self.facts(uid).over]
        old.sort(key=lambda uid: self.folder(uid).stat().st_mtime)
        for uid in old[:-KEPT_FOLDERS]:
            shutil.rmtree(self.folder(uid))

    def _signal_all(self, uid: str, sent: signal.Signals) -> None:
        for pid in members(uid):
            send(pid, uid, sent)


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
