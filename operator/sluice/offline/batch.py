"""`sluice explain --batch`: pairs of jobs as JSON lines, answered one line each, in the same order."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Verdict, pair_of
from sluice.footprint import JobFootprint, NotUnderstoodError, footprint_of
from sluice.predicates import PredicateError, Table
from sluice.tables import Dialect, LogStore, TableFacts, TableKey, databricks, delta_rs, oss
from sluice.tables.declared import LOG_STORES

Json = dict[str, Any]

_LOG_STORES = {
    **{store.value: store for store in LogStore},
    **{kind.value.lower(): store for kind, store in LOG_STORES.items()},
    "catalog-managed": LogStore.SAFE,
}


class BadLineError(Exception):
    """Why a line has no answer."""


def answers(lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield json.dumps(answer(line, number), ensure_ascii=False)


def answer(line: str, number: int) -> Json:
    """`number` names a line that has no id of its own."""
    name: object = number
    try:
        asked = _object(json.loads(line, parse_constant=_no_number), "the line")
        name = asked.get("id", number)
        return {"id": name, **explained(asked)}
    except json.JSONDecodeError as error:
        return {"id": name, "error": f"this is no JSON: {error}"}
    except RecursionError:
        return {"id": name, "error": "the line is nested too deeply"}
    except (BadLineError, NotUnderstoodError, PredicateError) as error:
        return {"id": name, "error": str(error)}


def explained(asked: Mapping[str, Any]) -> Json:
    pair = pair_of(*jobs_of(asked))
    return {
        "together": pair.together,
        "order": pair.order.value,
        "firstLoses": verdict_json(pair.first_loses),
        "secondLoses": verdict_json(pair.second_loses),
    }


def jobs_of(asked: Mapping[str, Any]) -> tuple[JobFootprint, JobFootprint]:
    """The two jobs of a line, on one table."""
    table = json.dumps(_object(asked.get("table"), "table"))
    _facts(table)  # what is wrong with the table is said first
    specs = {name: json.dumps(_object(asked.get(name), name)) for name in ("first", "second")}
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
        problem = error.errors()[0]
        place = ".".join(str(part) for part in (name, *problem["loc"]))
        raise BadLineError(f"{place}: {problem['msg']}") from error
    except NotUnderstoodError as error:
        raise BadLineError(f"{name}: {error}") from error


@lru_cache(maxsize=4096)
def _understood(spec: str, table: str, known: TableKey | None) -> JobFootprint:
    """A job on a table of which all that it touches is told, or one: in pairs of a few jobs each comes again and again."""
    job, facts = DeltaWriteJobSpec.model_validate(json.loads(spec)), _facts(table)
    conf = dict(job.runtime.spark_conf or {}) if job.runtime is not None else {}
    return footprint_of(job, conf, facts=_AnyTable(facts) if known is None else {known: facts})


@lru_cache(maxsize=256)
def _facts(table: str) -> TableFacts:
    return facts_of(json.loads(table))


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
    """What each calls the table that both address: by the same name if they share one."""
    for mine, theirs in (
        (first.keys, second.keys),
        (first.streams_from, second.keys),
        (first.keys, second.streams_from),
        (first.reads.tables, _vacuumed(second)),
        (_vacuumed(first), second.reads.tables),
    ):
        for key in mine:
            if key in theirs:
                return key, key
    return first.keys[0], second.keys[0]


def _vacuumed(job: JobFootprint) -> tuple[TableKey, ...]:
    return tuple(footprint.table for footprint in job.vacuums)


def facts_of(table: Mapping[str, Any]) -> TableFacts:
    columns = [_column(column) for column in _list(table.get("schema"), "table.schema")]
    partitions = [str(name) for name in _list(table.get("partitionColumns"), "table.partitionColumns")]
    properties = _object(table.get("properties") or {}, "table.properties")
    level = table.get("isolationLevel") or properties.get("delta.isolationLevel")
    return TableFacts(
        columns=Table.of(columns, partitions),
        clustering_columns=tuple(
            str(name) for name in _list(table.get("clusteringColumns"), "table.clusteringColumns")
        ),
        properties={str(key): str(value) for key, value in properties.items()},
        identity_columns=frozenset(
            str(name).lower() for name in _list(table.get("identityColumns"), "table.identityColumns")
        ),
        generated_columns={
            str(name): str(text)
            for name, text in _object(table.get("generatedColumns") or {}, "table.generatedColumns").items()
        },
        write_serializable=str(level).lower() == "writeserializable",
        serializable=level is not None and str(level).lower() != "writeserializable",
        exists=bool(columns),
        dialect=_dialect(table.get("dialect")),
        log_store=_log_store(table.get("logStore")),
    )


def _no_number(text: str) -> None:
    raise BadLineError(f"this is no JSON: {text} is no number there")


def _column(value: object) -> tuple[str, str]:
    given = _object(value, "a column of table.schema")
    if not isinstance(given.get("name"), str) or given.get("type") is None:
        raise BadLineError(f"table.schema: a column needs a name and a type, not {json.dumps(given)[:80]}")
    return given["name"], _type(given["type"])


def _type(value: object) -> str:
    return value if isinstance(value, str) else str(_object(value, "a column's type").get("type", "unknown"))


def _dialect(value: object) -> Dialect | None:
    if value is None:
        return None
    given = _object(value, "table.dialect")
    name = given.get("name")
    if name == "oss":
        return oss(_text(given.get("version")))
    if name == "databricks":
        return databricks(_text(given.get("runtime")), photon=_flag(given.get("photon")))
    if name == "delta-rs":
        return delta_rs(_text(given.get("version")))
    raise BadLineError(f"table.dialect.name must be oss, databricks or delta-rs, not {name!r}")


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _flag(value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise BadLineError(f"table.dialect.photon must be true or false, not {value!r}")


def _log_store(value: object) -> LogStore | None:
    if value is None:
        return None
    found = _LOG_STORES.get(str(value).lower())
    if found is None:
        raise BadLineError(f"table.logStore must be S3DynamoDB, Safe or S3SingleDriver, not {value!r}")
    return found


def verdict_json(verdict: Verdict) -> Json:
    return {
        "verdict": str(verdict.level),
        "exception": verdict.exception,
        "rule": verdict.rule,
        "reason": verdict.reason,
        "overlap": verdict.overlap,
        "advice": verdict.advice,
    }


def _object(value: object, place: str) -> Json:
    if not isinstance(value, dict):
        raise BadLineError(f"{place} must be an object")
    return value


def _list(value: object, place: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadLineError(f"{place} must be a list")
    return value
