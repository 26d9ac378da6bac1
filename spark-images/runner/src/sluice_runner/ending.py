"""How a driver ends: what SIGTERM means to it, and how its result gets into the termination log."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType

from sluice_runner.failures import Terminated
from sluice_runner.result import Result, encode

TERMINATION_LOG = "SLUICE_TERMINATION_LOG"
_DEFAULT_LOG = "/dev/termination-log"


def on_sigterm(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated(
        "the driver was ended by SIGTERM. The running statement may have committed or may still commit: look into the "
        "table's log"
    )


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")  # noqa: UP017 - images may have Python 3.10


def leave(result: Result, *, is_last: bool = False) -> None:
    """Writes the result to the termination log or, if that can't be written, to the log, so that people can find it."""
    encoded = encode(result)
    log = Path(os.environ.get(TERMINATION_LOG, _DEFAULT_LOG))
    try:
        log.write_bytes(encoded)
    except OSError as error:
        if not is_last:
            return  # the last one is told
        sys.stderr.write(
            f"sluice: could not write the result to {log} ({error}): check that {TERMINATION_LOG} is set correctly. The "
            f"result is:\n{encoded.decode()}\n"
        )
        sys.stderr.flush()
