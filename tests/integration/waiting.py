"""Waiting for a state: with a limit that a slow machine meets, and a failure that says what was seen last."""

import time
from collections.abc import Callable
from typing import Literal, TypeVar

Seen = TypeVar("Seen")

PATIENCE = 120.0
FIRST_PAUSE, LONGEST_PAUSE = 0.03, 0.3
"""What comes soon is seen soon; looks for what takes long would take more of the machine than what they wait for."""
PART_OF_THE_WAIT = 0.15
SHOWN = 3000


def eventually(
    look: Callable[[], Seen | Literal[False] | None],
    what: str,
    *,
    seconds: float = PATIENCE,
    pause: float | None = None,
    show: Callable[[], object] | None = None,
) -> Seen:
    """What `look` says as soon as it is true; the test fails with what it, or `show`, said last if it never is.

    `pause`: between two looks; unless it is said, it grows with the wait.
    """
    began = time.monotonic()
    while True:
        seen = look()
        if seen:
            return seen
        waited = time.monotonic() - began
        if waited > seconds:
            last = str(seen if show is None else show())
            raise AssertionError(f"not within {seconds:.0f} s: {what}; seen last: {last[-SHOWN:]}")
        time.sleep(_pause(waited) if pause is None else pause)


def _pause(waited: float) -> float:
    return min(LONGEST_PAUSE, max(FIRST_PAUSE, waited * PART_OF_THE_WAIT))
