"""The time of day, which nobody can set while the operator runs: how long jobs have waited is told by it, and a clock that is set
right must age nobody, and keep nobody from ageing."""

import time
from datetime import UTC, datetime, timedelta

_BEGAN = datetime.now(UTC)
_STARTED = time.monotonic()


def now() -> datetime:
    return _BEGAN + timedelta(seconds=time.monotonic() - _STARTED)
