"""Time that also passes while this machine is suspended, as it does for others: Python's own monotonic clock stands still
then."""

import time
from collections.abc import Callable


def _counting_suspends() -> Callable[[], float]:
    try:
        clock = time.CLOCK_BOOTTIME
        time.clock_gettime(clock)
    except (AttributeError, OSError):  # not Linux, or a sandbox that has no such clock
        return time.monotonic
    return lambda: time.clock_gettime(clock)


uptime = _counting_suspends()
"""Seconds since an unknown moment; where there is no such clock, as the monotonic one counts them."""
