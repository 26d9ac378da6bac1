"""Looks at tables in stores beyond the network in processes of their own, which are ended where they take too long.

While delta-rs asks a store about a single file, it holds the interpreter's lock: no other thread runs until the store has answered,
and a store that hangs would take the operator's leases with it. Few processes serve all stores, each store always the same one,
which remembers its tables. A store that hangs holds up those that share its process, for as long as one look may take.
"""

import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from zlib import crc32

from sluice.controller.store_threads import store_of
from sluice.tables import TableKey, unread
from sluice.tables.look import Look, TableState
from sluice.tables.look_program import received, send

PROGRAM = (sys.executable, "-m", "sluice.tables.look_program")
PROCESSES = 2
"""Each is a Python of its own, which is started when its first table is looked at."""
PATIENCE = 45.0
"""Seconds for a look, the start of the process included."""
MOST_TABLES = 2000


class FarLooks:
    """May be called from many threads."""

    def __init__(
        self,
        near: Callable[[TableKey], Look],
        *,
        patience: float = PATIENCE,
        processes: int = PROCESSES,
        program: tuple[str, ...] = PROGRAM,
    ) -> None:
        """`near`: looks at tables that are in folders of this machine, and at names that lead nowhere yet."""
        self._near = near
        self._far = tuple(_Process(patience, program) for _ in range(processes))

    def look(self, key: TableKey) -> Look:
        if key.is_name or key.text.startswith("file:"):
            return self._near(key)
        return self._far[crc32(store_of(key).encode()) % len(self._far)].look(key)

    def close(self) -> None:
        for one in self._far:
            one.close()


class _Process:
    def __init__(self, patience: float, program: tuple[str, ...]) -> None:
        self._patience = patience
        self._program = program
        self._running: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()
        self._is_closed = False
        self._known: OrderedDict[TableKey, Look] = OrderedDict()

    def look(self, key: TableKey) -> Look:
        with self._turn:
            begun = datetime.now(UTC)
            is_overdue = threading.Event()
            try:
                return self._answer(key, is_overdue)
            except (OSError, EOFError):
                self._end()
                why = (
                    f"it did not answer within {self._patience:g} s"
                    if is_overdue.is_set()
                    else "its reader ended"
                )
                said = f"the log of {key} cannot be read: {why}"
                return Look(begun, TableState(unread=said), unread(said))

    def close(self) -> None:
        """Ends the process, and whoever waits for it."""
        self._is_closed = True
        running = self._running
        if running is not None:
            running.kill()
        with self._turn:
            self._end()

    def _answer(self, key: TableKey, is_overdue: threading.Event) -> Look:
        process = self._started()

        def give_up() -> None:
            is_overdue.set()
            process.kill()

        overdue = threading.Timer(self._patience, give_up)
        overdue.daemon = True
        overdue.start()
        try:
            assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - they were asked for
            known = self._known.pop(key, None)
            send(process.stdin, (key, known is not None))
            answer = received(process.stdout)
        finally:
            overdue.cancel()
        look = replace(known, at=answer) if known is not None and isinstance(answer, datetime) else answer
        assert isinstance(look, Look)  # noqa: S101 - the other end is ours
        self._known[key] = look
        if len(self._known) > MOST_TABLES:
            self._known.popitem(last=False)
        return look

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._is_closed:
            raise EOFError
        if self._running is None or self._running.poll() is not None:
            self._end()
            self._running = subprocess.Popen(
                self._program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        return self._running

    def _end(self) -> None:
        """What it remembered is gone with it."""
        process, self._running = self._running, None
        self._known.clear()
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was to be sent is of no use any more
                    pipe.close()
        process.wait()
