"""`sluice-operator --config FILE`, or `python -m sluice.controller`: runs the operator until it is told to stop.

This module does what has to come before any other import: importing everything takes a second, in which nothing exists yet
that a signal would have to end, and delta-rs reads how much it may log when it is imported.
"""

import os
import signal
import sys
from types import FrameType


def _end(_signal: int, _frame: FrameType | None) -> None:
    """Ends quietly: Python's own answer to SIGINT is a traceback."""
    os._exit(0)


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    # Plain text on stderr, which names tables and buckets; what it can't do it raises. Whoever sets it wants to see it.
    os.environ.setdefault("RUST_LOG", "off")
    try:
        from sluice.controller import command  # noqa: PLC0415
    except ModuleNotFoundError as error:
        sys.stderr.write(
            f'{error.name} is not installed, and the operator needs it: pip install ".[operator]" in a checkout\n'
        )
        return 2

    return command.main()


if __name__ == "__main__":
    sys.exit(main())
