"""Most jobs come from a few templates: footprints that are equal in everything share one shape, and what two shapes are to each
other is worked out once, and kept as long as both are needed."""

from typing import Final
from weakref import WeakValueDictionary, finalize

from sluice.conflicts import Conflict, conflict_between
from sluice.conflicts.places import EVERYWHERE, Places, places_of
from sluice.footprint.model import JobFootprint


class Shape:
    """Kept by those who have it."""

    __slots__ = ("__weakref__", "footprint", "number", "places", "verdicts")

    def __init__(self, number: int, footprint: JobFootprint, places: Places) -> None:
        self.number: Final = number
        self.footprint: Final = footprint
        self.places: Final = places
        self.verdicts: dict[int, Conflict | None] = {}
        """Beside those that were there before it, by their numbers; inverted where the other one is asked about."""


class Shapes:
    def __init__(self) -> None:
        self._by_fingerprint: WeakValueDictionary[bytes, Shape] = WeakValueDictionary()
        self._living: WeakValueDictionary[int, Shape] = WeakValueDictionary()
        self._numbers = 0
        self._ended: set[int] = set()
        self.compared = 0
        """How often somebody asked what two are to each other."""
        self.worked_out = 0
        """How often that was not known."""

    def __len__(self) -> int:
        return len(self._living)

    @property
    def verdicts_kept(self) -> int:
        return sum(len(shape.verdicts) for shape in self._living.values())

    def of(self, footprint: JobFootprint) -> Shape:
        """Of one that cannot be told from others, or of which nobody can say where it meets others: a shape of its own, which
        is compared with all."""
        try:
            known = self._by_fingerprint.get(footprint.fingerprint)
            if known is None:
                known = self._by_fingerprint[footprint.fingerprint] = self._new(
                    footprint, places_of(footprint)
                )
        except Exception:  # noqa: BLE001 - what is wrong with it is told by the comparison
            return self._new(footprint, EVERYWHERE)
        return known

    def between(self, one: Shape, other: Shape) -> Conflict | None:
        """As `conflict_between` says of their footprints, in this order."""
        self.compared += 1
        if one.number >= other.number:
            verdicts, order, inverse = one.verdicts, other.number, ~other.number
        else:
            verdicts, order, inverse = other.verdicts, ~one.number, one.number
        if order in verdicts:
            return verdicts[order]
        if verdicts.get(inverse, _UNKNOWN) is None:
            return None  # which holds in both orders
        self.worked_out += 1
        found = verdicts[order] = conflict_between(one.footprint, other.footprint)
        return found

    def _new(self, footprint: JobFootprint, places: Places) -> Shape:
        shape = Shape(self._numbers, footprint, places)
        self._numbers += 1
        self._living[shape.number] = shape
        finalize(shape, self._end, shape.number).atexit = False
        return shape

    def _end(self, number: int) -> None:
        """What was kept of it elsewhere goes once there is as much of the like as of the rest, so that it costs little."""
        self._ended.add(number)
        if len(self._ended) > len(self._living):
            ended, self._ended = self._ended, set()
            for shape in list(self._living.values()):
                for kept in [one for one in shape.verdicts if one in ended or ~one in ended]:
                    del shape.verdicts[kept]


_UNKNOWN: Final = object()
