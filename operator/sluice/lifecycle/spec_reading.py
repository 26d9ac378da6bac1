"""What a process is asked to read of a job's spec, and what it answers: long SQL takes seconds to read."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps
from typing import Any, cast

from sluice.engines import RuntimeProfile
from sluice.footprint import JobFootprint, NotUnderstoodError
from sluice.lifecycle.work import Works
from sluice.tables import Names, TableFacts, TableKey
from sluice.tables.fingerprint import NoFingerprintError

FACTORY = f"{__name__}:reader"
READ_AT_ONCE = 2_500
"""Characters of a spec, as JSON, that are read where they are needed: in some 40 ms at most."""
AS_LONG_AGAIN = 500
"""Columns of a table that make each character take as long again, where a statement is held against all of them."""

_STAR = 20
"""Characters as which a star counts, because it stands for all columns."""

Found = JobFootprint | NotUnderstoodError


def weight_of(spec: Any) -> int:
    """How long the spec takes to read, in characters."""
    text = dumps(spec)
    return len(text) + _STAR * text.count("*")


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

    @property
    def key(self) -> str:
        """The same for specs that say the same, in one namespace."""
        return sha256(dumps([self.namespace, self.spec], sort_keys=True).encode()).hexdigest()

    def asks_the_same(self, other: "SpecQuestion") -> bool:
        return (
            self.names is other.names
            and self.profiles is other.profiles
            and self.spec == other.spec
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
    works = Works()
    profiles: Mapping[str, RuntimeProfile] = {}

    def read(asked: object) -> SpecAnswer:
        nonlocal profiles
        question = cast("SpecQuestion", asked)
        if question.profiles != profiles:
            profiles = question.profiles
        work = works.of(question.spec, profiles, question.namespace)
        try:
            footprint = (
                work.footprint_from_spec
                if question.names is None
                else work.footprint_with_facts(question.names, question.facts, question.sources)
            )
            if question.names is not None:
                with suppress(
                    NoFingerprintError
                ):  # the comparison with other jobs says what is wrong with it
                    footprint.fingerprint  # noqa: B018 - the answer has it with it: it takes a long time, too
            return SpecAnswer(footprint, work.unrepeatable)
        except NotUnderstoodError as error:
            return SpecAnswer(error)

    return read
