"""What Spark does with each shape: which partitions the files of its commit lie in, or why it refuses the statement.

Each shape finds its table in its first state, so that what it does depends on nothing that ran before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from contract.harness.creation import create_table
from contract.harness.first_state import FirstState
from contract.harness.session import activate
from contract.shapes.generator import Shape
from contract.shapes.tables import TARGETS, events_build
from contract.shapes.tables import Target as Table
from sluice_runner.plan import Source, Target, Write
from sluice_runner.write import run

EVENTS = "events"

Partition = Mapping[str, str | None]


@dataclass(frozen=True)
class Done:
    """What became of a shape."""

    name: str
    refused: str | None = None
    added: Sequence[Partition] = ()
    removed: Sequence[Partition] = ()
    commits: int = 0
    metadata: bool = False
    blind: bool = False
    """Delta says of the commit that it looked at nothing."""

    @property
    def ran(self) -> bool:
        return self.refused is None

    def as_line(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @staticmethod
    def from_line(line: str) -> Done:
        return Done(**json.loads(line))


def build_tables(spark: SparkSession, folder: Path) -> None:
    """Every table in its first state, in a folder of its name."""
    for statement in events_build():
        spark.sql(statement.replace("{target}", str(folder / EVENTS)))
    for name, target in TARGETS.items():
        _create(spark, target, folder / name)
        spark.sql(target.fill.replace("{target}", str(folder / name)))


def _create(spark: SparkSession, target: Table, place: Path) -> None:
    create_table(
        spark,
        place,
        [(column.name, column.type) for column in target.columns],
        partition_columns=[column.name for column in target.columns if column.partition],
        generated={column.name: column.generated for column in target.columns if column.generated},
    )


def carry_out(spark: SparkSession, folder: Path, shapes: Iterable[Shape]) -> Iterator[Done]:
    """Needs the tables of `build_tables` in the folder."""
    shared = spark.newSession()
    activate(spark)
    tables: dict[str, FirstState] = {}
    for shape in shapes:
        if shape.target not in tables:
            activate(spark)
            tables[shape.target] = FirstState(spark, folder / shape.target)
        # What a shape sets, and its views, are gone with its session; most shapes have neither.
        session = shared if len(shape.statements) == 1 else spark.newSession()
        yield _carried_out(session, folder / EVENTS, shape, tables[shape.target])
    activate(spark)


def _carried_out(session: SparkSession, events: Path, shape: Shape, table: FirstState) -> Done:
    refused = None
    activate(session)
    *before, last = (
        text.replace("{target}", str(table.place)).replace("{events}", str(events))
        for text in shape.statements
    )
    try:
        for statement in before:
            session.sql(statement)
        if shape.write is None:
            session.sql(last)
        else:
            run(session, _write(table.place, last, shape.write))
    except (PySparkException, Py4JJavaError) as error:
        refused = _first_line(error)
    commits = table.commits()
    actions = [
        json.loads(line) for commit in commits for line in commit.read_text(encoding="utf-8").splitlines()
    ]
    table.restore()
    return _done(shape.name, refused, actions, len(commits))


def _write(place: Path, query: str, write: Mapping[str, str]) -> Write:
    return Write(
        Target(path=str(place), name=None),
        Source(sql=query, format=None, path=None, options={}, options_from_env={}),
        mode=write["mode"],
        replace_where=write.get("replaceWhere"),
        schema_evolution=False,
        txn_app_id=None,
        txn_version=None,
    )


def _done(name: str, refused: str | None, actions: Sequence[Mapping[str, Any]], commits: int) -> Done:
    def partitions(kind: str) -> list[Partition]:
        found = [action[kind].get("partitionValues") or {} for action in actions if kind in action]
        return [dict(pairs) for pairs in dict.fromkeys(tuple(sorted(one.items())) for one in found)]

    infos = [action["commitInfo"] for action in actions if "commitInfo" in action]
    return Done(
        name,
        refused=refused,
        added=partitions("add"),
        removed=partitions("remove"),
        commits=commits,
        metadata=any("metaData" in action for action in actions),
        # Of its own commit: others may follow from it.
        blind=bool(infos) and infos[0].get("isBlindAppend", False),
    )


def _first_line(error: PySparkException | Py4JJavaError) -> str:
    text = str(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)
    return next((line for line in text.splitlines() if line.strip()), type(error).__name__)[:300]
