"""Records what real Delta does with pairs of jobs: sharded, resumable, one line of JSON a row.

    ./dev run python -m contract.harness.record --pair 4.4.0 --shard 1/4 --minutes 50

Rows that are in the file already are left alone (--again records them anew). First comes one row of each cell that
differs in kind, then the rest; both in the order of a hash of their ids: what is recorded so far is a fair sample.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

from contract.harness import cells, generated, truth
from contract.harness.rows import Row

PYSPARK = {"4.4.0": "4.2", "3.3.3": "3.5"}
CLEAR_EVERY = 50

Kind = tuple[str, str, frozenset[str]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--pair", choices=truth.RECORDABLE, required=True, help="version of Delta, with its Spark"
    )
    parser.add_argument("--shard", default="1/1", help="i/n: the i-th of n parts")
    parser.add_argument("--minutes", type=float, default=55.0, help="stop after this time")
    parser.add_argument("--out", type=Path, help="JSON lines; default: the committed truth of this version")
    parser.add_argument("--only", nargs="+", default=[""], help="only rows whose id begins so")
    parser.add_argument("--again", action="store_true", help="record also what the file has already")
    parser.add_argument(
        "--functions",
        action="store_true",
        help="the pairs with functions of partition columns, into their file",
    )
    parser.add_argument("--lanes", type=int, default=2, help="races side by side in one Spark")
    options = parser.parse_args()
    if not _this_python_has(options.pair):
        return _in_other_python()
    file_of = truth.file_with_functions_of if options.functions else truth.file_of
    out: Path = options.out or file_of(options.pair)
    done = {row.id: row for row in _read(out)}
    rows = [
        row
        for row in questions(options.pair, options.shard, functions=options.functions)
        if row.id.startswith(tuple(options.only)) and (options.again or row.id not in done)
    ]
    say(f"{len(done)} rows are in {out}, {len(rows)} to record")
    _record(rows, out, options.minutes * 60, options.lanes)
    arrange(out)
    return 0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def questions(version: str, shard: str = "1/1", *, functions: bool = False) -> list[Row]:
    """All rows that are worth asking of this version, in the order of recording; or those with functions alone."""
    part, parts = (int(number) for number in shard.split("/"))
    asked = generated.rows_with_functions() if functions else [*cells.rows(version), *generated.rows(version)]
    drawn = sorted(asked, key=lambda row: _spread(row.id))
    first: dict[Kind, Row] = {}
    for row in drawn:
        first.setdefault(kind_of(row), row)
    chosen = {row.id for row in first.values()}
    rows = [*first.values(), *(row for row in drawn if row.id not in chosen)]
    return rows[part - 1 :: parts]


def kind_of(row: Row) -> Kind:
    """Rows that agree in this differ in how something is written, or in conditions, but not in kind."""
    return row.layout, row.partitions, frozenset(row.kinds)


def arrange(file: Path) -> None:
    """One line a row, the newest one, sorted by id."""
    rows = {row.id: row for row in _read(file)}
    lines = [rows[name].as_line() + "\n" for name in sorted(rows)]
    temporary = file.with_suffix(".new")
    temporary.write_text("".join(lines), encoding="utf-8")
    temporary.replace(file)


def _record(rows: Sequence[Row], out: Path, seconds: float, lanes: int) -> None:
    from contract.harness.race import Track  # noqa: PLC0415 - needs Spark
    from contract.harness.session import freezing_spark  # noqa: PLC0415

    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="sluice-truth-") as temporary:
        work = Path(temporary)
        with (
            freezing_spark(work / "freezes", work / "warehouse") as spark,
            ThreadPoolExecutor(max_workers=lanes) as pool,
            out.open("a", encoding="utf-8") as lines,
        ):
            track = Track(spark, work / "tables", work / "freezes")
            began = time.monotonic()
            recorded = 0
            for start in range(0, len(rows), CLEAR_EVERY):
                if time.monotonic() > deadline:
                    break
                works: dict[Future[Row], Row] = {
                    pool.submit(track.answer, row): row for row in rows[start : start + CLEAR_EVERY]
                }
                for work_done in as_completed(works):
                    error = work_done.exception()
                    if error is not None:
                        say(f"NOT RECORDED {works[work_done].id}: {type(error).__name__}: {str(error)[:300]}")
                        continue
                    lines.write(work_done.result().as_line() + "\n")
                    lines.flush()
                    recorded += 1
                track.forget_tables()
                spent = time.monotonic() - began
                say(f"{recorded} of {len(rows)} in {spent:.0f} s, {recorded / spent:.2f}/s")


def _read(file: Path) -> list[Row]:
    if not file.exists():
        return []
    return [Row.from_line(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _spread(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _this_python_has(pair: str) -> bool:
    import pyspark  # noqa: PLC0415

    return pyspark.__version__.startswith(PYSPARK[pair])


def _in_other_python() -> int:
    """The second pair lives in an environment of its own, which ./dev names."""
    python, jars = os.environ.get("SLUICE_SPARK35_PYTHON"), os.environ.get("SLUICE_SPARK35_JARS")
    if not python or not jars:
        say("needs SLUICE_SPARK35_PYTHON and SLUICE_SPARK35_JARS: run this by ./dev run")
        return 2
    environment = {**os.environ, "SLUICE_SPARK_JARS": jars, "PYSPARK_PYTHON": python}
    environment.pop("SPARK_HOME", None)
    command = [python, "-m", "contract.harness.record", *sys.argv[1:]]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
