"""Runs one driver process and writes down how it ended; started as `python -m localengine.supervisor FOLDER`.

The engine may be killed at any line, so it can't be the one that waits for its drivers: their exit codes would be lost. This
process outlives it. Of any number of supervisors started on one folder only one ever starts the driver: the one that creates the
file `started`. It holds the lock as long as the driver may live, so that a supervisor that was killed can be told from one
that is slow. Standard library only: it starts in a blink.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from localengine.ledger import write_durably
from localengine.membership import MARKER, end_all

STARTED, EXITED, LOCK, LAUNCH, LOG = "started", "exit.json", "lock", "launch.json", "driver.log"


def claim(folder: Path) -> int | None:
    """The lock's file descriptor if this process is the one to start the driver."""
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    while True:
        if (folder / STARTED).exists():
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:  # the engine looks whether the lock is held, or another supervisor is faster
            time.sleep(0.02)
    try:
        claimed = os.open(folder / STARTED, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return None
    os.write(claimed, datetime.now(UTC).isoformat().encode())
    os.close(claimed)
    return lock


def run(folder: Path) -> None:
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, lambda *_: None)  # the driver is not to inherit SIG_IGN
    lock = claim(folder)
    if lock is None:
        return
    launch = json.loads((folder / LAUNCH).read_text())
    (folder / LAUNCH).unlink()  # it holds the secrets of the driver's environment
    with (folder / LOG).open("ab") as log:
        try:
            driver = subprocess.Popen(
                launch["command"],
                env=launch["environment"],
                cwd=launch["folder"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(lock,),
            )
        except OSError as error:
            log.write(f"can't start {launch['command'][0]}: {error}\n".encode())
            code = 127
        else:
            write_durably(folder / "pid", str(driver.pid))
            status = driver.wait()
            code = status if status >= 0 else 128 - status
    end_all(launch["environment"][MARKER])
    write_durably(folder / EXITED, json.dumps({"code": code, "at": datetime.now(UTC).isoformat()}))


if __name__ == "__main__":
    run(Path(sys.argv[1]))
