"""One race: the loser begins and is held before its commit, the winner runs to its end, the loser goes on."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from contract.harness.creation import create_table
from contract.harness.execute import changes_its_session, execute
from contract.harness.first_state import FirstState, LostStateError
from contract.harness.layouts import LAYOUTS, Layout
from contract.harness.rows import FIRST_LOSES, SECOND_LOSES, Outcome, Row, Spec, Touched, placed
from contract.harness.session import define_opaque, forget_tables
from sluice_runner import failures

LOSER = "loser"
WINNER = "winner"
PATIENCE = 600.0
POLL = 0.005
LANES = 2
"""Races side by side in one Spark: one alone leaves half of two cores idle."""


class StuckError(Exception):
    """A job neither came to its commit nor ended."""


@dataclass
class _Running:
    """A job in a thread of its own."""

    thread: threading.Thread
    errors: list[BaseException]

    @property
    def done(self) -> bool:
        return not self.thread.is_alive()

    def end(self, what: str) -> failures.Failure | None:
        self.thread.join(PATIENCE)
        if not self.done:
            raise StuckError(f"{what} did not end within {PATIENCE:.0f} s")
        return failures.classify(self.errors[0]) if self.errors else None


class Track:
    """Where races are run: one Spark, folders for tables and freezes, and layouts that are built when first used."""

    def __init__(self, spark: SparkSession, folder: Path, freezes: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._freezes = freezes
        self._bases: dict[str, Path] = {}
        self._free: dict[str, list[FirstState]] = {}
        self._sessions: list[SparkSession] = []
        self._count = 0
        self._lock = threading.Lock()
        freezes.mkdir(parents=True, exist_ok=True)
        folder.mkdir(parents=True, exist_ok=True)

    def query(self, text: str) -> list[tuple[Any, ...]]:
        """Rows of a query, for what only Spark can tell."""
        return [tuple(row) for row in self._spark.sql(text).collect()]

    def forget_tables(self) -> None:
        """Drops what Delta keeps of each table that races were run on."""
        self._free.clear()
        forget_tables(self._spark)

    def answer(self, row: Row) -> Row:
        """Both orders of the two jobs, each on the table's first state."""
        before = row.before
        first_loses, second_touched = self.race(row.layout, row.first, row.second, before)
        second_loses, first_touched = self.race(row.layout, row.second, row.first, before)
        outcomes = {FIRST_LOSES: first_loses, SECOND_LOSES: second_loses}
        return row.answered(outcomes, (first_touched, second_touched))

    def answers(self, rows: Iterable[Row]) -> list[Row]:
        """Returns the answers to all rows, in their order."""
        with ThreadPoolExecutor(max_workers=LANES) as pool:
            return list(pool.map(self.answer, rows))

    def outcome(self, row: Row, direction: str) -> Outcome:
        """What becomes of the row's job that loses in this direction."""
        jobs = (row.first, row.second) if direction == FIRST_LOSES else (row.second, row.first)
        return self.race(row.layout, *jobs, row.before)[0]

    def race(
        self, layout: str, loser: Spec, winner: Spec, before: Spec | None = None
    ) -> tuple[Outcome, Touched | None]:
        """What became of the loser, and what the winner touched."""
        with self._places(LAYOUTS[layout]) as (number, places):
            table = Path(places["{table}"])
            tables = (table, Path(places["{source}"]))
            loser_key, winner_key = f"{LOSER}-{number}", f"{WINNER}-{number}"
            freeze = self._freezes / f"{loser_key}.freeze"
            frozen = freeze.with_suffix(".frozen")
            if before is not None:
                self._run(before, places, f"before-{number}")
            freeze.touch()
            try:
                losing = self._start(loser, places, loser_key)
                held = _until_held(losing, frozen)
                winning = self._start(winner, places, winner_key)
                won = winning.end(f"the winner {winner}")
                freeze.unlink()
                lost = losing.end(f"the loser {loser}")
            finally:
                freeze.unlink(missing_ok=True)
                frozen.unlink(missing_ok=True)
            return (
                _outcome(lost, won, held, _made_a_commit(tables, loser_key)),
                None if won is not None else _touched(table, winner_key),
            )

    def _run(self, spec: Spec, places: Mapping[str, str], run_key: str) -> None:
        running = self._start(spec, places, run_key)
        running.end(f"what runs before {spec}")
        if running.errors:
            raise running.errors[0]

    def _start(self, spec: Spec, places: Mapping[str, str], run_key: str) -> _Running:
        own = placed(spec, places)
        errors: list[BaseException] = []

        def run() -> None:
            try:
                with self._session(spec) as session:
                    execute(session, own, run_key)
            except BaseException as error:  # noqa: BLE001 - what a job raises is the finding
                errors.append(error)

        thread = InheritableThread(run)
        thread.start()
        return _Running(thread, errors)

    @contextmanager
    def _session(self, spec: Spec) -> Iterator[SparkSession]:
        """One that no other job uses now. Making one takes longer than most jobs do, so they are used again, but not
        after a job that may have left settings or views behind."""
        try:
            session = self._sessions.pop()
        except IndexError:
            session = self._spark.newSession()
            define_opaque(session)
        yield session
        if not changes_its_session(spec):
            self._sessions.append(session)

    @contextmanager
    def _places(self, layout: Layout) -> Iterator[tuple[int, Mapping[str, str]]]:
        with self._lock:
            self._count += 1
            number = self._count
        folder = self._folder / f"race-{number}"
        folder.mkdir()
        source = Layout(f"source-{abs(hash(layout.source))}", (), layout.source)
        with ExitStack() as used:
            used.callback(shutil.rmtree, folder)
            table = used.enter_context(self._used(layout)) if layout.exists else folder / "table"
            yield (
                number,
                {
                    "{table}": str(table),
                    "{source}": str(used.enter_context(self._used(source))),
                    "{checkpoint}": str(folder / "checkpoint"),
                },
            )

    @contextmanager
    def _used(self, layout: Layout) -> Iterator[Path]:
        """A table of this layout that no other race uses now, in its first state."""
        with self._lock:
            self._count += 1
            place = self._folder / f"table-{self._count}"
            free = self._free.setdefault(layout.name, [])
            table = free.pop() if free else None
        if table is None:
            shutil.copytree(self._base(layout.name, layout), place)
            table = FirstState(self._spark, place)
        yield table.place
        with suppress(LostStateError):
            table.restore()
            free.append(table)

    def _base(self, name: str, layout: Layout) -> Path:
        with self._lock:
            if name not in self._bases:
                path = self._folder / f"base-{name}"
                session = self._spark.newSession()
                if layout.is_made_by_interface:
                    create_table(
                        session,
                        path,
                        layout.columns,
                        partition_columns=layout.partition_columns,
                        generated=layout.generated_columns,
                        identity=layout.identity_columns,
                        properties=layout.properties,
                    )
                for statement in layout.build:
                    session.sql(statement.replace("{table}", str(path)))
                if layout.write_serializable:
                    _claim_write_serializable(path)
                self._bases[name] = path
            return self._bases[name]


