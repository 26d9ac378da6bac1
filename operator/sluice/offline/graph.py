"""The widest set of jobs that can run together: the largest independent set of the conflict graph.

It is exact where that can be found in a bounded number of steps, else the best that a greedy search finds, with a bound on
what could be missing. The answer always says which of the two it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MOST_STEPS = 4_000
"""Steps per component. They are counted and not timed, so that the same folder always gives the same answer."""
_MOST_NODES = 300
"""Jobs of a component that gets more than a greedy search."""


@dataclass(frozen=True)
class Widest:
    members: tuple[int, ...]
    at_most: int
    """No set can be larger than this."""

    @property
    def exact(self) -> bool:
        return len(self.members) == self.at_most


def widest_set(size: int, edges: Sequence[tuple[int, int]]) -> Widest:
    neighbours = [0] * size
    for a, b in edges:
        neighbours[a] |= 1 << b
        neighbours[b] |= 1 << a
    members = at_most = 0
    for component in _components(size, neighbours):
        found, bound = _widest_in(component, neighbours)
        members |= found
        at_most += bound
    return Widest(tuple(_bits(members)), at_most)


def _components(size: int, neighbours: Sequence[int]) -> Iterator[int]:
    left = (1 << size) - 1
    while left:
        component, frontier = 0, left & -left
        while frontier:
            component |= frontier
            reached = 0
            for node in _bits(frontier):
                reached |= neighbours[node]
            frontier = reached & ~component
        left &= ~component
        yield component


def _widest_in(component: int, neighbours: Sequence[int]) -> tuple[int, int]:
    greedy = _greedy(component, neighbours)
    bound = _covering_cliques(component, neighbours)
    if greedy.bit_count() == bound or component.bit_count() > _MOST_NODES:
        return greedy, bound
    search = _Search(neighbours, greedy)
    search.widen(component, 0)
    return (search.best, search.best.bit_count() if search.steps < _MOST_STEPS else bound)


def _greedy(nodes: int, neighbours: Sequence[int]) -> int:
    """Always takes the job that is in the way of the fewest; ties by position, so that the answer is always the same."""
    chosen = 0
    while nodes:
        node = min(_bits(nodes), key=lambda n: (neighbours[n] & nodes).bit_count())
        chosen |= 1 << node
        nodes &= ~(neighbours[node] | 1 << node)
    return chosen


def _covering_cliques(nodes: int, neighbours: Sequence[int]) -> int:
    """Returns groups of jobs that are all in each other's way. Only one of a group can be in the set, so the number of groups
    that hold all jobs is a bound."""
    count = 0
    while nodes:
        candidates = nodes
        while candidates:
            node = (candidates & -candidates).bit_length() - 1
            nodes &= ~(1 << node)
            candidates &= neighbours[node] & nodes
        count += 1
    return count


class _Search:
    def __init__(self, neighbours: Sequence[int], best: int) -> None:
        self._neighbours = neighbours
        self.best = best
        self.steps = 0

    def widen(self, nodes: int, chosen: int) -> None:
        self.steps += 1
        if self.steps >= _MOST_STEPS:
            return
        nodes, chosen = self._with_the_free(nodes, chosen)
        if not nodes:
            if chosen.bit_count() > self.best.bit_count():
                self.best = chosen
            return
        if chosen.bit_count() + _covering_cliques(nodes, self._neighbours) <= self.best.bit_count():
            return
        node = max(_bits(nodes), key=lambda n: (self._neighbours[n] & nodes).bit_count())
        self.widen(nodes & ~(self._neighbours[node] | 1 << node), chosen | 1 << node)
        self.widen(nodes & ~(1 << node), chosen)

    def _with_the_free(self, nodes: int, chosen: int) -> tuple[int, int]:
        """Adds jobs with at most one other in their way: each is in some widest set."""
        found = True
        while found:
            found = False
            for node in _bits(nodes):
                if nodes >> node & 1 and (self._neighbours[node] & nodes).bit_count() <= 1:
                    chosen |= 1 << node
                    nodes &= ~(self._neighbours[node] | 1 << node)
                    found = True
        return nodes, chosen


def _bits(nodes: int) -> Iterator[int]:
    while nodes:
        lowest = nodes & -nodes
        yield lowest.bit_length() - 1
        nodes ^= lowest
