"""`python -m sluice.controller --config FILE`: runs the operator until it is told to stop.

What has to be so before anything else is imported: to import it all takes a second, in which nothing is there yet that a
signal would have to end, and delta-rs reads how much it may log when it is imported.
"""

import os
import signal
import sys
from types import FrameType


def _end(_signal: int, _frame: FrameType | None) -> None:
    """Python's own answer to SIGINT is a traceback."""
    os._exit(0)


def _main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    # Plain text on stderr, which names tables and buckets; what it can't do it raises. Who sets it wants to see it.
    os.environ.setdefault("RUST_LOG", "off")
    from sluice.controller.command import main  # noqa: PLC0415

    return main()


if __name__ == "__main__":
    sys.exit(_main())
