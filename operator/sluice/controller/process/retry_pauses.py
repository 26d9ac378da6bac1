"""Tries what failed again after a pause, each by itself, so that nobody waits for another's."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class RetryPauses(Generic[Key]):
    """A pause doubles with each try until it is forgotten."""

    def __init__(self, clock: Callable[[], float], *, first: float, longest: float) -> None:
        self._clock = clock
        self._first = first
        self._longest = longest
        self._tried: dict[Key, tuple[float, float]] = {}
        """When the next try is due, and how long the pause before it is."""

    def is_due(self, key: Key) -> bool:
        return key not in self._tried or self._clock() >= self._tried[key][0]

    def seconds_left(self, key: Key) -> float:
        """Seconds until the next try is due."""
        return max(0.0, self._tried[key][0] - self._clock()) if key in self._tried else 0.0

    def tries(self, key: Key) -> None:
        """Notes a try before it is made, so that it counts as failed until it is forgotten."""
        pause = min(2 * self._tried[key][1], self._longest) if key in self._tried else self._first
        self._tried[key] = self._clock() + pause, pause

    def forget(self, key: Key) -> None:
        """Forgets the tries: it went well, or nobody tries any more."""
        self._tried.pop(key, None)

    def forget_unless(self, wanted: Callable[[Key], bool]) -> None:
        self._tried = {key: tried for key, tried in self._tried.items() if wanted(key)}
