"""Sources for streams: a folder into which rows come, as files that are there at once or not at all; and what became of them."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from deltalake import DeltaTable, QueryBuilder

from sluice.api.base import Json

SCHEMA = "id BIGINT, who STRING"


@dataclass
class Feed:
    folder: Path
    given: list[int] = field(default_factory=list)
    """The ids of all rows so far."""
    _stopped: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def source(self) -> Json:
        return {"format": "json", "path": str(self.folder), "schema": SCHEMA}

    def give(self, *ids: int) -> None:
        file = self.folder / f".{len(self.given)}.json"
        rows = [json.dumps({"id": number, "who": self.name}) for number in ids]
        file.write_text("\n".join(rows), encoding="utf-8")
        file.rename(self.folder / file.name.removeprefix("."))
        self.given.extend(ids)

    def go_on(self, seconds: float) -> None:
        """Gives another row so often, until it is stopped."""

        def run() -> None:
            while not self._stopped.wait(seconds):
                self.give(len(self.given))

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()


def rows_in(table: Path) -> Counter[tuple[int, str]]:
    """What the feeds' rows have become; nothing as long as there is no table."""
    if not DeltaTable.is_deltatable(str(table)):
        return Counter()
    read = QueryBuilder().register("t", DeltaTable(table)).execute("SELECT id, who FROM t")
    found: Counter[tuple[int, str]] = Counter()
    for batch in read:
        found.update(zip(batch.column("id").to_pylist(), batch.column("who").to_pylist(), strict=True))
    return found
