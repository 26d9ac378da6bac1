"""What Sluice says of each shape beforehand, held against what Spark did: no file outside of what was foretold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from deltalake import DeltaTable

from contract.shapes.carrying import EVENTS, Done, Partition
from contract.shapes.generator import Shape
from contract.shapes.tables import EVENTS as EVENT_COLUMNS
from contract.shapes.tables import TARGETS, Target
from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import NotUnderstoodError, TableFootprint, footprint_of
from sluice.predicates import Kind, PredicateError, Region, Table
from sluice.tables import TableFacts, TableKey, key_of_path
from sluice.tables.snapshot import facts_of

TARGET_PATH = "/lake/target"
EVENTS_PATH = "/lake/events"
_CONF = {"spark.sql.session.timeZone": "UTC"}
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Foretold:
    footprint: TableFootprint | None
    refused: str | None = None
    hooks: tuple[TableFootprint, ...] = ()
    """What the same commit sets off, such as auto-compaction."""

    @property
    def is_narrow(self) -> bool:
        """It leaves some partition to others."""
        f = self.footprint
        return f is not None and not f.adds.is_everything and not f.removes.is_everything


@dataclass(frozen=True)
class Judged:
    shape: Shape
    foretold: Foretold
    done: Done
    missed: tuple[str, ...]

    def __str__(self) -> str:
        f = self.foretold.footprint
        write = f" ({dict(self.shape.write)})" if self.shape.write is not None else ""
        told = f.writes_text if f is not None else self.foretold.refused
        return (
            f"shape {self.shape.name} ({', '.join(self.shape.kinds)}) on {TARGETS[self.shape.target].definition}:\n"
            f"{self.shape.text}{write}\n  missed: {'; '.join(self.missed)}\n  foretold to add in {told}\n"
            f"  Spark added {list(self.done.added)}\n  Spark removed {list(self.done.removed)}\n"
            f"  as a line of once_missed.jsonl:\n{self.as_line('what the reader did not know')}"
        )

    def as_line(self, cause: str) -> str:
        """Returns the line that records what was missed once."""
        found = {"cause": cause, "shape": asdict(self.shape), "done": asdict(self.done)}
        return json.dumps(found, ensure_ascii=False)


@dataclass(frozen=True)
class Tally:
    judged: Sequence[Judged]

    @property
    def missed(self) -> list[Judged]:
        return [one for one in self.judged if one.missed]

    @property
    def ran(self) -> list[Judged]:
        return [one for one in self.judged if one.done.ran]

    @property
    def admitted(self) -> list[Judged]:
        """Spark ran them, and Sluice says what they touch."""
        return [one for one in self.ran if one.foretold.footprint is not None]

    @property
    def narrow(self) -> list[Judged]:
        return [one for one in self.admitted if one.foretold.is_narrow]

    def __str__(self) -> str:
        return (
            f"{len(self.judged)} shapes: Spark ran {len(self.ran)}, of which Sluice refuses {len(self.ran) - len(self.admitted)}"
            f" and {len(self.narrow)} stay narrower than the table; {len(self.missed)} missed"
        )


class Foreteller:
    """Says what shapes will touch, from what is known of their tables."""

    def __init__(self, facts: Mapping[str, TableFacts], delta_version: str) -> None:
        self._facts = facts
        self._version = delta_version

    @classmethod
    def by_logs(cls, folder: Path, delta_version: str) -> Foreteller:
        return cls({name: facts_of(DeltaTable(folder / name)) for name in (EVENTS, *TARGETS)}, delta_version)

    @classmethod
    def by_definitions(cls, delta_version: str) -> Foreteller:
        """Where no table is at hand; what a log says of these tables isn't more."""
        events = {name: type_.partition("<")[0].lower() for name, type_ in EVENT_COLUMNS.items()}
        targets = {name: _defined(target) for name, target in TARGETS.items()}
        return cls({EVENTS: TableFacts(columns=Table.of(events)), **targets}, delta_version)

    def foretold(self, shape: Shape, *, knows_source: bool = True) -> Foretold:
        target, events = key_of_path(TARGET_PATH), key_of_path(EVENTS_PATH)
        facts: dict[TableKey, TableFacts] = {target: self._facts[shape.target], events: self._facts[EVENTS]}
        sql = shape.text.replace("{target}", TARGET_PATH).replace("{events}", EVENTS_PATH)
        work: dict[str, Any] = {"sql": sql}
        if shape.write is not None:
            work = {"write": {"table": {"path": TARGET_PATH}, "source": {"sql": sql}, **shape.write}}
        spec = DeltaWriteJobSpec.model_validate(work)
        try:
            found = footprint_of(
                spec,
                _CONF,
                facts=facts,
                sources={events: facts[events]} if knows_source else {},
                delta_version=self._version,
            )
        except (NotUnderstoodError, PredicateError) as error:
            return Foretold(None, str(error))
        (footprint,) = (one for one in found.tables if not one.hook)
        assert {one.table for one in found.tables} == {target}
        return Foretold(footprint, hooks=tuple(one for one in found.tables if one.hook))


