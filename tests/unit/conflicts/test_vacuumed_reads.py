"""VACUUM takes files from under whoever reads the table, though he writes none of it."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.admission import Holder, Waiter, decide
from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Level, PairOrder, conflict_between, pair_of
from sluice.conflicts.places import places_of
from sluice.footprint import ANY_SOURCES, JobFootprint, footprint_of, unknown_footprints
from sluice.predicates import Table
from sluice.tables import TableFacts, key_of_path

SHORT = "VACUUM delta.`/lake/a` RETAIN 0 HOURS"
NOW = datetime(2026, 11, 19, tzinfo=UTC)
LINKING = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}
STREAM = {
    "source": {"format": "delta", "path": "/lake/a"},
    "checkpoint": "/checkpoints/b",
    "trigger": {"availableNow": True},
}
READERS: dict[str, Any] = {
    "insert": "INSERT INTO delta.`/lake/b` SELECT * FROM delta.`/lake/a`",
    "overwrite": "INSERT OVERWRITE delta.`/lake/b` SELECT * FROM delta.`/lake/c` JOIN delta.`/lake/a` USING (id)",
    "cte": "INSERT INTO delta.`/lake/b` WITH x AS (SELECT * FROM delta.`/lake/a`) SELECT * FROM x",
    "merge": "MERGE INTO delta.`/lake/b` b USING delta.`/lake/a` a ON a.id = b.id WHEN MATCHED THEN DELETE",
    "update": "UPDATE delta.`/lake/b` SET v = (SELECT MAX(v) FROM delta.`/lake/a`)",
    "create": "CREATE TABLE delta.`/lake/b` USING delta AS SELECT * FROM delta.`/lake/a`",
    "clone": "CREATE TABLE delta.`/lake/b` SHALLOW CLONE delta.`/lake/a`",
    "view": "CREATE TEMPORARY VIEW v AS SELECT * FROM delta.`/lake/a`; INSERT INTO delta.`/lake/b` SELECT * FROM v",
    "older version": "INSERT INTO delta.`/lake/b` SELECT * FROM delta.`/lake/a` VERSION AS OF 3",
    "name": "INSERT INTO delta.`/lake/b` SELECT * FROM sales.orders",
    "files": "INSERT INTO delta.`/lake/b` SELECT * FROM parquet.`/lake/a`",
    "both": f"{SHORT}; INSERT INTO delta.`/lake/b` SELECT * FROM delta.`/lake/a`",
    "write of a query": {
        "write": {
            "table": {"path": "/lake/b"},
            "mode": "Append",
            "source": {"sql": "SELECT * FROM delta.`/lake/a`"},
        }
    },
    "write of a folder": {
        "write": {
            "table": {"path": "/lake/b"},
            "mode": "Append",
            "source": {"format": "delta", "path": "/lake/a"},
        }
    },
    "one file": "INSERT INTO delta.`/lake/b` SELECT * FROM parquet.`/lake/a/k=1/part-0.parquet`",
    "by sparks catalog": "INSERT INTO delta.`/lake/b` SELECT * FROM spark_catalog.delta.`/lake/a`",
    "write of an older version": {
        "write": {"table": {"path": "/lake/b"}, "source": {"format": "delta", "path": "/lake/a@v3"}}
    },
    "write of an option's folder": {
        "write": {
            "table": {"path": "/lake/b"},
            "source": {"format": "parquet", "options": {"Path": "/lake/a"}},
        }
    },
    "stream": {"stream": {**STREAM, "table": {"path": "/lake/b"}}},
    "stream by batch": {"stream": {**STREAM, "sql": "INSERT INTO delta.`/lake/b` SELECT * FROM batch"}},
}


PLAIN = TableFacts(columns=Table.of({"id": "bigint"}))


def job(spec: str | dict[str, Any], known: TableFacts | None = PLAIN, **more: Any) -> JobFootprint:
    given = {"sql": spec} if isinstance(spec, str) else spec
    facts = {} if known is None else {key_of_path("/lake/a"): known}
    return footprint_of(
        DeltaWriteJobSpec.model_validate({**given, **more}), LINKING, facts=facts, delta_version="4.4.0"
    )


@pytest.mark.parametrize("name", READERS)
def test_a_reader_loses_its_files_to_a_vacuum_that_keeps_them_too_shortly(name: str) -> None:
    pair = pair_of(job(READERS[name]), job(SHORT))
    assert pair.order is PairOrder.NONE
    for verdict in (pair.first_loses, pair.second_loses):
        assert (verdict.level, verdict.rule) == (Level.UNSAFE, "vacuum-under-a-run")
    for found in (
        conflict_between(job(READERS[name]), job(SHORT)),
        conflict_between(job(SHORT), job(READERS[name])),
    ):
        assert found is not None
        assert found.table == key_of_path("/lake/a")


@pytest.mark.parametrize("name", [name for name in READERS if name != "both"])
def test_a_vacuum_that_keeps_files_longer_than_the_reader_runs_is_in_nobodys_way(name: str) -> None:
    for vacuum in ("VACUUM delta.`/lake/a`", "VACUUM delta.`/lake/a` RETAIN 168 HOURS", f"{SHORT} DRY RUN"):
        assert pair_of(job(READERS[name]), job(vacuum)).together


@pytest.mark.parametrize("name", READERS)
def test_who_cannot_be_read_may_be_a_vacuum_of_its_tables(name: str) -> None:
    table = key_of_path("/lake/a")
    unknown = JobFootprint(unknown_footprints([table]), reads=ANY_SOURCES)
    for reader in (job(READERS[name]), job(SHORT)):
        assert conflict_between(unknown, reader) is not None
        assert conflict_between(reader, unknown) is not None
        assert places_of(reader).may_meet(places_of(unknown))
    assert conflict_between(unknown, job("DELETE FROM delta.`/elsewhere`")) is None


@pytest.mark.parametrize("name", [name for name in READERS if name != "both"])
def test_a_vacuum_of_a_table_of_which_nothing_is_known_may_keep_no_file(name: str) -> None:
    reader, vacuum = job(READERS[name], None), job("VACUUM delta.`/lake/a`", None)
    for pair in (pair_of(reader, vacuum), pair_of(vacuum, reader)):
        assert pair.order is PairOrder.NONE
        assert pair.first_loses.rule == "vacuum-under-a-run"
        assert "which are not known" in pair.first_loses.reason
    told = pair_of(reader, job("VACUUM delta.`/lake/a` RETAIN 168 HOURS", None)).first_loses
    assert told.level is Level.UNSAFE
    assert "let the operator read the log of" in (told.advice or "")


@pytest.mark.parametrize(
    ("own", "retain", "kept"),
    [
        (None, 168, 168),
        (None, 400, 168),
        (None, 2, 2),
        ("interval 2 hours", 168, 2),
        ("interval 400 hours", 200, 200),
        ("interval 400 hours", 0, 0),
        ("interval 2 moons", 168, 0),
    ],
)
def test_retain_only_shortens_how_long_the_table_keeps_its_files(
    own: str | None, retain: int, kept: float
) -> None:
    """Newer versions of Delta pass over it unless it is 0, and older ones heed it."""
    properties = {} if own is None else {"delta.deletedFileRetentionDuration": own}
    vacuum = job(f"VACUUM delta.`/lake/a` RETAIN {retain} HOURS", replace(PLAIN, properties=properties))
    assert [one.retention_hours for one in vacuum.vacuums] == [kept]


def test_the_advice_is_what_would_keep_the_files() -> None:
    def advice(sql: str, own: str | None = None) -> str | None:
        properties = {} if own is None else {"delta.deletedFileRetentionDuration": own}
        return pair_of(
            job(READERS["insert"]), job(sql, replace(PLAIN, properties=properties))
        ).first_loses.advice

    of_the_table = "let delta.deletedFileRetentionDuration of the table be 'interval 168 hours' or longer, and leave RETAIN out"
    assert advice("VACUUM delta.`/lake/a` RETAIN 168 HOURS", "interval 2 hours") == of_the_table
    assert advice("VACUUM delta.`/lake/a`", "interval 2 moons") == of_the_table
    leave_it_out = "leave RETAIN out: the table itself keeps files for 168 hours"
    assert advice("VACUUM delta.`/lake/a` RETAIN 2 HOURS") == leave_it_out


def test_a_vacuum_after_a_change_of_properties_may_keep_no_file() -> None:
    for change in (
        "SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 0 hours')",
        "UNSET TBLPROPERTIES ('delta.deletedFileRetentionDuration')",
    ):
        known = replace(PLAIN, properties={"delta.deletedFileRetentionDuration": "interval 2 weeks"})
        shortened = job(f"ALTER TABLE delta.`/lake/a` {change}; VACUUM delta.`/lake/a`", known)
        assert shortened.vacuums[0].retention_hours == 0
        pair = pair_of(job(READERS["insert"]), shortened)
        assert (pair.first_loses.level, pair.first_loses.rule) == (Level.UNSAFE, "vacuum-under-a-run")


def test_a_table_says_how_long_vacuum_keeps_its_files() -> None:
    def vacuum(kept: str) -> JobFootprint:
        known = replace(PLAIN, properties={"delta.deletedFileRetentionDuration": kept})
        return job("VACUUM delta.`/lake/a`", known)

    assert pair_of(job(READERS["insert"]), vacuum("interval 2 weeks")).together
    assert not pair_of(job(READERS["insert"]), vacuum("interval 2 hours")).together
    assert not pair_of(job(READERS["insert"]), vacuum("interval 2 moons")).together


@pytest.mark.parametrize(
    "kept",
    ["interval 213503983 days", "interval 200000000 days", f"{'9' * 400} weeks", f"{'9' * 5000} weeks"],
)
def test_a_time_that_delta_cannot_count_keeps_no_file(kept: str) -> None:
    """213503983 days are 16 hours in the 64 bits that Delta counts in."""
    known = replace(PLAIN, properties={"delta.deletedFileRetentionDuration": kept})
    pair = pair_of(job(READERS["insert"]), job("VACUUM delta.`/lake/a`", known))
    assert pair.first_loses.level is Level.UNSAFE


@pytest.mark.parametrize(
    "source",
    [
        {"format": "parquet", "path": "/lake/*"},
        {"format": "parquet", "path": "/lake/{a,b}/part-*.parquet"},
        {"format": "parquet", "path": "/lake", "options": {"recursiveFileLookup": "true"}},
        {"format": "parquet", "options": {"paths": '["/lake/a"]'}},
        {"format": "delta", "optionsFrom": [{"option": "path", "secretKeyRef": {"name": "s", "key": "k"}}]},
        {"sql": "SELECT * FROM parquet.`/lake/?/*.parquet`"},
    ],
)
def test_a_pattern_may_match_files_of_any_table(source: dict[str, Any]) -> None:
    read = job({"write": {"table": {"path": "/lake/b"}, "source": source}})
    assert pair_of(read, job(SHORT)).first_loses.level is Level.MAY
    assert pair_of(read, job("VACUUM delta.`/lake/a`")).together


def test_who_reads_other_tables_is_not_hurt() -> None:
    for sql in (
        "INSERT INTO delta.`/lake/b` SELECT * FROM delta.`/lake/c`",
        "INSERT INTO delta.`/lake/b` SELECT * FROM parquet.`/lake/c/part-0.parquet`",
        "INSERT INTO delta.`/lake/b` VALUES (1)",
        "INSERT INTO delta.`/lake/b` SELECT id FROM range(10)",
        "CREATE TABLE delta.`/lake/b` (id INT) USING delta",
        "REPLACE TABLE delta.`/lake/b` USING delta AS SELECT * FROM delta.`/lake/c`",
    ):
        assert pair_of(job(sql), job(SHORT)).together


def test_two_names_are_two_tables_and_one_name_is_one() -> None:
    read = job("INSERT INTO sales.report SELECT * FROM sales.orders")
    assert pair_of(read, job("VACUUM sales.other RETAIN 0 HOURS")).together
    assert pair_of(read, job("VACUUM lake.sales.orders RETAIN 0 HOURS")).first_loses.level is Level.UNSAFE


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO delta.`/lake/b` SELECT from_elsewhere(id) FROM delta.`/lake/c`",
        "INSERT INTO delta.`/lake/b` SELECT * FROM IDENTIFIER('a')",
        "INSERT INTO delta.`/lake/b` SELECT * FROM "
        + ", ".join(f"delta.`/lake/t{number}`" for number in range(80)),
    ],
)
def test_what_may_read_any_table_may_lose_its_files(sql: str) -> None:
    assert pair_of(job(sql), job(SHORT)).first_loses.level is Level.MAY
    assert pair_of(job(sql), job("VACUUM delta.`/lake/a`")).together


def test_the_queue_keeps_a_vacuum_from_whoever_reads() -> None:
    reader = Holder("r", "etl/reader", job(READERS["insert"]))
    vacuum = Waiter("v", "etl/vacuum", job(SHORT), 0, NOW, NOW)
    (decision,) = decide([vacuum], [reader], NOW, {})
    assert [str(blocking.conflict.table) for blocking in decision.blocked_by] == ["file:/lake/a"]
    reading = Waiter("r", "etl/reader", reader.footprint, 0, NOW, NOW)
    (decision,) = decide([reading], [Holder("v", "etl/vacuum", vacuum.footprint)], NOW, {})
    assert not decision.granted


def test_a_source_by_another_of_its_locations_loses_its_files_too() -> None:
    known = {key_of_path(path): replace(PLAIN, table_id="7d1f") for path in ("/lake/a", "/mnt/a")}
    spec = DeltaWriteJobSpec.model_validate(
        {"sql": "INSERT INTO delta.`/lake/b` SELECT * FROM delta.`/mnt/a`"}
    )
    read = footprint_of(spec, LINKING, sources=known, delta_version="4.4.0")
    vacuum = job(SHORT, known[key_of_path("/lake/a")])
    for pair in (pair_of(read, vacuum), pair_of(vacuum, read)):
        assert pair.order is PairOrder.NONE
        assert (pair.first_loses.level, pair.first_loses.rule) == (Level.UNSAFE, "vacuum-under-a-run")
    assert pair_of(read, job(SHORT)).together
