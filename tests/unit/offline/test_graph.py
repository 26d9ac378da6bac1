"""The widest set: the largest there is where that is claimed, and never two that are in each other's way."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from sluice.offline.graph import widest_set

Edges = list[tuple[int, int]]


def largest(size: int, edges: Edges) -> int:
    """Returns the size of the largest set without an edge in it, found by trying all sets."""
    return max(
        sum(chosen >> n & 1 for n in range(size))
        for chosen in range(1 << size)
        if not any(chosen >> a & 1 and chosen >> b & 1 for a, b in edges)
    )


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Edges]:
    size = draw(st.integers(0, 9))
    pairs = list(combinations(range(size), 2))
    return size, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


@given(graphs())
def test_small_graphs_are_answered_exactly(graph: tuple[int, Edges]) -> None:
    size, edges = graph
    found = widest_set(size, edges)
    assert found.exact
    assert len(found.members) == largest(size, edges)
    assert not any(a in found.members and b in found.members for a, b in edges)


def test_large_graphs_say_how_much_more_there_could_be() -> None:
    size = 900
    edges = [(a, b) for a, b in combinations(range(size), 2) if (a * 7919 + b * 104729) % 11 == 0]
    found = widest_set(size, edges)
    members = set(found.members)
    assert not any(a in members and b in members for a, b in edges)
    assert len(members) <= found.at_most
    assert found.exact == (len(members) == found.at_most)


def test_the_same_graph_gives_the_same_answer() -> None:
    edges = [(n, (n + 1) % 31) for n in range(31)]
    assert widest_set(31, edges) == widest_set(31, edges)
    assert len(widest_set(31, edges).members) == 15