def _until_held(losing: _Running, frozen: Path) -> bool:
    """Waits until the loser stands before its commit; False if it ended without coming to one."""
    deadline = time.monotonic() + PATIENCE
    while not frozen.exists():
        if losing.done:
            return frozen.exists()
        if time.monotonic() > deadline:
            raise StuckError(f"the loser came to no commit within {PATIENCE:.0f} s")
        time.sleep(POLL)
    return True


def _outcome(
    lost: failures.Failure | None, won: failures.Failure | None, held: bool, committed: bool
) -> Outcome:
    if lost is not None:
        name, code = lost.name, lost.error_class
    else:
        # Neither an exception nor a commit would be a write that is lost: it must never be taken for a success.
        name, code = "ok" if committed or not held else "vanished", None
    return Outcome(name, code, held, None if won is None else won.error_class or won.name)


def _commits(table: Path, run_key: str) -> Iterator[list[dict[str, Any]]]:
    """The actions of every commit in the log that carries the run key in its stamp."""
    quoted = json.dumps(json.dumps(run_key))[1:-1]
    for file in sorted((table / "_delta_log").glob("*.json")):
        text = file.read_text(encoding="utf-8")
        if quoted in text:
            yield [json.loads(line) for line in text.splitlines()]


def _made_a_commit(tables: Iterable[Path], run_key: str) -> bool:
    return any(True for table in tables for _ in _commits(table, run_key))


def _touched(table: Path, run_key: str) -> Touched:
    files: Counter[str] = Counter()
    partitions: set[str] = set()
    for actions in _commits(table, run_key):
        for action in actions:
            for kind in action.keys() & {"add", "remove"}:
                files[kind] += 1
                partitions.add(_partition(action[kind].get("partitionValues") or {}))
    return Touched(files["add"], files["remove"], len(partitions))


def _partition(values: Mapping[str, str | None]) -> str:
    """A NULL is written as one, or left out."""
    return json.dumps({name: value for name, value in values.items() if value is not None}, sort_keys=True)


def _claim_write_serializable(table: Path) -> None:
    first = table / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in first.read_text(encoding="utf-8").splitlines()]
    for action in lines:
        if "metaData" in action:
            action["metaData"]["configuration"]["delta.isolationLevel"] = "WriteSerializable"
    first.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for stale in first.parent.glob("*.crc"):
        stale.unlink(missing_ok=True)
