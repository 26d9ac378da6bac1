"""What a process is asked to read of a job's spec, and what it answers: long SQL takes seconds to read."""

import pickle
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps
from typing import Any, cast

from sluice.engines import RuntimeProfile
from sluice.footprint import Days, JobFootprint, NotUnderstoodError
from sluice.lifecycle.spec.compiled_spec import CompiledSpecs
from sluice.tables import Names, TableFacts, TableKey
from sluice.tables.fingerprint import NoFingerprintError

FACTORY = f"{__name__}:reader"
READ_AT_ONCE = 2_500
"""Characters of a spec, as JSON, that are read where they are needed: in some 40 ms at most."""
AS_LONG_AGAIN = 500
"""Columns of a table that make each character take as long again, where a statement is held against all of them."""

_ALL_COLUMNS = 40
"""Characters as which a star and a source count, because they stand for all columns."""
_VALUE = 4
"""Characters as which the beginning of a value counts: nothing else that takes as long to read is as short."""

_TODAY = 80
"""Characters as which each current_date() counts: its condition is read once for each day."""

Found = JobFootprint | NotUnderstoodError


def weight_of(spec: Any) -> int:
    """How long the spec takes to read, in characters."""
    text = dumps(spec).upper()
    values = text.count("(") + text.count(",")
    sources = text.count("*") + text.count("TABLE") + text.count("FROM")
    today = text.count("CURRENT_DATE") + text.count("CURDATE")
    weight = len(text) + _VALUE * values + _ALL_COLUMNS * sources + _TODAY * today
    return weight * (1 + text.count("VIEW") + text.count("WITH"))  # each may be used many times


def takes_long_to_read(weight: int, columns: int = 0) -> bool:
    """`columns`: of the widest of the tables that are known."""
    return weight * (AS_LONG_AGAIN + columns) > READ_AT_ONCE * AS_LONG_AGAIN


@dataclass(frozen=True, eq=False)
class SpecQuestion:
    """Asks for the footprint of a spec; without names, as far as the spec alone tells."""

    spec: Any
    profiles: Mapping[str, RuntimeProfile]
    namespace: str
    names: Names | None = None
    facts: Mapping[TableKey, TableFacts] = field(default_factory=dict)
    sources: Mapping[TableKey, TableFacts] = field(default_factory=dict)
    days: Days | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Table by table, because nothing else in this process goes on while one thing is packed."""
        packed = {name: [pickle.dumps(one) for one in state.items()] for name, state in self._known.items()}
        return vars(self) | packed

    def __setstate__(self, state: dict[str, Any]) -> None:
        unpacked = {name: dict(map(pickle.loads, state[name])) for name in ("facts", "sources")}
        vars(self).update(state | unpacked)

    @property
    def _known(self) -> Mapping[str, Mapping[TableKey, TableFacts]]:
        return {"facts": self.facts, "sources": self.sources}

    @property
    def key(self) -> str:
        """The same for specs that say the same, in one namespace."""
        asked = [self.namespace, self.spec, str(self.days)]
        return sha256(dumps(asked, sort_keys=True).encode()).hexdigest()

    def asks_the_same(self, other: "SpecQuestion") -> bool:
        """Whether it asks the same, where names lead to the same."""
        return (
            (self.names is None) == (other.names is None)
            and self.profiles is other.profiles
            and self.spec == other.spec
            and self.days == other.days
            and self.facts == other.facts
            and self.sources == other.sources
        )


@dataclass(frozen=True)
class SpecAnswer:
    footprint: Found
    unrepeatable: str | None = None
    """Why no other attempt could tell what is done."""


def reader() -> Callable[[object], object]:
    """Returns what answers in the process. It keeps the texts that it has read: questions about one spec come one after another."""
    works = CompiledSpecs()
    profiles: Mapping[str, RuntimeProfile] = {}
    names = Names()

    def read(asked: object) -> SpecAnswer:
        nonlocal profiles, names
        question = cast("SpecQuestion", asked)
        if question.profiles != profiles:
            profiles = question.profiles
        if question.names is not None and question.names != names:
            names = question.names
        work = works.of(question.spec, profiles, question.namespace, question.days)
        try:
            footprint = (
                work.footprint_from_spec
                if question.names is None
                else work.footprint_with_facts(names, question.facts, question.sources)
            )
            if question.names is not None:
                with suppress(
                    NoFingerprintError
                ):  # the comparison with other jobs says what is wrong with it
                    footprint.fingerprint  # noqa: B018 - the answer has it with it: it takes a long time, too
                footprint.prepare()
            return SpecAnswer(footprint, work.unrepeatable)
        except NotUnderstoodError as error:
            return SpecAnswer(error)

    return read
