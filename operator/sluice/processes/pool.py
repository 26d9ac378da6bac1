"""A bounded number of child processes that answer questions, and what becomes of a question that costs a process its life.

Questions of one lane go to the same process, so that it remembers what it read for them. When a process dies, the pool asks its
open questions once more, one after another, each alone. Only the guilty one costs one more process. The pool puts it into
quarantine: it starts no process for it, and answers at once with what happened, until the question is forgiven. Some questions
are asked alone from the beginning.
"""

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sluice.processes.bounded_dict import BoundedDict
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
        more while a question is asked alone, unless one process works on one question at a time. `quarantine_seconds`: until a
        question is forgiven by itself."""
        self._name = name
        self._factory = factory
        self._limits = limits
        self._environment = environment or {}
        self._quarantine_seconds = quarantine_seconds
        self._lanes = tuple(_Lane(self._start) for _ in range(processes))
        self._all_are_alone = processes == 1 and limits.threads == 1
        self._alone = self._lanes[0] if self._all_are_alone else _Lane(self._start)
        self._turn = threading.Lock()
        """Of the question that is asked alone."""
        self._turn_of_suspects = threading.Lock()
        """Of the suspect that waits for its turn, or has it."""
        self._lock = threading.Lock()
        self._to_ask_alone = 0
        self._suspects: BoundedDict[Hashable, Suspect] = BoundedDict(MOST_SUSPECTS)
        self._is_closed = False
        self.deaths: Counter[DeathCause] = Counter()
        """Processes that died since the beginning."""

    @property
    def memory_mib(self) -> int:
        """What all processes may take together."""
        return len({*self._lanes, self._alone}) * self._limits.memory_mib

    def ask(self, key: Hashable, question: object, *, lane: int) -> object:
        """`key`: what makes it the same question when it is asked again. Raises NoAnswerError."""
        suspect = self._suspect_to_ask(key)
        if suspect is None and not self._all_are_alone:
            try:
                return self._lanes[lane % len(self._lanes)].ask(question, self._limits.patience)
            except DeathError as error:
                self._note(key, error)
                if error.is_guilty:
                    raise
        with self._alone_after(suspect):
            return self._ask_alone(key, question, self._limits.patience)

    def ask_alone(self, key: Hashable, question: object, *, patience: float) -> object:
        """Asks it while no other question is asked in its process. Raises NoAnswerError."""
        with self._alone_after(self._suspect_to_ask(key)):
            return self._ask_alone(key, question, patience)

    def suspect(self, key: Hashable) -> Suspect | None:
        with self._lock:
            return self._suspects.get(key)

    def quarantined(self) -> dict[Hashable, Suspect]:
        """Without those whose time was over long ago, and which no caller has asked again."""
        now = time.monotonic()
        with self._lock:
            return {
                key: one
                for key, one in self._suspects.items()
                if one.is_quarantined and now - one.at < 2 * self._quarantine_seconds
            }

    def quarantine(self, key: Hashable, death: Death, seconds_ago: float) -> None:
        """Puts a question into quarantine that another pool has found guilty, unless this one has found out about it itself."""
        with self._lock:
            self._suspects.setdefault(key, Suspect(MOST_DEATHS, death, time.monotonic() - seconds_ago))

    def forgive(self, key: Hashable) -> bool:
        """Has a quarantined question asked once more, alone. Returns whether it is in quarantine."""
        with self._lock:
            suspect = self._suspects.get(key)
            if suspect is None or not suspect.is_quarantined:
                return False
            self._suspects[key] = replace(suspect, deaths=MOST_DEATHS - 1)
            return True

    def close(self) -> None:
        """Ends all processes, and all waits for their answers."""
        self._is_closed = True
        for lane in (*self._lanes, self._alone):
            lane.end()

    def _suspect_to_ask(self, key: Hashable) -> Suspect | None:
        """Raises QuarantineError."""
        suspect = self.suspect(key)
        if suspect is not None and suspect.is_quarantined and not self._is_over(suspect):
            raise QuarantineError(suspect)
        return suspect

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
        """Has the turn to be asked alone. Of the questions that failed `before`, only one waits for it, so that many of those hold
        up no caller. A process for this alone ends with the last question, because what it read may be large."""
        with self._lock:
            self._to_ask_alone += 1
        try:
            with self._one_suspect(before), self._turn:
                yield
        finally:
            with self._lock:
                self._to_ask_alone -= 1
                if self._to_ask_alone == 0 and not self._all_are_alone:
                    self._alone.end()

    @contextmanager
    def _one_suspect(self, before: Suspect | None) -> Iterator[None]:
        if before is None:
            yield
        elif not self._turn_of_suspects.acquire(blocking=False):
            raise QuarantineError(before)
        else:
            try:
                yield
            finally:
                self._turn_of_suspects.release()

    def _ask_alone(self, key: Hashable, question: object, patience: float) -> object:
        while True:
            was_fresh = self._alone.is_fresh
            try:
                answer = self._alone.ask(question, patience)
            except DeathError as error:
                # The questions before this one may have filled a process that is not fresh.
                is_known = was_fresh or error.is_guilty
                if is_known and (self._note(key, error).is_quarantined or error.is_guilty):
                    raise
            except NoAnswerError:
                self._absolve(key)
                raise
            else:
                self._absolve(key)
                return answer

    def _note(self, key: Hashable, error: DeathError) -> Suspect:
        if error.death.cause is DeathCause.CLOSED:
            raise error
        with self._lock:
            before = self._suspects.get(key)
            suspect = Suspect(1 if before is None else before.deaths + 1, error.death, time.monotonic())
            self._suspects.put(key, suspect)
        return suspect

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

    def ask(self, question: object, patience: float) -> object:
        with self._lock:
            if self._child is None or self._child.death is not None:
                self._child = self._start()
            child = self._child
        return child.ask(question, patience)

    def end(self) -> None:
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.end(_CLOSED)
