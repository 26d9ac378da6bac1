"""The older Spark: one process in its own environment, which tests ask for one thing after another.

Calls come in and results go out as lines of JSON:

    python -m contract.harness.older_spark FOLDER < calls > results
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from contract.harness import known
from contract.harness.session import freezing_spark
from contract.harness.tables import Answer, Asked, Question, in_this_spark
from contract.shapes.carrying import Done, build_tables, carry_out
from contract.shapes.generator import Shape

_COMPILED_QUICKLY = "-XX:TieredStopAtLevel=1"
"""Better code would be done when the last call is."""


@dataclass(frozen=True)
class OlderSpark:
    folder: Path
    """Where the tables of questions lie, each in a folder of its name."""
    _calls: IO[str]
    _results: IO[str]

    @property
    def asked(self) -> Asked:
        return Asked(
            self.folder,
            lambda question: Answer.of(self._call("answer", asdict(question))),
            lambda statements, given, queries: self._call(
                "plan", {"statements": [*statements], "given": given, "queries": [*queries]}
            ),
        )

    def carry_out(self, folder: Path, shapes: list[Shape]) -> list[Done]:
        """Builds the tables of shapes in the folder, and carries out the shapes on them."""
        lines = [shape.as_line() for shape in shapes]
        return list(map(Done.from_line, self._call("carry_out", {"folder": str(folder), "shapes": lines})))

    def write_down_known(self, folder: Path) -> None:
        self._call("write_down_known", {"folder": str(folder)})

    def _call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        self._calls.write(f"{json.dumps([name, arguments])}\n")
        self._calls.flush()
        line = self._results.readline()
        assert line, f"the older Spark died of the call {name}: see its traceback on the standard error"
        return json.loads(line)


@contextmanager
def older_spark(folder: Path, *, long: bool = False) -> Iterator[OlderSpark]:
    """`long`: it will run for hours, which pays for well compiled code."""
    python, jars = os.environ.get("SLUICE_SPARK35_PYTHON"), os.environ.get("SLUICE_SPARK35_JARS")
    assert python, "SLUICE_SPARK35_PYTHON names no Python: run this by ./dev test or ./dev run"
    assert jars, "SLUICE_SPARK35_JARS names no jars: run this by ./dev test or ./dev run"
    environment = {**os.environ, "SLUICE_SPARK_JARS": jars, "PYSPARK_PYTHON": python}
    if not long:
        environment["JAVA_TOOL_OPTIONS"] = _COMPILED_QUICKLY
    environment.pop("SPARK_HOME", None)
    with subprocess.Popen(
        [python, "-m", "contract.harness.older_spark", str(folder)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield OlderSpark(folder, process.stdin, process.stdout)
        process.stdin.close()
        assert process.wait(60) == 0


def main(folder: Path) -> None:
    with _results() as results, freezing_spark(folder / "freezes", folder / "warehouse") as spark:
        calls = _calls_of(spark, folder)
        for line in sys.stdin:
            name, arguments = json.loads(line)
            results.write(f"{json.dumps(calls[name](**arguments))}\n")
            results.flush()


def _calls_of(spark: Any, folder: Path) -> Mapping[str, Callable[..., Any]]:
    ask = in_this_spark(spark, folder)

    def answer(**question: Any) -> Any:
        return ask(Question(**question)).as_json()

    def planned(statements: list[str], given: str, queries: list[str]) -> Any:
        return ask.plan(statements, given, queries)

    def shapes_carried_out(folder: str, shapes: list[str]) -> list[str]:
        build_tables(spark, Path(folder))
        return [done.as_line() for done in carry_out(spark, Path(folder), map(Shape.from_line, shapes))]

    def known_written_down(folder: str) -> None:
        known.write_down_of(spark, Path(folder))

    return {
        "answer": answer,
        "plan": planned,
        "carry_out": shapes_carried_out,
        "write_down_known": known_written_down,
    }


@contextmanager
def _results() -> Iterator[IO[str]]:
    """Where results go alone: VACUUM itself writes to the standard output, which goes where errors go."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as results:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        yield results


if __name__ == "__main__":
    main(Path(sys.argv[1]))
