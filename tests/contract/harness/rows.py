"""One row of the truth: two jobs on one table, and what Delta did with each order of them.

A row is a question until it has outcomes. Jobs are specs of DeltaWriteJobs in which {table}, {source} and
{checkpoint} stand for places that exist only while a race is run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Spec = Mapping[str, Any]

FIRST_LOSES, SECOND_LOSES = "firstLoses", "secondLoses"
DIRECTIONS = (FIRST_LOSES, SECOND_LOSES)

PLACES = {"{table}": "/lake/table", "{source}": "/lake/source", "{checkpoint}": "/lake/checkpoints"}
"""What readers of the truth see where the recorder had folders of its own."""


@dataclass(frozen=True)
class Outcome:
    """What became of the loser, which began first, was held before its commit, and went on after the winner's."""

    outcome: str
    """ok, or the exception's class."""
    error_class: str | None = None
    held: bool = True
    """Whether the loser came to a commit and was held there; else it found nothing to do or failed by itself."""
    winner: str | None = None
    """The exception's class if the winner failed."""

    @property
    def raced(self) -> bool:
        return self.held and self.winner is None

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"outcome": self.outcome}
        if not self.held:
            found["held"] = False
        if self.error_class is not None:
            found["errorClass"] = self.error_class
        if self.winner is not None:
            found["winner"] = self.winner
        return found

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Outcome:
        return Outcome(
            value["outcome"], value.get("errorClass"), value.get("held", True), value.get("winner")
        )


@dataclass(frozen=True)
class Touched:
    """What one job's commits did when it won: files added and removed, and in how many partitions."""

    added: int
    removed: int
    partitions: int

    @property
    def anything(self) -> bool:
        return self.partitions > 0

    def as_json(self) -> list[int]:
        return [self.added, self.removed, self.partitions]

    @staticmethod
    def from_json(value: list[int] | None) -> Touched | None:
        return None if value is None else Touched(*value)


@dataclass(frozen=True)
class Row:
    id: str
    layout: str
    first: Spec
    second: Spec
    kinds: tuple[str, str]
    partitions: str
    """same, disjoint, unknown (can't be told from the jobs) or none (one of them touches no rows)."""
    opaque: tuple[str, ...] = ()
    """Functions that no reader of SQL can see through."""
    addressed: tuple[int, int] | None = None
    """For generated pairs: how many of the table's partitions each job's conditions admit."""
    shared_beyond: bool = False
    """For generated pairs: both jobs admit a partition that the table doesn't have."""
    refused: bool = False
    """Sluice takes one of these jobs from nobody, so it foretells nothing; the row shows what would be foretold wrongly."""
    before: Spec | None = None
    """A third job, which ran to its end after the two were told what they touch and before they ran."""
    touched: tuple[Touched | None, Touched | None] = (None, None)
    """None where the job failed as the winner."""
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    """firstLoses and secondLoses."""

    @property
    def populated(self) -> bool:
        """Whether both jobs touched files in every partition that they address, as far as it is known what they
        address; else whether both touched any."""
        if self.shared_beyond or any(touched is None or not touched.anything for touched in self.touched):
            return False
        return self.addressed is None or all(
            touched is not None and touched.partitions == addressed
            for touched, addressed in zip(self.touched, self.addressed, strict=True)
        )

    def answered(
        self, outcomes: Mapping[str, Outcome], touched: tuple[Touched | None, Touched | None]
    ) -> Row:
        return replace(self, outcomes=outcomes, touched=touched)

    def as_line(self) -> str:
        value: dict[str, Any] = {
            "id": self.id,
            "layout": self.layout,
            "first": self.first,
            "second": self.second,
            "kinds": self.kinds,
            "partitions": self.partitions,
        }
        if self.opaque:
            value["opaque"] = self.opaque
        if self.addressed is not None:
            value["addressed"] = self.addressed
        if self.shared_beyond:
            value["sharedBeyond"] = True
        if self.refused:
            value["refused"] = True
        if self.before is not None:
            value["before"] = self.before
        if self.outcomes:
            value["touched"] = [touched and touched.as_json() for touched in self.touched]
            value["outcomes"] = {key: outcome.as_json() for key, outcome in self.outcomes.items()}
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    @staticmethod
    def from_line(line: str) -> Row:
        value = json.loads(line)
        addressed = value.get("addressed")
        touched = [Touched.from_json(found) for found in value.get("touched", [None, None])]
        return Row(
            id=value["id"],
            layout=value["layout"],
            first=value["first"],
            second=value["second"],
            kinds=(value["kinds"][0], value["kinds"][1]),
            partitions=value["partitions"],
            opaque=tuple(value.get("opaque", ())),
            addressed=None if addressed is None else (addressed[0], addressed[1]),
            shared_beyond=value.get("sharedBeyond", False),
            refused=value.get("refused", False),
            before=value.get("before"),
            touched=(touched[0], touched[1]),
            outcomes={key: Outcome.from_json(found) for key, found in value.get("outcomes", {}).items()},
        )


def placed(spec: Spec, places: Mapping[str, str]) -> Spec:
    """The spec with its placeholders filled in."""
    text = json.dumps(spec)
    for placeholder, place in places.items():
        text = text.replace(placeholder, place)
    filled: Spec = json.loads(text)
    return filled
