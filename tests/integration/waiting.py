"""Waiting for a state: with a limit that a slow machine meets, and a failure that says what was seen last."""

import time
from collections.abc import Callable
from typing import Literal, TypeVar

Seen = TypeVar("Seen")

PATIENCE = 120.0
PAUSE = 0.05
SHOWN = 3000


def eventually(
    look: Callable[[], Seen | Literal[False] | None],
    what: str,
    *,
    seconds: float = PATIENCE,
    pause: float = PAUSE,
    show: Callable[[], object] | None = None,
) -> Seen:
    """What `look` says as soon as it is true; the test fails with what it, or `show`, said last if it never is."""
    end = time.monotonic() + seconds
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > end:
            last = str(seen if show is None else show())
            raise AssertionError(f"not within {seconds:.0f} s: {what}; seen last: {last[-SHOWN:]}")
        time.sleep(pause)
