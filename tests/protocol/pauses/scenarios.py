"""The model of pauses under chosen faults."""

from collections.abc import Iterator
from functools import cached_property

from protocol.pauses import invariants
from protocol.pauses.operators import Operators
from protocol.pauses.state import (
    ENOUGH,
    STREAM,
    Budget,
    Driver,
    Lease,
    Operator,
    Setting,
    State,
    Stream,
    Waiter,
)
from protocol.pauses.surroundings import Surroundings
from protocol.search import Step


class Pauses(Setting):
    """A model for the search: the stream runs its first attempt, and the others come to wait."""

    def initial(self) -> State:
        return State(
            stream=Stream(),
            waiters=tuple(Waiter(copy=letter == "c") for letter in self.waiters),
            drivers=(Driver(STREAM, 1),),
            leases=frozenset((Lease(STREAM, 1, 1),)),
            tokens=1,
            operators=(Operator(1), Operator()),
            leader=0,
            noted=0,
            known=0,
            left=ENOUGH,
            budget=self.budget,
        )

    @cached_property
    def actors(self) -> tuple[Operators, Surroundings]:
        return Operators(self), Surroundings(self)

    def steps(self, state: State) -> Iterator[Step]:
        for actor in self.actors:
            yield from actor.steps(state)

    def violated(self, state: State) -> tuple[str, str] | None:
        return invariants.violated(state)

    def unfinished(self, state: State) -> str | None:
        return invariants.unfinished(state, self.batches)

    def unmet(self, states: list[State]) -> str:
        return "" if any(not any(s.budget) for s in states) else "in no state have all its faults happened"


ONE_WAITS = Pauses("one waits for a stream")
TWO_WAIT = Pauses("two wait for a stream", waiters="ww")
LEADER_REPLACED = Pauses("a stream pauses, and its leader is replaced", budget=Budget(takeovers=1))
REPLACED_TWICE = Pauses("two wait for a stream, two takeovers", waiters="ww", budget=Budget(takeovers=2))
DRIVER_DIES = Pauses(
    "the stream's driver dies, and its leader is replaced", budget=Budget(deaths=2, takeovers=1)
)
WAITER_FAILS = Pauses(
    "who waits fails or is deleted, and the leader is replaced",
    waiters="ww",
    budget=Budget(failures=1, deletions=1, takeovers=1),
)
WAITER_HANGS = Pauses(
    "who waits hangs, and the leader is replaced", waiters="ww", budget=Budget(hangs=1, takeovers=1)
)
WAITER_SLOW = Pauses(
    "one of two that wait is slow, and the leader is replaced",
    waiters="ww",
    budget=Budget(slow=1, takeovers=1),
)
COPY = Pauses("another stream has its checkpoint", waiters="wc", budget=Budget(takeovers=1))

ALL = tuple(value for value in list(globals().values()) if isinstance(value, Pauses))

LONG = (
    Pauses(
        "one waits for a stream, all faults of a pause",
        budget=Budget(takeovers=2, deaths=1, failures=1, hangs=1, deletions=1),
    ),
)
