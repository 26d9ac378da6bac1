"""A bounded number of child processes that answer questions, and what becomes of a question that costs a process its life.

Questions of one lane go to the same process, so that it remembers what it read for them. When a process dies, the pool asks its
open questions once more, one after another, each alone. Only the guilty one costs one more process. The pool puts it into
quarantine: it starts no process for it, and answers at once with what happened, until the question is forgiven.
"""

import logging
import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sluice.processes.child import Child, Death, DeathCause, DeathError, NoAnswerError
from sluice.processes.limits import Limits

logger = logging.getLogger(__name__)

MOST_DEATHS = 2
"""Deaths in a row on whose question no process is spent any more: at the second one the question was alone."""
MOST_SUSPECTS = 10_000

_CLOSED = Death(DeathCause.CLOSED, "was ended")


@dataclass(frozen=True)
class Suspect:
    """A question on which a process worked when it died, and which no process has answered since."""

    deaths: int
    last: Death
    at: float
    """When the last process died, on the monotonic clock."""

    @property
    def is_quarantined(self) -> bool:
        return self.deaths >= MOST_DEATHS


class QuarantineError(NoAnswerError):
    """The question was not asked, because of the deaths that it was part of."""

    def __init__(self, suspect: Suspect) -> None:
        super().__init__(suspect.last.why)
        self.death = suspect.last


class Pool:
    """May be asked from many threads. A process starts with its first question."""

    def __init__(
        self,
        name: str,
        factory: str,
        limits: Limits,
        *,
        processes: int,
        environment: Mapping[str, str] | None = None,
        quarantine_seconds: float = math.inf,
    ) -> None:
        """`factory`: module:function, called in the child, which returns the function that answers. `processes`: there is one
        more while a question is asked alone. `quarantine_seconds`: until a question is forgiven by itself."""
        self._name = name
        self._factory = factory
        self._limits = limits
        self._environment = environment or {}
        self._quarantine_seconds = quarantine_seconds
        self._lanes = tuple(_Lane(self._start) for _ in range(processes))
        self._alone = _Lane(self._start)
        self._turn = threading.Lock()
        """Of the question that is asked alone."""
        self._lock = threading.Lock()
        self._to_ask_alone = 0
        self._suspects: OrderedDict[Hashable, Suspect] = OrderedDict()
        self._is_closed = False
        self.deaths: Counter[DeathCause] = Counter()
        """Processes that died since the beginning."""

    def ask(self, key: Hashable, question: object, *, lane: int) -> object:
        """`key`: what makes it the same question when it is asked again. Raises NoAnswerError."""
        suspect = self.suspect(key)
        if suspect is not None and suspect.is_quarantined and not self._is_over(suspect):
            raise QuarantineError(suspect)
        if suspect is None:
            try:
                return self._lanes[lane % len(self._lanes)].ask(question)
            except DeathError as error:
                self._note(key, error)
                if error.is_guilty:
                    raise
        with self._alone_after(suspect):
            return self._ask_alone(key, question)

    def suspect(self, key: Hashable) -> Suspect | None:
        with self._lock:
            return self._suspects.get(key)

    def forgive(self, key: Hashable) -> None:
        """Has a quarantined question asked once more, alone."""
        with self._lock:
            suspect = self._suspects.get(key)
            if suspect is not None:
                self._suspects[key] = replace(suspect, deaths=MOST_DEATHS - 1)

    def close(self) -> None:
        """Ends all processes, and all waits for their answers."""
        self._is_closed = True
        for lane in (*self._lanes, self._alone):
            lane.end()

    def _is_over(self, quarantine: Suspect) -> bool:
        return time.monotonic() - quarantine.at >= self._quarantine_seconds

    def _start(self) -> Child:
        if self._is_closed:
            raise NoAnswerError(_CLOSED.why)
        try:
            return Child(self._factory, self._limits, self._environment, self._died)
        except OSError as error:
            raise NoAnswerError(f"cannot be started: {error}") from error

    @contextmanager
    def _alone_after(self, before: Suspect | None) -> Iterator[None]:
        """Has the turn to be asked alone. A question that failed `before` does not wait for it, so that many of those hold up no
        caller. The process ends with the last question, because what it read may be large."""
        with self._lock:
            self._to_ask_alone += 1
        try:
            if not self._turn.acquire(blocking=before is None) and before is not None:
                raise QuarantineError(before)
            try:
                yield
            finally:
                self._turn.release()
        finally:
            with self._lock:
                self._to_ask_alone -= 1
                if self._to_ask_alone == 0:
                    self._alone.end()

    def _ask_alone(self, key: Hashable, question: object) -> object:
        while True:
            was_fresh = self._alone.is_fresh
            try:
                answer = self._alone.ask(question)
            except DeathError as error:
                if was_fresh or error.is_guilty:
                    self._note(key, error)
                    raise
                continue  # the questions before this one may have filled the process
            except NoAnswerError:
                self._absolve(key)
                raise
            self._absolve(key)
            return answer

    def _note(self, key: Hashable, error: DeathError) -> None:
        if error.death.cause is DeathCause.CLOSED:
            raise error
        with self._lock:
            before = self._suspects.pop(key, None)
            deaths = 1 if before is None else before.deaths + 1
            self._suspects[key] = Suspect(deaths, error.death, time.monotonic())
            if len(self._suspects) > MOST_SUSPECTS:
                self._suspects.popitem(last=False)

    def _absolve(self, key: Hashable) -> None:
        with self._lock:
            self._suspects.pop(key, None)

    def _died(self, death: Death, questions: int) -> None:
        with self._lock:
            self.deaths[death.cause] += 1
        logger.warning("%s: a process %s; its open questions: %d", self._name, death.why, questions)


class _Lane:
    """The place of one process at a time."""

    def __init__(self, start: Callable[[], Child]) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._child: Child | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether the next question is the first one of its process."""
        child = self._child
        return child is None or child.death is not None or child.is_fresh

    def ask(self, question: object) -> object:
        with self._lock:
            if self._child is None or self._child.death is not None:
                self._child = self._start()
            child = self._child
        return child.ask(question)

    def end(self) -> None:
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.end(_CLOSED)
