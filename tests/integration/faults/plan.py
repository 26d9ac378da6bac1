"""Faults by the request that they befall. Each step of the protocol is a request to Redis or to the API server, so a place where
the operator may be killed is a request before it lands, or after it landed and before its answer."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class What(StrEnum):
    KILLED_BEFORE = "its sender is killed before it lands"
    KILLED_AFTER = "its sender is killed after it landed and before the answer"
    LANDS_AFTER_DEATH = "its sender is killed, and it lands once a successor has rebuilt the lease table"
    ANSWER_LOST = "it lands, and the connection breaks before the answer"
    ANSWERED_TOO_LATE = "it lands, and a server in between gives up waiting for the answer"
    LANDS_LATE = "the connection breaks, and it lands a moment later"
    LANDS_TWICE = "it lands twice"
    FAILS = "the server answers that it failed, and nothing was done"
    THROTTLED = "the server has no room for it"
    CONFLICTS = "the server says that the object has changed"
    SLOW = "it lands after a second and a half"
    WATCHES_DROP = "it lands, and all watches of its sender break"

    @property
    def kills(self) -> bool:
        return self in (What.KILLED_BEFORE, What.KILLED_AFTER, What.LANDS_AFTER_DEATH)


@dataclass(frozen=True)
class Fault:
    point: str
    """The kind of request."""
    at: int
    """The how many-th of its kind it is, from 1."""
    what: What

    @property
    def outdates_a_job(self) -> bool:
        """Whether the operator's next write of a job may conflict, because the operator knows an old version of it."""
        unanswered = self.what in (What.ANSWER_LOST, What.ANSWERED_TOO_LATE, What.LANDS_LATE)
        return self.what is What.CONFLICTS or (unanswered and self.point.startswith("patch deltawritejobs"))

    def __str__(self) -> str:
        return f"{self.point}, number {self.at}: {self.what}"


@dataclass
class Plan:
    """The faults of one round. The wires ask it in one thread; others read it."""

    faults: Iterable[Fault] = ()
    passed: Counter[str] = field(default_factory=Counter)
    """How many requests of each kind there were."""
    met: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ahead = {(fault.point, fault.at): fault for fault in self.faults}

    def meets(self, point: str) -> What | None:
        """Counts the request and tells what befalls it."""
        self.passed[point] += 1
        fault = self._ahead.pop((point, self.passed[point]), None)
        if fault is None:
            return None
        self.met.append(fault)
        return fault.what
