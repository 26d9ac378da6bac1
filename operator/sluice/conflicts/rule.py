"""A conflict rule as one record: what it decides and says, where that comes from, what illustrates it and what proves
it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sluice.conflicts.race import Race
from sluice.conflicts.verdict import Level, Verdict
from sluice.footprint.model import EVERYTHING
from sluice.predicates import Region

WHOLE_TABLE = (EVERYTHING, EVERYTHING)
"""Where two meet if it doesn't matter which partitions they touch."""


class Ruling(NamedTuple):
    """What a rule finds in one race: a verdict without the rule's id."""

    level: Level
    reason: str
    exception: str | None = None
    advice: str | None = None
    meeting: tuple[Region, Region] | None = None
    """The partitions of each that meet those of the other."""
    readers: str | None = None
    """What readers may see although, by the table's history, it never existed; no job aborts."""

    def by(self, rule: str) -> Verdict:
        level, reason, exception, advice, meeting, readers = self
        return Verdict(level, rule, reason, exception, advice, meeting, readers)


ExampleJob = str | Mapping[str, Any]
"""SQL or the spec of a job."""


@dataclass(frozen=True)
class Example:
    """Two jobs on one table that the rule decides: data for explaining and testing the rule."""

    loser: ExampleJob
    winner: ExampleJob
    partitioned: bool = True
    table: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the table besides its columns."""


class VersionDifference(NamedTuple):
    """Where documents, or documents and code, disagree, and what the rule does about it."""

    text: str
    findings: tuple[str, ...] = ()
    """Findings that disagree with the rule's own."""


Decide = Callable[[Race], Ruling | None]
"""A rule's decision; None where the rule has nothing to say."""


@dataclass(frozen=True, eq=False)
class Rule:
    id: str
    """The id in a job's status, in `sluice explain` and in `-o json`: the name of its function, with hyphens."""
    decide: Decide
    says: str
    sources: tuple[str, ...]
    """Ids of findings in docs/sources.md."""
    differs: VersionDifference | None
    exceptions: tuple[str, ...]
    """All exceptions that the loser may get by this rule; none if it gets no exception, or one that is not known."""
    example: Example
    proofs: tuple[str, ...]
    """Tests in tests/unit that fail without the rule."""

    def verdict(self, race: Race) -> Verdict | None:
        ruling = self.decide(race)
        return None if ruling is None else ruling.by(self.id)


def rule(
    *,
    says: str,
    example: Example,
    proofs: tuple[str, ...],
    sources: tuple[str, ...] = (),
    differs: VersionDifference | None = None,
    exceptions: tuple[str, ...] = (),
) -> Callable[[Decide], Rule]:
    """Makes a rule from the function that decides for it."""

    def made(decide: Decide) -> Rule:
        return Rule(
            decide.__name__.replace("_", "-"), decide, says, sources, differs, exceptions, example, proofs
        )

    return made


def decided(rules: Iterable[Rule], race: Race) -> Verdict | None:
    """Returns the verdict of the first rule that has something to say."""
    for one in rules:
        ruling = one.decide(race)
        if ruling is not None:
            return ruling.by(one.id)
    return None


def verdict_by(rules: Iterable[Rule], race: Race) -> Verdict:
    """Returns the verdict by rules whose last one always has something to say."""
    verdict = decided(rules, race)
    if verdict is None:
        raise LookupError("no rule decides this race: make the last rule decide every race")
    return verdict
