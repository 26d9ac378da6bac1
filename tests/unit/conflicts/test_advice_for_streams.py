"""Streams that read Delta tables, beside scripts of any statements: advice never breaks off, and what is advised of a stream, or to
run alone, lets the two run together once it is done in the manifests."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import conflict_at_rest, pair_of
from sluice.conflicts.advice import Advice
from sluice.conflicts.advice_search import Budget, tried
from sluice.conflicts.advice_texts import END_STREAM, PAUSE_STREAM, RUN_ALONE, SKIP_CHANGES
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path, oss

RAW, ORDERS, OTHER = "delta.`/lake/raw`", "delta.`/lake/orders`", "delta.`/lake/other`"
BY_DAY = TableFacts(
    columns=Table.of({"id": "int", "date": "date", "n": "int"}, ["date"]),
    dialect=oss("4.4.0"),
    log_store=LogStore.SAFE,
)
GIVEN = {key_of_path(f"/lake/{name}"): BY_DAY for name in ("raw", "orders", "other")}
ON_A_TABLE = (
    "DELETE FROM {t} WHERE id = 1",
    "DELETE FROM {t} WHERE date = DATE '2026-03-0{n}'",
    "UPDATE {t} SET n = 2 WHERE date = DATE '2026-03-0{n}'",
    "INSERT INTO {t} VALUES (1, DATE '2026-03-0{n}', 2)",
    "INSERT OVERWRITE {t} SELECT * FROM delta.`/lake/s`",
    "MERGE INTO {t} AS t USING raw.o AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n",
    "OPTIMIZE {t}",
    "ALTER TABLE {t} ADD COLUMNS (c{n} STRING)",
    "ALTER TABLE {t} DROP COLUMN n",
    "VACUUM {t} RETAIN 0 HOURS",
    "TRUNCATE TABLE {t}",
)
OF_A_STREAM = (SKIP_CHANGES, PAUSE_STREAM, END_STREAM)


@dataclass(frozen=True)
class Job:
    """A stream, or a script; statements and the stream may be gone after what is advised was done."""

    stream: dict[str, Any] | None = None
    statements: tuple[str, ...] = ()

    @classmethod
    def drawn(cls, random: Random, *, streams: bool) -> "Job":
        if not streams:
            drawn = (random.choice(ON_A_TABLE) for _ in range(random.randint(1, 3)))
            tables = (RAW, RAW, ORDERS, OTHER)
            return cls(
                statements=tuple(one.format(t=random.choice(tables), n=random.randint(1, 3)) for one in drawn)
            )
        stream: dict[str, Any] = {
            "source": {"format": "delta", "path": "/lake/raw", "options": {}},
            "checkpoint": f"/lake/checkpoints/{random.randrange(1000)}",
            "trigger": random.choice(({"processingTime": "30 seconds"}, {"availableNow": True})),
        }
        writes = random.choice(
            ({"table": {"path": "/lake/orders"}}, {"table": {"path": "/lake/other"}}, {"sql": MERGES})
        )
        return cls(stream | writes)

    @property
    def footprint(self) -> JobFootprint:
        spec = {"stream": self.stream} if self.stream is not None else {"sql": "; ".join(self.statements)}
        return footprint_of(DeltaWriteJobSpec.model_validate(spec), {}, facts=GIVEN, sources=GIVEN)

    def after(self, advice: Advice) -> "Job | None":
        """The job once this is done in its manifest; None if it doesn't run beside the other any more."""
        if advice.words == SKIP_CHANGES:
            assert self.stream is not None
            source = self.stream["source"] | {"options": {"skipChangeCommits": "true"}}
            return Job(self.stream | {"source": source})
        if advice.words in OF_A_STREAM:
            return None
        assert advice.words.startswith(RUN_ALONE)
        alone = re.search(r"\(statements? ([^)]*)\)", advice.clause)
        gone = {int(one) for one in re.findall(r"\d+", alone[1])} if alone is not None else {1}
        left = tuple(sql for place, sql in enumerate(self.statements, start=1) if place not in gone)
        return Job(statements=left) if left else None


MERGES = f"MERGE INTO {ORDERS} AS t USING batch AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n"


def can_be_done(advice: tuple[Advice, ...]) -> bool:
    return all(one.words in OF_A_STREAM or one.words.startswith(RUN_ALONE) for one in advice)


def after(advice: Sequence[Advice], jobs: Sequence[Job]) -> tuple[Job | None, Job | None]:
    changed: list[Job | None] = list(jobs)
    for one in advice:
        assert one.whose is not None
        job = changed[one.whose]
        changed[one.whose] = None if job is None else job.after(one)
    return changed[0], changed[1]


@pytest.mark.parametrize("seed", range(4))
def test_a_stream_beside_whatever_script_is_advised_what_lets_both_run(seed: int) -> None:
    random, done = Random(seed), Counter[str]()  # noqa: S311 - the same pairs each time
    for _ in range(150):
        jobs = [Job.drawn(random, streams=True), Job.drawn(random, streams=random.random() < 0.2)]
        random.shuffle(jobs)
        footprints = [job.footprint for job in jobs]
        advice = tried(footprints[0], footprints[1], Budget())
        assert advice is not None
        if not advice or not can_be_done(advice) or not all(one.together for one in advice):
            continue
        assert not pair_of(footprints[0], footprints[1]).together
        done.update(one.words for one in advice)
        first, second = after([one for one in advice if one.words != PAUSE_STREAM], jobs)
        if first is None or second is None:
            continue
        pausing = [one.whose for one in advice if one.words == PAUSE_STREAM]
        if not pausing:
            assert pair_of(first.footprint, second.footprint).together, (jobs, advice)
        for whose in pausing:
            stream, beside = (second, first) if whose else (first, second)
            assert conflict_at_rest(stream.footprint, beside.footprint) is None, (jobs, advice)
    assert done[SKIP_CHANGES] >= 3, done
    assert done[END_STREAM] >= 3, done
    assert done[PAUSE_STREAM] >= 3, done
    assert sum(times for words, times in done.items() if words.startswith(RUN_ALONE)) >= 3, done
