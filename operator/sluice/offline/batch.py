"""`sluice explain --batch`: pairs of jobs as JSON lines, answered one line each, in the same order."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from sluice.api.base import Json
from sluice.api.job import DeltaWriteJobSpec
from sluice.api.problems import problems_of
from sluice.conflicts import Level, pair_of
from sluice.footprint import JobFootprint, NotUnderstoodError, footprint_of
from sluice.offline.answers import pair_json
from sluice.offline.given_facts import UnusableError, facts_of, object_in
from sluice.offline.jobs import settings_of
from sluice.offline.pairs import advised
from sluice.predicates import PredicateError
from sluice.tables import TableFacts, TableKey


def answers(lines: Iterable[str]) -> Iterator[Json]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield answer(line, number)


def answer(line: str, number: int) -> Json:
    """Answers a line; `number` names a line that has no id of its own."""
    name: object = number
    try:
        asked = object_in(json.loads(line, parse_constant=_no_number), "the line")
        name = asked.get("id", number)
        return {"id": name, **explained(asked)}
    except json.JSONDecodeError as error:
        return {"id": name, "error": f"this is not JSON: {error}"}
    except RecursionError:
        return {"id": name, "error": "the line is nested too deeply"}
    except (UnusableError, NotUnderstoodError, PredicateError) as error:
        return {"id": name, "error": str(error)}


def level_of(answer: Json) -> Level:
    """The worse verdict of an answer that has no error."""
    return max(Level[answer[side]["verdict"].upper()] for side in ("firstLoses", "secondLoses"))


def explained(asked: Mapping[str, Any]) -> Json:
    first, second = jobs_of(asked)
    return pair_json(pair_of(first, second), advised(first, second))


def jobs_of(asked: Mapping[str, Any]) -> tuple[JobFootprint, JobFootprint]:
    """Returns the two jobs of a line, on one table."""
    table = json.dumps(object_in(asked.get("table"), "table"))
    _facts(table)  # what is wrong with the table is said first
    specs = {name: json.dumps(object_in(asked.get(name), name)) for name in ("first", "second")}
    first, second = (_named(name, spec, table) for name, spec in specs.items())
    mine, theirs = _shared(first, second)
    if len(first.keys) > 1:
        first = _named("first", specs["first"], table, mine)
    if len(second.keys) > 1:
        second = _named("second", specs["second"], table, theirs)
    return first, second.renamed(theirs, mine)


def _named(name: str, spec: str, table: str, known: TableKey | None = None) -> JobFootprint:
    try:
        return _understood(spec, table, known)
    except ValidationError as error:
        raise UnusableError(problems_of(error, name, most=1, of=DeltaWriteJobSpec)) from error
    except NotUnderstoodError as error:
        raise UnusableError(f"{name}: {error}") from error


@lru_cache(maxsize=4096)
def _understood(spec: str, table: str, known: TableKey | None) -> JobFootprint:
    """Understands a job by the table's facts, under whatever name it asks for them or under the known one; cached, because in
    pairs of a few jobs each comes again and again."""
    job, facts = DeltaWriteJobSpec.model_validate(json.loads(spec)), _facts(table)
    return footprint_of(job, settings_of(job), facts=_AnyTable(facts) if known is None else {known: facts})


@lru_cache(maxsize=256)
def _facts(table: str) -> TableFacts:
    try:
        return facts_of(json.loads(table))
    except UnusableError as error:
        raise UnusableError(error.why, "table", *error.at) from error


class _AnyTable(Mapping[TableKey, TableFacts]):
    """The facts of the one table, under whatever name it is asked for."""

    def __init__(self, facts: TableFacts) -> None:
        self._facts = facts

    def __getitem__(self, key: TableKey) -> TableFacts:
        return self._facts

    def __iter__(self) -> Iterator[TableKey]:
        yield TableKey("the table", is_name=True)

    def __len__(self) -> int:
        return 1


def _shared(first: JobFootprint, second: JobFootprint) -> tuple[TableKey, TableKey]:
    """Says what each calls the table that both address: by the same name if they share one."""
    for mine, theirs in (
        (first.keys, second.keys),
        (first.streamed, second.keys),
        (first.keys, second.streamed),
        (first.reads.tables, _vacuumed(second)),
        (_vacuumed(first), second.reads.tables),
    ):
        for key in mine:
            if key in theirs:
                return key, key
    return first.keys[0], second.keys[0]


def _vacuumed(job: JobFootprint) -> tuple[TableKey, ...]:
    return tuple(footprint.table for footprint in job.vacuums)


def _no_number(text: str) -> None:
    raise UnusableError(f"this is not JSON: {text} is not a number there")
