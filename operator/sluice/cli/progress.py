"""Shows people at a terminal how far long work has come; what is piped sees nothing of it."""

import sys
from time import monotonic
from types import TracebackType

from sluice.cli.outputs import overwrite

_EVERY_SECONDS = 0.2
_SILENT_SECONDS = 1.0
"""Work that takes no longer than this shows nothing."""


class Progress:
    """One line on standard error, which is wiped away at the end."""

    def __init__(self, of: int, what: str) -> None:
        self._of, self._what = of, what
        self._shows = sys.stderr.isatty()
        self._next = monotonic() + _SILENT_SECONDS
        self._shown = ""

    def __call__(self, part: str, done: int) -> None:
        if not self._shows or monotonic() < self._next:
            return
        self._next = monotonic() + _EVERY_SECONDS
        self._show(f"{part}: {done:,} of {self._of:,} {self._what}" if done else f"{part} ...")

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._show("")

    def _show(self, text: str) -> None:
        overwrite(self._shown, text)
        self._shown = text
