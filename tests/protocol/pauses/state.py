"""What there is: a stream, those that wait for it, their drivers and leases, and two operators that may lead.

The stream and those that wait conflict; one that is a copy has another table, and the stream's checkpoint. That grants, intents
and creates are safe the model of grants shows: here a grant, what is written of it and its driver are one step.
"""

from dataclasses import dataclass
from typing import NamedTuple

from protocol.design import DESIGN, Design

STREAM = -1
"""The number of the stream, beside those that wait."""

ENOUGH, A_QUARTER, NOTHING = 2, 1, 0
"""What is left of a pause."""


class Stream(NamedTuple):
    """The stream's status. Its object's version is what it says: each write changes it."""

    attempt: int = 1
    phase: str = "running"  # running (an attempt is open) | paused | waiting
    asked: frozenset[int] = frozenset()  # for whom its attempt is to stop, or it pauses


class Waiter(NamedTuple):
    copy: bool = False
    phase: str = "waiting"  # waiting | running | backing off | refused | ended | gone
    attempt: int = 0
    gave_way: bool = False


class Driver(NamedTuple):
    """A pod, and the process in it. Its name and uid are of one attempt."""

    who: int
    attempt: int
    at: str = "between"
    """of a stream: between (two batches) | inside (one) | noting (it is committed, the checkpoint doesn't say so yet);
    of others: running | slow | hung; of all: terminated"""
    told: bool = False  # the annotation that asks it to stop
    turn: bool = False  # it has ended a batch, or found nothing to do
    said: str = ""  # its result: Paused | Succeeded | Failed
    ending: bool = False  # its application is deleted

    @property
    def alive(self) -> bool:
        return self.at != "terminated"


class Lease(NamedTuple):
    who: int
    attempt: int
    token: int


class Hand(NamedTuple):
    """What an operator has decided on and not sent yet, and what it has seen."""

    by: int
    doing: str
    who: int
    stream: Stream
    waiter: Waiter | None
    leases: frozenset[Lease]


class Operator(NamedTuple):
    epoch: int = 0
    hand: Hand | None = None


class Budget(NamedTuple):
    """How many of each fault may still come."""

    takeovers: int = 0
    deaths: int = 0  # of the stream's driver
    failures: int = 0  # of a driver of those that wait
    hangs: int = 0
    slow: int = 0
    deletions: int = 0  # of who waits


NO_FAULTS = Budget()


@dataclass(frozen=True)
class Setting:
    """What one scenario allows; nothing in it changes."""

    name: str
    waiters: str = "w"  # a letter each: w conflicts with the stream and with one another, c is a copy
    budget: Budget = NO_FAULTS
    batches: int = 2
    design: Design = DESIGN


class State(NamedTuple):
    stream: Stream
    waiters: tuple[Waiter, ...]
    drivers: tuple[Driver, ...]
    leases: frozenset[Lease]
    tokens: int
    operators: tuple[Operator, ...]
    leader: int
    noted: int  # batches that the checkpoint tells as done
    known: int  # the last batch that the table's log remembers
    left: int  # of the stream's pause: ENOUGH, A_QUARTER or NOTHING
    budget: Budget
    broken: tuple[str, str] | None = None

    @property
    def over(self) -> bool:
        return self.left == NOTHING

    @property
    def epoch(self) -> int:
        """That Redis and the admission policy hold all writes against."""
        return self.operators[self.leader].epoch

    def driver(self, who: int, attempt: int) -> Driver | None:
        return next((one for one in self.drivers if (one.who, one.attempt) == (who, attempt)), None)

    def attempt_of(self, who: int) -> int:
        return self.stream.attempt if who == STREAM else self.waiters[who].attempt

    def runs(self, who: int) -> bool:
        """Whether its status has an attempt that is open."""
        return (self.stream if who == STREAM else self.waiters[who]).phase == "running"


def named(who: int) -> str:
    return "the stream" if who == STREAM else f"job{who}"


def with_waiter(s: State, who: int, waiter: Waiter) -> State:
    return s._replace(waiters=(*s.waiters[:who], waiter, *s.waiters[who + 1 :]))


def with_driver(s: State, driver: Driver) -> State:
    others = (one for one in s.drivers if (one.who, one.attempt) != (driver.who, driver.attempt))
    return s._replace(drivers=tuple(sorted((*others, driver))))


def with_hand(s: State, at: int, hand: Hand | None) -> State:
    operator = s.operators[at]._replace(hand=hand)
    return s._replace(operators=(*s.operators[:at], operator, *s.operators[at + 1 :]))


def spend(s: State, what: str) -> State:
    return s._replace(budget=s.budget._replace(**{what: getattr(s.budget, what) - 1}))
