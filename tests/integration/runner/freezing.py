"""Holds a writer exactly before its commit, by the LogStore's hook for tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain for {what}"
        time.sleep(0.02)


class Freeze:
    """Commits whose stamp has the run key `tag` wait until the freeze is lifted."""

    def __init__(self, folder: Path, tag: str) -> None:
        self._freeze = folder / f"{tag}.freeze"
        self._frozen = folder / f"{tag}.frozen"
        self._frozen.unlink(missing_ok=True)  # of an earlier freeze
        self._freeze.touch()

    def is_reached(self) -> bool:
        return self._frozen.exists()

    def lift(self) -> None:
        self._freeze.unlink()
