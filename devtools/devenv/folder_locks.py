"""Folders that live as long as their process: the kernel drops its lock with it, however it ends."""

import fcntl
import os
import shutil
import time
from pathlib import Path


def hold(folder: Path) -> int:
    """Locks the folder until the file descriptor is closed, or the process is gone."""
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def remove_unless_held(folder: Path, older_than: float = 0.0) -> None:
    """Removes a folder that nobody holds, if its last change is that many seconds ago."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # gone by now, somebody else's, or no folder
        return
    try:
        if time.time() - os.fstat(lock).st_mtime >= older_than:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        return
    finally:
        os.close(lock)
