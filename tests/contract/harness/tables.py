"""Real tables that are asked one statement after another, in the Spark of this process."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from contract.harness.first_state import FirstState
from contract.harness.session import activate

LOG = "_delta_log"
_SETS = ("reader_features", "writer_features")


@dataclass(frozen=True)
class Question:
    """Steps of one table, in this order."""

    table: str
    restored: bool = False
    """The table finds the state again that it had when this was first asked of it, before anything else."""
    loose_file: str | None = None
    """A file that no version names, as a writer has it before its commit."""
    aged_hours: float | None = None
    """How long ago all of its data files were written, from now on."""
    statements: Sequence[str] = ()
    """In a session of their own, with `{table}` for the table."""


@dataclass(frozen=True)
class Answer:
    """Why Spark refused, and the table after that, whether it did or not."""

    refused: str | None
    commits: tuple[tuple[str, ...], ...] = ()
    """The kinds of actions of each; with `domainMetadata` goes the domain."""
    reader_version: int = 1
    writer_version: int = 2
    reader_features: frozenset[str] = frozenset()
    writer_features: frozenset[str] = frozenset()
    properties: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    cluster_by: tuple[tuple[str, ...], ...] = ()
    files: tuple[str, ...] = ()
    """All that lie in its folder, whether a version names them or not."""

    def as_json(self) -> Mapping[str, Any]:
        return asdict(self) | {name: sorted(getattr(self, name)) for name in _SETS}

    @staticmethod
    def of(given: Mapping[str, Any]) -> Answer:
        return Answer(
            **{
                **given,
                **{name: frozenset(given[name]) for name in _SETS},
                **{name: tuple(map(tuple, given[name])) for name in ("commits", "cluster_by")},
                **{name: tuple(given[name]) for name in ("partition_by", "columns", "files")},
            }
        )


@dataclass(frozen=True)
class Asked:
    folder: Path
    """Where its tables lie, each in a folder of its name."""
    ask: Callable[[Question], Answer]
    plan: Callable[[Sequence[str], str, Sequence[str]], Sequence[str | None]]
    """Takes statements of a session, constant rows for a view `given`, and queries. Returns why Spark refuses to plan each
    query; to plan one of constant rows is to evaluate it."""

    def __call__(self, question: Question) -> Answer:
        return self.ask(question)


def in_this_spark(spark: Any, folder: Path) -> Asked:
    first_states: dict[str, FirstState] = {}
    return Asked(
        folder,
        lambda question: _answer(spark, folder, question, first_states),
        lambda statements, given, queries: _planned(spark, statements, given, queries),
    )


def _planned(spark: Any, statements: Sequence[str], given: str, queries: Sequence[str]) -> list[str | None]:
    session = spark.newSession()
    activate(session)
    for statement in statements:
        session.sql(statement)
    session.sql(given).createOrReplaceTempView("given")

    def planned(query: str) -> object:
        return session.sql(query)._jdf.queryExecution().optimizedPlan()

    return [_refusal(partial(planned, query)) for query in queries]


def _answer(spark: Any, folder: Path, question: Question, first_states: dict[str, FirstState]) -> Answer:
    table = folder / question.table
    if question.restored:
        if question.table in first_states:
            first_states[question.table].restore()
        else:
            first_states[question.table] = FirstState(spark, table)
    if question.loose_file is not None:
        (table / question.loose_file).write_bytes(b"")
    if question.aged_hours is not None:
        written = time.time() - question.aged_hours * 3600
        for file in _data_files(table):
            os.utime(table / file, (written, written))
    return _after(table, _refused(spark, table, question.statements))


def _refused(spark: Any, table: Path, statements: Sequence[str]) -> str | None:
    session = spark.newSession()
    activate(session)

    def run() -> None:
        for statement in statements:
            session.sql(statement.replace("{table}", f"delta.`{table}`"))

    return _refusal(run)


def _refusal(run: Callable[[], object]) -> str | None:
    try:
        run()
    except (PySparkException, Py4JJavaError) as error:
        return _first_line(error)
    return None


def _first_line(error: Any) -> str:
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else f"{java.getClass().getName()}: {java.getMessage()}"
    return text.strip().splitlines()[0][:300]


def _after(table: Path, refused: str | None) -> Answer:
    """By the files of its log: what an engine says of a table is no proof of what it wrote."""
    commits = sorted((table / LOG).glob("*[0-9].json"))
    actions = [
        [json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines()] for commit in commits
    ]
    kinds = tuple(tuple(_kind(action) for action in commit) for commit in actions)
    found: dict[str, Any] = {}
    clustering: dict[str, Any] | None = None
    for action in chain.from_iterable(actions):
        found |= {kind: action[kind] for kind in ("protocol", "metaData") if kind in action}
        domain = action.get("domainMetadata") or {}
        if domain.get("domain") == "delta.clustering":
            clustering = None if domain.get("removed") else json.loads(domain["configuration"])
    if not found:
        return Answer(refused, kinds)
    protocol, metadata = found["protocol"], found["metaData"]
    return Answer(
        refused,
        kinds,
        reader_version=protocol["minReaderVersion"],
        writer_version=protocol["minWriterVersion"],
        reader_features=frozenset(protocol.get("readerFeatures", ())),
        writer_features=frozenset(protocol.get("writerFeatures", ())),
        properties=dict(metadata.get("configuration") or {}),
        partition_by=tuple(metadata.get("partitionColumns") or ()),
        columns=tuple(column["name"] for column in json.loads(metadata["schemaString"])["fields"]),
        cluster_by=tuple(map(tuple, (clustering or {}).get("clusteringColumns", ()))),
        files=_data_files(table),
    )


def _kind(action: Mapping[str, Any]) -> str:
    (kind,) = action
    return f"{kind}:{action[kind]['domain']}" if kind == "domainMetadata" else kind


def _data_files(table: Path) -> tuple[str, ...]:
    return tuple(
        sorted(
            str(file.relative_to(table))
            for file in table.rglob("*.parquet")
            if LOG not in file.relative_to(table).parts
        )
    )