def _defined(target: Target) -> TableFacts:
    return TableFacts(
        columns=Table.of(
            [(column.name, column.type.lower()) for column in target.columns],
            [column.name for column in target.partition_columns],
        ),
        generated_columns={column.name: column.generated for column in target.columns if column.generated},
    )


def judged(teller: Foreteller, shapes: Iterable[Shape], done: Iterable[Done]) -> Tally:
    return Tally([_judge(teller, shape, one) for shape, one in zip(shapes, done, strict=True)])


def _judge(teller: Foreteller, shape: Shape, done: Done) -> Judged:
    """Judges what is foretold with and without knowing the columns of the source."""
    assert shape.name == done.name
    foretold = teller.foretold(shape)
    missed = [
        why
        for one in (foretold, teller.foretold(shape, knows_source=False))
        if one.footprint is not None
        for why in _missed(one.footprint, one.hooks, done)
    ]
    return Judged(shape, foretold, done, tuple(dict.fromkeys(missed)))


def _missed(foretold: TableFootprint, hooks: Sequence[TableFootprint], done: Done) -> Iterable[str]:
    for what, regions, partitions in (
        ("adds", [one.adds for one in (foretold, *hooks)], done.added),
        ("removes", [one.removes for one in (foretold, *hooks)], done.removed),
    ):
        outside = [
            partition for partition in partitions if not any(holds(region, partition) for region in regions)
        ]
        if outside:
            yield f"{what} outside of what was foretold: {outside}"
    if done.metadata and not foretold.changes_metadata:
        yield "changes metadata, which wasn't foretold"
    if done.commits and foretold.is_blind and not done.blind:
        yield "isn't blind, though foretold so"
    if done.ran and foretold.certain and not done.commits:
        yield "commits nothing, though it surely would"
    if done.ran and foretold.adds_surely and not done.added:
        yield "adds nothing, though it surely would"


def holds(region: Region, partition: Partition) -> bool:
    """Whether the region has the partition, as a log writes it down."""
    values = {name.lower(): value for name, value in partition.items()}
    coded = {
        axis: _code(column.type.kind, values.get(column.name.lower()), axis)
        for axis, column in region.columns.items()
    }
    return region.may_hold(coded)


def _code(kind: Kind, text: str | None, axis: str) -> int | str | None:
    if text is None or text == "":
        return None
    if kind is Kind.DATE:
        return (date.fromisoformat(text) - date(1970, 1, 1)).days
    if kind is Kind.TIMESTAMP_NTZ:
        return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)
    if kind is Kind.TIMESTAMP:
        # By the clock of the session's zone, which the axis names. A text without a zone is read by that clock, too.
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            moment = moment.astimezone(ZoneInfo(axis.rpartition(" in ")[2]))
        return (moment.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)
    if kind is Kind.BOOLEAN:
        return int(text == "true")
    return int(text) if kind is Kind.INTEGER else text
