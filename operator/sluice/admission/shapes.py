"""Groups jobs by shape: most come from a few templates, and those whose footprints are equal in everything share one shape.
What two shapes are to each other is worked out once, and kept as long as both are needed."""

from typing import Final
from weakref import WeakValueDictionary, finalize

from sluice.api.job import Yield
from sluice.conflicts import Conflict, conflict_at_rest, conflict_between, conflict_where_met
from sluice.conflicts.places import EVERYWHERE, Places, places_of
from sluice.footprint.model import JobFootprint
from sluice.tables import TableKey

_MOST_TOLD = 4_096
"""Conflicts whose wording is kept."""
_STATEMENTS = 8
"""So many statements more make two shapes cost as much again as two of one statement each."""


_Key = tuple[bytes, frozenset[TableKey], bool, Yield | None] | tuple[Places, Yield | None]


class Shape:
    """A shape lives as long as somebody refers to it."""

    __slots__ = (
        "__weakref__",
        "accepts",
        "at_rest",
        "conflicts",
        "footprint",
        "for_ever",
        "number",
        "places",
    )

    def __init__(
        self,
        number: int,
        footprint: JobFootprint | None,
        places: Places,
        accepts: frozenset[TableKey],
        *,
        at_rest: bool,
        for_ever: Yield | None,
    ) -> None:
        self.number: Final = number
        self.accepts: Final = accepts
        self.footprint: Final = footprint
        """None for those of whom nothing is known but the places where they may meet others."""
        self.at_rest: Final = at_rest
        self.for_ever: Final = for_ever
        self.places: Final = places
        self.conflicts: dict[int, bool] = {}
        """Verdicts with the shapes that were there before, by their numbers. It keeps only whether there is a conflict: there
        may be millions of pairs."""


class Shapes:
    def __init__(self) -> None:
        self._known: WeakValueDictionary[_Key, Shape] = WeakValueDictionary()
        self._living: WeakValueDictionary[int, Shape] = WeakValueDictionary()
        self._told: dict[tuple[int, int], Conflict] = {}
        """The conflicts in words, as they were last asked for."""
        self._numbers = 0
        self._ended: set[int] = set()
        self.compared = 0
        """How often somebody asked what two shapes are to each other."""
        self.worked_out = 0
        """How often that was not known."""
        self.spent = 0
        """What that cost, counted in pairs of shapes of one statement each."""

    def __len__(self) -> int:
        return len(self._living)

    @property
    def kept(self) -> int:
        """The number of pairs of which it is known whether they conflict."""
        return sum(len(shape.conflicts) for shape in self._living.values())

    def of(
        self,
        footprint: JobFootprint,
        accepts: frozenset[TableKey],
        *,
        at_rest: bool = False,
        for_ever: Yield | None = None,
    ) -> Shape:
        """Returns the shape of a footprint, and of the tables on which its job accepts to lose. One that cannot be told from
        others, or of which it is not known where it meets others, gets a shape of its own, which is compared with all."""
        try:
            key = footprint.fingerprint, accepts, at_rest, for_ever
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = self._new(
                    footprint, places_of(footprint), accepts, at_rest=at_rest, for_ever=for_ever
                )
        except Exception:  # noqa: BLE001 - what is wrong with it is told by the comparison
            return self._new(footprint, EVERYWHERE, accepts, at_rest=at_rest, for_ever=for_ever)
        return known

    def at(self, places: Places, for_ever: Yield | None = None) -> Shape:
        """Returns the shape of a holder that may do anything at these places, and nothing elsewhere."""
        known = self._known.get((places, for_ever))
        if known is None:
            known = self._known[places, for_ever] = self._new(None, places, frozenset(), for_ever=for_ever)
        return known

    def conflict(self, one: Shape, other: Shape) -> bool:
        """Whether there is a conflict between their footprints; it is the same in both orders."""
        self.compared += 1
        younger, older = (one, other.number) if one.number >= other.number else (other, one.number)
        known = younger.conflicts.get(older)
        if known is None:
            known = younger.conflicts[older] = self._work_out(one, other) is not None
        return known

    def between(self, one: Shape, other: Shape) -> Conflict | None:
        """Returns what `conflict_between` says of their footprints, in this order."""
        return self._told.get((one.number, other.number)) or self._work_out(one, other)

    def _work_out(self, one: Shape, other: Shape) -> Conflict | None:
        self.worked_out += 1
        self.spent += _cost(one, other)
        found = _conflict_of(one, other)
        if found is not None:
            if len(self._told) >= _MOST_TOLD:
                self._told.clear()
            self._told[one.number, other.number] = found
        return found

    def _new(
        self,
        footprint: JobFootprint | None,
        places: Places,
        accepts: frozenset[TableKey],
        *,
        at_rest: bool = False,
        for_ever: Yield | None = None,
    ) -> Shape:
        shape = Shape(self._numbers, footprint, places, accepts, at_rest=at_rest, for_ever=for_ever)
        self._numbers += 1
        self._living[shape.number] = shape
        finalize(shape, self._end, shape.number).atexit = False
        return shape

    def _end(self, number: int) -> None:
        """Forgets what was kept of this shape elsewhere once there is as much to forget as there is to keep, so that it costs
        little."""
        self._ended.add(number)
        if len(self._ended) > len(self._living):
            ended, self._ended = self._ended, set()
            for shape in list(self._living.values()):
                for kept in shape.conflicts.keys() & ended:
                    del shape.conflicts[kept]


def _cost(one: Shape, other: Shape) -> int:
    footprints = [shape.footprint for shape in (one, other) if shape.footprint is not None]
    return 1 + sum(len(footprint.tables) for footprint in footprints) // _STATEMENTS


def _conflict_of(one: Shape, other: Shape) -> Conflict | None:
    match one.footprint, other.footprint:
        case JobFootprint() as mine, JobFootprint() as theirs if other.at_rest:
            return conflict_at_rest(theirs, mine)
        case JobFootprint() as mine, JobFootprint() as theirs if one.at_rest:
            return conflict_at_rest(mine, theirs)
        case JobFootprint() as mine, JobFootprint() as theirs:
            return conflict_between(mine, theirs, one.accepts & other.accepts)
        case (JobFootprint() as known, None) | (None, JobFootprint() as known):
            return conflict_where_met(known, one.places if other.footprint is known else other.places)
    raise ValueError("two holders are never compared")
