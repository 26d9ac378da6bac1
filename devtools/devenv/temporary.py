"""One folder for all that ./dev and what it starts write for a while: whatever they leave in it goes with it."""

import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from devenv.processes import stop_everything

# Short, because paths of sockets below it may have no more than 107 bytes.
PREFIX = "sluice-dev-"
# Where temporary files would lie without ./dev: for what is to be kept.
OUTER = "SLUICE_OUTER_TMPDIR"
# Between making a folder and locking it lies a moment.
SURELY_LOCKED_SECONDS = 60.0
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def own_temporary_folder() -> Iterator[Path]:
    """TMPDIR for the block, removed at its end; an error ends first whatever may still write into it."""
    before = {name: os.environ.get(name) for name in ("TMPDIR", OUTER)}
    outer = tempfile.gettempdir()
    # No interrupt falls between making the folder and knowing it.
    signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        os.environ |= {"TMPDIR": str(folder), OUTER: outer}
        tempfile.tempdir = None
        _remove_left_folders(Path(outer))
        yield folder
    except BaseException:
        stop_everything()
        raise
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        tempfile.tempdir = None
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_left_folders(outer: Path) -> None:
    """Those of a ./dev that was killed: the kernel took its lock from it."""
    for folder in outer.glob(f"{PREFIX}*"):
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # gone by now, somebody else's, or no folder
            continue
        try:
            if time.time() - os.fstat(lock).st_mtime > SURELY_LOCKED_SECONDS:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)


def outside(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables for what goes on when the folder is gone."""
    return {**{name: value for name, value in variables.items() if name != OUTER}, "TMPDIR": variables[OUTER]}
