"""Real tables that are asked one statement after another, in the Spark of this process or in that of the other version, which
lives in an environment of its own: there this is a program, and questions come in and answers go out as lines of JSON.

    python -m contract.harness.tables FOLDER < questions > answers
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

LOG = "_delta_log"
_COMPILED_QUICKLY = "-XX:TieredStopAtLevel=1"
"""Better code would be done when the last question is."""


@dataclass(frozen=True)
class Question:
    """Steps of one table, in this order."""

    table: str
    copied_from: str | None = None
    """The table that it is a copy of, before anything else."""
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


@dataclass(frozen=True)
class Asked:
    folder: Path
    """Where its tables lie, each in a folder of its name."""
    ask: Callable[[Question], Answer]

    def __call__(self, question: Question) -> Answer:
        return self.ask(question)


def in_this_spark(spark: Any, folder: Path) -> Asked:
    return Asked(folder, lambda question: _answer(spark, folder, question))


@contextmanager
def in_the_other_spark(folder: Path) -> Iterator[Asked]:
    python, jars = os.environ.get("SLUICE_SPARK35_PYTHON"), os.environ.get("SLUICE_SPARK35_JARS")
    assert python, "SLUICE_SPARK35_PYTHON names no Python: run this by ./dev test or ./dev run"
    assert jars, "SLUICE_SPARK35_JARS names no jars: run this by ./dev test or ./dev run"
    environment = {**os.environ, "SLUICE_SPARK_JARS": jars, "PYSPARK_PYTHON": python}
    environment["JAVA_TOOL_OPTIONS"] = _COMPILED_QUICKLY
    environment.pop("SPARK_HOME", None)
    with subprocess.Popen(
        [python, "-m", "contract.harness.tables", str(folder)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, told = process.stdin, process.stdout

        def ask(question: Question) -> Answer:
            asked.write(f"{json.dumps(asdict(question))}\n")
            asked.flush()
            return _read(told.readline())

        yield Asked(folder, ask)
        asked.close()
        assert process.wait(60) == 0


def _read(line: str) -> Answer:
    given = json.loads(line)
    return Answer(
        **{
            **given,
            **{name: frozenset(given[name]) for name in _SETS},
            **{name: tuple(map(tuple, given[name])) for name in ("commits", "cluster_by")},
            **{name: tuple(given[name]) for name in ("partition_by", "columns", "files")},
        }
    )


def _written(answer: Answer) -> str:
    return json.dumps(asdict(answer) | {name: sorted(getattr(answer, name)) for name in _SETS})


_SETS = ("reader_features", "writer_features")


def main(folder: Path) -> None:
    from contract.harness.session import freezing_spark  # noqa: PLC0415 - needs Spark

    with _answers() as answers, freezing_spark(folder / "freezes", folder / "warehouse") as spark:
        ask = in_this_spark(spark, folder)
        for line in sys.stdin:
            answers.write(f"{_written(ask(Question(**json.loads(line))))}\n")
            answers.flush()


@contextmanager
def _answers() -> Iterator[IO[str]]:
    """Where answers go alone: VACUUM itself writes to the standard output, which goes where errors go."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        yield answers


def _answer(spark: Any, folder: Path, question: Question) -> Answer:
    table = folder / question.table
    if question.copied_from is not None:
        shutil.copytree(folder / question.copied_from, table)
    if question.loose_file is not None:
        (table / question.loose_file).write_bytes(b"")
    if question.aged_hours is not None:
        written = time.time() - question.aged_hours * 3600
        for file in _data_files(table):
            os.utime(table / file, (written, written))
    return _after(table, _refused(spark, table, question.statements))


def _refused(spark: Any, table: Path, statements: Sequence[str]) -> str | None:
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    from contract.harness.session import activate  # noqa: PLC0415

    session = spark.newSession()
    activate(session)
    try:
        for statement in statements:
            session.sql(statement.replace("{table}", f"delta.`{table}`"))
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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
