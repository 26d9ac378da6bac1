"""What the jobs of a trace are to each other. Equal footprints are judged once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sluice.conflicts import Level
from sluice.conflicts.oracle import worst_for
from sluice.conflicts.places import Places, places_of
from sluice.footprint import JobFootprint


@dataclass
class Verdicts:
    _kinds: dict[bytes, int] = field(default_factory=dict)
    _footprints: list[JobFootprint] = field(default_factory=list)
    _places: list[Places] = field(default_factory=list)
    _levels: dict[tuple[int, int], Level] = field(default_factory=dict)

    def kind_of(self, footprint: JobFootprint) -> int:
        """The same number for all footprints that get the same verdicts."""
        kind = self._kinds.setdefault(footprint.fingerprint, len(self._kinds))
        if kind == len(self._footprints):
            self._footprints.append(footprint)
            self._places.append(places_of(footprint))
        return kind

    def level(self, loser: int, winner: int) -> Level:
        """What happens to the loser if the winner commits while it computes."""
        known = self._levels.get((loser, winner))
        if known is None:
            known = self._levels[loser, winner] = self._judged(loser, winner)
        return known

    def apart(self, one: int, other: int) -> bool:
        """Whether the two must not run side by side."""
        return self.level(one, other) > Level.NEVER or self.level(other, one) > Level.NEVER

    @property
    def judged(self) -> int:
        return len(self._levels)

    @property
    def kinds(self) -> Sequence[JobFootprint]:
        return self._footprints

    def _judged(self, loser: int, winner: int) -> Level:
        if not self._places[loser].may_meet(self._places[winner]):
            return Level.NEVER
        return worst_for(self._footprints[loser], self._footprints[winner])[1].level
