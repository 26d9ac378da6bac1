"""Where catalog names led by the word of runs, whose drivers asked a catalog that others use as well.

A name that leads elsewhere than before leads to both places until nobody holds either; then to the newer one. What is forgotten is
bound to nothing again, and jobs by that name wait for all that it may be.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from json import dumps

from sluice.tables.identity import TableKey, key_of_path
from sluice.tables.names import spelled
from sluice.tables.owners import NOBODY, Owners

MOST_LEADS = 8
"""Of one name; the older ones are forgotten."""
MOST_BYTES = 768 * 1024
"""Of all names together, as they are written down: a ConfigMap holds 1 MiB."""
_AROUND_A_LEAD = 64
"""Bytes around what a lead says, as it is written down in JSON: a letter of another script takes six there."""

Held = Callable[[TableKey], bool]
"""Whether somebody holds what may be this table."""


_MOST_LOCATIONS = 1 << 14
"""That are kept as they were understood: most runs report what others have reported."""


@lru_cache(maxsize=_MOST_LOCATIONS)
def _table_at(location: str) -> TableKey:
    return key_of_path(location)


@dataclass(frozen=True)
class NameReport:
    location: str
    """As the driver reported it."""
    job: str
    """The job whose run said so, as namespace/name."""
    at: datetime
    """When that run ended."""

    @cached_property
    def table(self) -> TableKey:
        return _table_at(self.location)

    @property
    def namespace(self) -> str:
        return self.job.partition("/")[0]

    @cached_property
    def size(self) -> int:
        return len(dumps(self.location)) + len(dumps(self.job)) + _AROUND_A_LEAD


@dataclass(frozen=True)
class ReportedLocations:
    """Of one name, the newest last."""

    leads: tuple[NameReport, ...] = ()
    claims: tuple[NameReport, ...] = ()
    """By the word of those who have no say in where it leads."""

    @property
    def all(self) -> tuple[NameReport, ...]:
        return (*self.leads, *self.claims)

    @property
    def last(self) -> NameReport:
        return max(self.all, key=lambda lead: lead.at)

    @property
    def last_seen(self) -> datetime:
        return self.last.at

    def heard(self, lead: NameReport, *, is_claim: bool) -> "ReportedLocations":
        if is_claim:
            return ReportedLocations(self.leads, _with(self.claims, lead))
        return ReportedLocations(_with(self.leads, lead), self.claims)

    def unless_held(self, is_held: Held) -> "ReportedLocations":
        """Only the newest, if there are several and nobody holds what may be any of them."""
        newest = ReportedLocations(self.leads[-1:], () if self.leads else self.claims[-1:])
        return self if newest == self or any(is_held(lead.table) for lead in self.all) else newest


def _with(known: tuple[NameReport, ...], lead: NameReport) -> tuple[NameReport, ...]:
    """What is older than the newest tells of no other place: it was heard before, and has ended since."""
    others = tuple(one for one in known if one.table != lead.table)
    before = next((one for one in known if one.table == lead.table), None)
    if before is not None and before.at >= lead.at:
        return known
    if before is None and known and lead.at < known[-1].at:
        return known
    return tuple(sorted((*others, lead), key=lambda one: one.at))[-MOST_LEADS:]


@dataclass(frozen=True)
class ReportedNames:
    known: Mapping[TableKey, ReportedLocations] = field(default_factory=dict)

    @classmethod
    def of(cls, told: Iterable[tuple[TableKey, NameReport]], owners: Owners = NOBODY) -> "ReportedNames":
        return cls().heard(sorted(told, key=lambda one: one[1].at), owners)

    def heard(self, told: Iterable[tuple[TableKey, NameReport]], owners: Owners = NOBODY) -> "ReportedNames":
        """`owners`: who has a say in where which names lead."""
        known = dict(self.known)
        for name, lead in told:
            is_claim = owners.why_not(lead.namespace, (name, lead.table)) is not None
            known[name] = known.get(name, ReportedLocations()).heard(lead, is_claim=is_claim)
        return ReportedNames(known)

    def unless_held(self, is_held: Held) -> "ReportedNames":
        """The same names, each without those places where it led before, as far as nobody holds any of its places."""
        several = {name: self.known[name] for name in self.ambiguous}
        fewer = {name: left for name, one in several.items() if (left := one.unless_held(is_held)) != one}
        return ReportedNames({**self.known, **fewer}) if fewer else self

    def within(self, most_bytes: int, is_held: Held) -> "ReportedNames":
        """As many as there is room for: of those that nobody holds, those go first that nobody has spoken of for longest."""
        surplus = self.size - most_bytes
        if surplus <= 0:
            return self
        gone: set[TableKey] = set()
        for name in self._first_to_go(is_held):
            gone.add(name)
            surplus -= _size(name, self.known[name])
            if surplus <= 0:
                break
        return ReportedNames({name: one for name, one in self.known.items() if name not in gone})

    def _first_to_go(self, is_held: Held) -> Iterator[TableKey]:
        held: list[TableKey] = []
        for name in sorted(self.known, key=lambda name: self.known[name].last_seen):
            if any(is_held(lead.table) for lead in self.known[name].all):
                held.append(name)
            else:
                yield name
        yield from held

    @cached_property
    def size(self) -> int:
        """Bytes, as it is written down."""
        return sum(_size(name, one) for name, one in self.known.items())

    def of_name(self, name: TableKey) -> NameReport | None:
        """The newest place that was reported by those who have a say in it, however the name is spelled."""
        leads = [lead for one in spelled(name) for lead in self.known.get(one, ReportedLocations()).leads]
        return max(leads, key=lambda lead: lead.at, default=None)

    @cached_property
    def ambiguous(self) -> frozenset[TableKey]:
        """Names of which more than one place is known."""
        return frozenset(name for name, one in self.known.items() if len(one.all) > 1)

    @cached_property
    def leads(self) -> Mapping[TableKey, frozenset[TableKey]]:
        return {name: _tables(one.leads) for name, one in self.known.items() if one.leads}

    @cached_property
    def claims(self) -> Mapping[TableKey, frozenset[TableKey]]:
        return {name: _tables(one.claims) for name, one in self.known.items() if one.claims}


def _size(name: TableKey, one: ReportedLocations) -> int:
    return len(name.text) + sum(lead.size for lead in one.all)


def _tables(leads: Iterable[NameReport]) -> frozenset[TableKey]:
    return frozenset(lead.table for lead in leads)
