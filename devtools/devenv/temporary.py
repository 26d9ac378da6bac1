"""One folder for all that ./dev and what it starts write for a while: whatever they leave in it goes with it."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from devenv.folder_locks import hold, remove_unless_held
from devenv.processes import stop_everything

# Short, because paths of sockets below it may have no more than 107 bytes.
PREFIX = "sluice-dev-"
# Where temporary files would be without ./dev: for what is to be kept.
OUTER = "SLUICE_OUTER_TMPDIR"
# There is a moment between making a folder and locking it.
SURELY_LOCKED_SECONDS = 60.0
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def own_temporary_folder() -> Iterator[Path]:
    """TMPDIR for the block, removed at its end; an error ends first whatever may still write into it."""
    before = {name: os.environ.get(name) for name in ("TMPDIR", OUTER)}
    outer = tempfile.gettempdir()
    # No interrupt comes between making the folder and knowing it.
    signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = hold(folder)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        os.environ |= {"TMPDIR": str(folder), OUTER: outer}
        tempfile.tempdir = None
        for left in Path(outer).glob(f"{PREFIX}*"):  # by a ./dev that was killed
            remove_unless_held(left, SURELY_LOCKED_SECONDS)
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


def outside(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables for what goes on when the folder is gone."""
    return {**{name: value for name, value in variables.items() if name != OUTER}, "TMPDIR": variables[OUTER]}
