"""The time of day, which nobody can set while the operator runs: how long jobs have waited is told by it, and a clock that is set
right must age nobody, and keep nobody from ageing."""

from datetime import UTC, datetime, timedelta

from sluice.controller.process.uptime import uptime

_BEGAN = datetime.now(UTC)
_STARTED = uptime()


def now() -> datetime:
    return _BEGAN + timedelta(seconds=uptime() - _STARTED)
