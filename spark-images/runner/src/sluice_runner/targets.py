"""Which tables a SQL statement may commit to, as Spark's own parser understands it.

Because Spark is asked, comments, CTEs, quoting and Delta's own statements are understood here exactly as they will be
run. If a statement has a target, only the target counts; otherwise every table that it names counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import ParseException

from sluice_runner.java_classes import instance_check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TARGET_FIELD = {
    "AppendData": "table",
    "CloneTableStatement": "target",
    "CreateTableAsSelect": "name",
    "DeleteFromTable": "table",
    "InsertIntoStatement": "table",
    "MergeIntoTable": "targetTable",
    "OverwriteByExpression": "table",
    "OverwritePartitionsDynamic": "table",
    "ReplaceTableAsSelect": "name",
    "UpdateTable": "table",
}

_OPERATIONS = {
    "AppendData": "WRITE",
    "CloneTableStatement": "CLONE",
    "DeleteFromTable": "DELETE",
    "DeltaReorgTable": "REORG",
    "InsertIntoStatement": "WRITE",
    "MergeIntoTable": "MERGE",
    "OptimizeTableCommand": "OPTIMIZE",
    "OverwriteByExpression": "WRITE",
    "OverwritePartitionsDynamic": "WRITE",
    "RestoreTableStatement": "RESTORE",
    "TruncateTable": "TRUNCATE",
    "UpdateTable": "UPDATE",
    "VacuumTableCommand": "VACUUM",
}

CREATES_A_TABLE = frozenset({"CreateTable", "CreateTableAsSelect", "ReplaceTable", "ReplaceTableAsSelect"})
LIKE = frozenset({"CreateTableLike", "CreateTableLikeCommand"})

_PARTS = {
    "UnresolvedIdentifier": "nameParts",
    "UnresolvedRelation": "multipartIdentifier",
    "UnresolvedTable": "multipartIdentifier",
    "UnresolvedTableOrView": "multipartIdentifier",
    "UnresolvedView": "multipartIdentifier",
}

_BY_LOCATION = "UnresolvedPathBasedDeltaTable"
"""Statements that take a location as a string: VACUUM '/location' and OPTIMIZE '/location'."""

_HIDING = {
    "PlanWithUnresolvedIdentifier": "names its table by IDENTIFIER(...)",
    "CompoundBody": "is a SQL script",
    "ExecuteImmediateQuery": "is EXECUTE IMMEDIATE",
    "ExecuteImmediateCommand": "is EXECUTE IMMEDIATE",
    "UnresolvedExecuteImmediate": "is EXECUTE IMMEDIATE",
}

_FILL_A_CACHE = frozenset({"CacheTable", "CacheTableAsSelect"})
CHANGE_THE_SESSION = frozenset(
    {
        "ClearCacheCommand",
        "CreateFunctionCommand",
        "CreateSQLFunctionCommand",
        "CreateTempViewUsing",
        "CreateViewCommand",
        "DropFunctionCommand",
        "RefreshFunction",
        "RefreshResource",
        "RefreshTable",
        "ResetCommand",
        "SetCatalogAndNamespace",
        "SetCatalogCommand",
        "SetCommand",
        "SetNamespaceCommand",
        "UncacheTable",
    }
)
"""Commands that change what the next statements mean, in this session alone, and hold no table's rows."""
_OF_SESSION = CHANGE_THE_SESSION | _FILL_A_CACHE

_SPARKS_OWN = "__"
"""Before the names of options by which Spark's parser leaves word for its analyser."""
_PLAN = "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"
_TIME_TRAVEL = "org.apache.spark.sql.catalyst.TimeTravel"
_TABLE_IDENTIFIER = "org.apache.spark.sql.catalyst.TableIdentifier"
_SEQUENCE = "scala.collection.Seq"


class RefusedStatementError(Exception):
    """The statement was not run, because it cannot be told beforehand what it would do."""


@dataclass(frozen=True)
class ParsedStatement:
    """What a statement does, and the names of the tables that it may commit to."""

    operation: str | None
    """The statement's name in Delta's history, where that has one word for it."""
    command: str
    """The statement's name in Spark's parser."""
    names: tuple[tuple[str, ...], ...]
    writes_all: bool
    """Whether it writes each of these; otherwise it may only read some."""
    writes: int
    """How many writes it is: several, if INSERTs share a FROM."""
    is_of_session: bool
    """Whether it must run in every attempt, because the statements after it depend on it."""
    is_query: bool = False
    has_options: bool = False
    """Whether it gives the table that it writes options of its own."""
    setting: str | None = None
    """The setting that it sets."""
    provider: str | None = None
    """The format of the table that it creates, as it says after USING."""
    location: str | None = None
    """Where it says that the table lies which it creates."""


