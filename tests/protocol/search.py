"""The search: every state that a model can reach, breadth first, so that a counter-example is a shortest one.

A model is told by four functions (see `Model`). Steps are of two sorts: the protocol and its fair surroundings
(`fault=False`), and faults, which may or may not come. Safety is judged in every state. Liveness is judged
without help from faults: no fault-free path may go on for ever (the fault-free steps form no cycle), and where
none is left, all must be done. Together: once faults end, every job ends, whatever order the steps come in.
"""

import gc
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

S = TypeVar("S", bound=Hashable)

EVERY_JOB_ENDS = "every job ends"


class Step(NamedTuple):
    who: str
    what: str
    state: object
    fault: bool = False

    def __str__(self) -> str:
        return f"{'FAULT ' if self.fault else ''}{self.who}: {self.what}"


class Model(Protocol[S]):
    def initial(self) -> S: ...
    def steps(self, state: S) -> Iterator[Step]: ...
    def violated(self, state: S) -> tuple[str, str] | None:
        """The name of a broken invariant and what is wrong, if any."""

    def unfinished(self, state: S) -> str | None:
        """What has not ended, if anything."""

    def unmet(self, states: list[S]) -> str:
        """What the scenario is named for and never happened in any of its states, if anything."""


@dataclass(frozen=True)
class CounterExample:
    invariant: str
    why: str
    trace: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"  {n:2}. {step}" for n, step in enumerate(self.trace, 1)]
        return "\n".join(
            [f"'{self.invariant}' is broken in {len(self.trace)} steps:", *lines, f"  => {self.why}"]
        )


@dataclass(frozen=True)
class Result:
    states: int
    transitions: int
    depth: int
    seconds: float  # of this process
    unmet: str  # faults that the bounds allow and that can't happen: the scenario promises too much
    counter_example: CounterExample | None

    @property
    def summary(self) -> str:
        found = self.counter_example
        end = "holds" if found is None else f"'{found.invariant}' is broken in {len(found.trace)} steps"
        return (
            f"{self.states:,} states, {self.transitions:,} transitions, depth {self.depth}, "
            f"{self.seconds:.1f} s: {end}"
        )

    def __str__(self) -> str:
        return self.summary if self.counter_example is None else f"{self.summary}\n{self.counter_example}"


Tell = Callable[[str, Result], None]
"""Where tests leave their results, for people."""


class TooManyStatesError(Exception):
    """The bounds don't hold the search: an unfinished search proves nothing, so it is an error."""


def explore(model: Model[S], limit: int = 3_000_000) -> Result:
    """Visits all reachable states, or ends at the nearest one that breaks an invariant."""
    gc.disable()  # states are trees of tuples: nothing to find, and looking for it takes half the time
    try:
        return _explore(model, limit)
    finally:
        gc.enable()


def _explore(model: Model[S], limit: int) -> Result:
    begin = time.process_time()
    first = model.initial()
    number: dict[S, int] = {first: 0}
    states: list[S] = [first]
    parents: list[tuple[int, Step | None]] = [(0, None)]
    depths = [0]
    fair: list[list[int]] = []  # by state: where its fault-free steps lead
    transitions = 0

    def result(found: tuple[str, str] | None, at: int) -> Result:
        example = None if found is None else CounterExample(*found, _trace(parents, at))
        seconds = time.process_time() - begin
        return Result(len(states), transitions, depths[-1], seconds, model.unmet(states), example)

    if found := model.violated(first):
        return result(found, 0)
    for at, state in enumerate(states):  # `states` grows while it is walked: that is the queue
        ways: list[int] = []
        for step in model.steps(state):
            after: S = step.state  # type: ignore[assignment]
            transitions += 1
            to = number.get(after)
            if to is None:
                to = number[after] = len(states)
                states.append(after)
                parents.append((at, step._replace(state=None)))
                depths.append(depths[at] + 1)
                if found := model.violated(after):
                    return result(found, to)
            if not step.fault:
                ways.append(to)
        if not ways and (rest := model.unfinished(state)):
            return result((EVERY_JOB_ENDS, f"nothing goes on without a further fault, yet {rest}"), at)
        fair.append(ways)
        if len(states) > limit:
            raise TooManyStatesError(f"more than {limit:,} states at depth {depths[-1]}: lower the bounds")
    if (circle := _on_a_cycle(fair)) is not None:
        return result((EVERY_JOB_ENDS, "fault-free steps can go round in a circle from here"), circle)
    return result(None, 0)


def _trace(parents: list[tuple[int, Step | None]], at: int) -> tuple[str, ...]:
    trace: list[str] = []
    while True:
        before, step = parents[at]
        if step is None:
            return tuple(reversed(trace))
        trace.append(str(step))
        at = before


def _on_a_cycle(ways: list[list[int]]) -> int | None:
    """A state from which fault-free steps never need to end, by peeling off states that all steps have left."""
    back: list[list[int]] = [[] for _ in ways]
    left = [len(to) for to in ways]
    for at, tos in enumerate(ways):
        for to in tos:
            back[to].append(at)
    ended = [at for at, count in enumerate(left) if count == 0]
    for at in ended:  # grows while it is walked
        for before in back[at]:
            left[before] -= 1
            if left[before] == 0:
                ended.append(before)
    return next((at for at, count in enumerate(left) if count), None)
