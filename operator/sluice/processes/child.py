"""One child process as its parent sees it: what it is asked, what it answers, and of what it died."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import cast

from sluice.processes.limits import Limits, memory_in_use
from sluice.processes.messages import packed, received
from sluice.processes.program import OUT_OF_MEMORY, Reply

LOOK_EVERY = 0.02
"""Seconds between two looks at the memory of a process that works."""
SHARED_GUILT = 0.5
"""The part of the patience after which an open question is as guilty as the one that was overdue: its store is silent, too."""
START_PATIENCE = 120.0
"""Seconds for a process to start. The load of the machine decides how long that takes, not the question."""


class DeathCause(StrEnum):
    MEMORY = "memory"
    CPU = "cpu"
    OVERDUE = "overdue"
    """A question was not answered in time, and the parent ended the process."""
    CLOSED = "closed"
    """The parent needs it no more."""
    OTHER = "other"


@dataclass(frozen=True)
class _Asked:
    reply: "Future[object]"
    since: float
    patience: float

    def is_guilty_of(self, death: "Death") -> bool:
        waited = time.monotonic() - self.since
        return death.cause is DeathCause.OVERDUE and waited >= SHARED_GUILT * self.patience


@dataclass(frozen=True)
class Death:
    cause: DeathCause
    why: str
    """Of the process, without it as the subject, such as "needed more than 256 MiB of memory"."""


class NoAnswerError(Exception):
    """Why there is no answer, in words like those of `Death.why`."""


class DeathError(NoAnswerError):
    """The process died while it worked on the question."""

    def __init__(self, death: Death, *, is_guilty: bool = False) -> None:
        super().__init__(death.why)
        self.death = death
        self.is_guilty = is_guilty
        """Whether this very question is known to be a cause, and not only one that was asked beside it."""


class Child:
    """May be asked from many threads."""

    def __init__(
        self,
        factory: str,
        limits: Limits,
        environment: Mapping[str, str],
        died: Callable[[Death, int], None],
    ) -> None:
        """Starts the process. Raises OSError where that is impossible. `died`: called with the number of questions on which it
        worked, once, and not if it was closed."""
        self._limits = limits
        self._died = died
        self._process = subprocess.Popen(
            (sys.executable, "-m", "sluice.processes.program", factory, json.dumps(asdict(limits))),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018 - they were asked for
        self._to, self._source = self._process.stdin, self._process.stdout
        os.set_blocking(self._to.fileno(), False)
        self._writable = select.poll()
        self._writable.register(self._to, select.POLLOUT)
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        """Of the thread that writes a question."""
        self._has_started = threading.Event()
        """Set also when the process dies before it starts."""
        self._asked: dict[int, _Asked] = {}
        self._is_watched = False
        self._questions = 0
        self._death: Death | None = None
        threading.Thread(target=self._receive, name=f"replies of {self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_fresh(self) -> bool:
        """Whether it was asked nothing yet."""
        return self._questions == 0

    @property
    def death(self) -> Death | None:
        return self._death

    def ask(self, question: object, patience: float) -> object:
        """`patience`: seconds for the answer, from when the process has started. Raises NoAnswerError."""
        if not self._has_started.wait(START_PATIENCE):
            raise DeathError(
                self.end(Death(DeathCause.OVERDUE, f"did not start within {START_PATIENCE:g} s"))
            )
        begun = time.monotonic()
        until = begun + patience
        reply: Future[object] = Future()
        with self._lock:
            if self._death is not None:
                raise DeathError(self._death)
            self._questions += 1
            number = self._questions
            self._asked[number] = _Asked(reply, begun, patience)
            if not self._is_watched:
                self._is_watched = True
                threading.Thread(target=self._watch, name=f"memory of {self.pid}", daemon=True).start()
        try:
            self._write(packed((number, question)), until)
            return reply.result(max(0.0, until - time.monotonic()))
        except TimeoutError:
            death = self.end(Death(DeathCause.OVERDUE, f"did not answer within {patience:g} s"))
            raise DeathError(death, is_guilty=death.cause is DeathCause.OVERDUE) from None

    def end(self, death: Death) -> Death:
        """Kills it, and returns of what it died first. What it was asked fails at once: a process that waits for a disk lives on
        until the disk answers."""
        self._process.kill()
        return self._fail_all(death)

    def _write(self, message: bytes, until: float) -> None:
        if not self._turn.acquire(timeout=max(0.0, until - time.monotonic())):
            raise TimeoutError
        try:
            left = memoryview(message)
            while left and not self._to.closed:
                if not self._writable.poll(max(0.0, until - time.monotonic()) * 1000):
                    raise TimeoutError
                left = left[os.write(self._to.fileno(), left) :]
        except BrokenPipeError:
            return  # the thread that receives replies tells of what it died
        finally:
            self._turn.release()

    def _watch(self) -> None:
        """Ends the process where it takes too much memory, as long as a question is open."""
        while True:
            if memory_in_use(self.pid) > self._limits.memory_mib:
                self.end(self._out_of_memory())
            with self._lock:
                if not self._asked:
                    self._is_watched = False
                    return
            time.sleep(LOOK_EVERY)

    def _receive(self) -> None:
        with self._source:
            while True:
                try:
                    number, is_answer, what = cast("Reply", received(self._source))
                except EOFError:
                    break
                self._has_started.set()
                with self._lock:
                    asked = self._asked.pop(number, None)
                if asked is None:
                    continue  # the process has started, or its question was given up
                if is_answer:
                    asked.reply.set_result(what)
                else:
                    asked.reply.set_exception(NoAnswerError(what))
        self._fail_all(self._death_by(self._process.wait()))
        with self._turn:
            self._to.close()

    def _fail_all(self, death: Death) -> Death:
        with self._lock:
            is_first = self._death is None
            self._death = death = self._death or death
            asked, self._asked = self._asked, {}
        self._has_started.set()
        if is_first and death.cause is not DeathCause.CLOSED:
            self._died(death, len(asked))
        for one in asked.values():
            one.reply.set_exception(DeathError(death, is_guilty=one.is_guilty_of(death)))
        return death

    def _death_by(self, code: int) -> Death:
        # An allocator that gets no memory aborts.
        if code in (OUT_OF_MEMORY, -signal.SIGABRT):
            return self._out_of_memory()
        if code == -signal.SIGXCPU:
            return Death(DeathCause.CPU, f"needed more than {self._limits.cpu_seconds} s of CPU")
        if code == -signal.SIGKILL:
            return Death(DeathCause.OTHER, "was killed, as where its container or node has no memory left")
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return Death(DeathCause.OTHER, f"ended {how}")

    def _out_of_memory(self) -> Death:
        return Death(DeathCause.MEMORY, f"needed more than {self._limits.memory_mib} MiB of memory")