WRITE = "AppendData"
"""What a write that isn't a SQL statement counts as."""


def of_write(name: tuple[str, ...]) -> ParsedStatement:
    return ParsedStatement("WRITE", WRITE, (name,), writes_all=True, writes=1, is_of_session=False)


def analyse(spark: SparkSession, text: str) -> ParsedStatement:
    plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    command = _command(plan)
    found = _Names(spark)
    names = tuple(dict.fromkeys(found.of(plan)))
    provider, location = _created(plan) if command in CREATES_A_TABLE else (None, _cloned_to(plan, command))
    of_session = command in _OF_SESSION or (command == "DropView" and _is_temporary(spark, names))
    return ParsedStatement(
        _OPERATIONS.get(command),
        command,
        names,
        command in _TARGET_FIELD,
        found.writes,
        of_session,
        is_query=found.writes == 0 and is_query(spark, text),
        has_options=found.has_options,
        setting=_setting(plan) if command == "SetCommand" else None,
        provider=provider,
        location=location,
    )


def is_query(spark: SparkSession, text: str) -> bool:
    """Whether the text only selects rows. Spark's own error is raised for a text that Spark cannot parse."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    try:
        parser.parseQuery(text)
    except ParseException:
        parser.parsePlan(text)
        return False
    return True


def _setting(plan: Any) -> str | None:
    pair = plan.kv()
    return str(pair.get()._1()) if pair.isDefined() else None


def _created(plan: Any) -> tuple[str | None, str | None]:
    """The format and the location of the table that is created."""
    if simple_name(plan) == "UnresolvedWith":
        return _created(plan.child())
    spec = plan.tableSpec()
    return _of_option(spec.provider()), _of_option(spec.location())


def _cloned_to(plan: Any, command: str) -> str | None:
    return _of_option(plan.targetLocation()) if command == "CloneTableStatement" else None


def _of_option(option: Any) -> str | None:
    return str(option.get()) if option.isDefined() else None


def _is_temporary(spark: SparkSession, names: Sequence[Sequence[str]]) -> bool:
    catalog: Any = spark._jsparkSession.sessionState().catalog()
    return all(len(name) == 1 and catalog.getTempView(name[0]).isDefined() for name in names)


def _command(plan: Any) -> str:
    name = simple_name(plan)
    return _command(plan.child()) if name == "UnresolvedWith" else name


def name_in(plan: Any, kind: str) -> tuple[str, ...] | None:
    """The name for which a part of a parsed statement stands."""
    return _strings(getattr(plan, _PARTS[kind])()) if kind in _PARTS else None


def simple_name(node: Any) -> str:
    name: str = node.getClass().getSimpleName()
    return name.rstrip("$")  # what has no parameters is an object in Scala


class _Names:
    def __init__(self, spark: SparkSession) -> None:
        self._is = instance_check(spark)
        self.writes = 0
        self.has_options = False

    def of(self, plan: Any) -> Iterator[tuple[str, ...]]:
        kind = simple_name(plan)
        if kind in _HIDING:
            raise RefusedStatementError(
                f"the statement {_HIDING[kind]}, which hides the table that it writes from Sluice: name it in the statement"
            )
        if kind == _BY_LOCATION:
            yield ("delta", plan.path())
        elif (name := name_in(plan, kind)) is not None:
            yield name
        elif kind in _TARGET_FIELD:
            self.writes += 1
            target = getattr(plan, _TARGET_FIELD[kind])()
            self.has_options |= simple_name(target) == "UnresolvedRelation" and _has_options(target)
            yield from self.of(target)
        else:
            yield from self._of_parts(plan)

    def _of_parts(self, plan: Any) -> Iterator[tuple[str, ...]]:
        parts = plan.productIterator()
        while parts.hasNext():
            yield from self._of_part(parts.next())

    def _of_part(self, part: Any) -> Iterator[tuple[str, ...]]:
        if not hasattr(part, "getClass"):
            return
        if self._is(_PLAN, part):
            yield from self.of(part)
        elif self._is(_TIME_TRAVEL, part):
            yield from self.of(part.relation())
        elif self._is(_TABLE_IDENTIFIER, part):
            yield _strings(part.nameParts())
        elif self._is(_SEQUENCE, part):
            for index in range(part.length()):
                yield from self._of_part(part.apply(index))


def _has_options(relation: Any) -> bool:
    return any(not name.startswith(_SPARKS_OWN) for name in relation.options().keySet())


def _strings(sequence: Any) -> tuple[str, ...]:
    return tuple(sequence.apply(index) for index in range(sequence.length()))
