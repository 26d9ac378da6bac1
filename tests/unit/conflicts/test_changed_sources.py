"""A job whose rows are bounded by the columns of what it selects from never runs beside one that may change these columns."""

from dataclasses import replace

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Level, pair_of
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_name, key_of_path, oss

FACTS = {
    key_of_path(path): TableFacts(
        columns=Table.of({"id": "bigint", "region": "string"}, ["region"]),
        log_store=LogStore.SAFE,
        dialect=oss("4.4.0"),
    )
    for path in ("/lake/t", "/lake/s")
}
COPY = "INSERT INTO delta.`/lake/t` SELECT * FROM delta.`/lake/s` WHERE region = 'eu'"


def job(sql: str, *, sources: bool = True) -> JobFootprint:
    return footprint_of(DeltaWriteJobSpec(sql=sql), {}, facts=FACTS, sources=FACTS if sources else {})


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE delta.`/lake/s` ADD COLUMNS (x INT)",
        "CREATE OR REPLACE TABLE delta.`/lake/s` (region CHAR(5), id BIGINT) USING delta",
        "RESTORE TABLE delta.`/lake/s` TO VERSION AS OF 1",
    ],
)
def test_what_may_change_the_source_s_columns_waits(change: str) -> None:
    pair = pair_of(job(COPY), job(change))
    assert (pair.first_loses.level, pair.first_loses.rule) == (Level.MAY, "changed-source")
    assert pair_of(job(change), job(COPY)).second_loses.rule == "changed-source"


@pytest.mark.parametrize(
    "beside", ["INSERT INTO delta.`/lake/s` VALUES (1, 'us')", "DELETE FROM delta.`/lake/s` WHERE id = 1"]
)
def test_what_changes_rows_of_the_source_does_not(beside: str) -> None:
    assert pair_of(job(COPY), job(beside)).together


def test_so_does_what_may_be_the_source_by_a_name_that_nobody_has_bound() -> None:
    known = {key_of_name(name): FACTS[key_of_path("/lake/s")] for name in ("sales.t", "raw.t")}
    sql = "INSERT INTO sales.t SELECT * FROM raw.t WHERE region = 'eu'"
    by_name = footprint_of(DeltaWriteJobSpec(sql=sql), {}, facts=known, sources=known)
    pair = pair_of(by_name, job("ALTER TABLE lake.raw.t ADD COLUMNS (x INT)"))
    assert pair.first_loses.rule == "changed-source"


def test_who_is_not_told_by_the_source_does_not_wait_for_its_changes() -> None:
    change = job("ALTER TABLE delta.`/lake/s` ADD COLUMNS (x INT)")
    assert pair_of(job(COPY, sources=False), change).together
    everything = "INSERT INTO delta.`/lake/t` SELECT * FROM delta.`/lake/s`"
    assert pair_of(job(everything), change).together


def test_a_source_by_another_of_its_locations_is_known_by_its_log() -> None:
    link = key_of_path("/mnt/s")
    known = {
        key_of_path("/lake/t"): FACTS[key_of_path("/lake/t")],
        key_of_path("/lake/s"): replace(FACTS[key_of_path("/lake/s")], table_id="7d1f"),
        link: replace(FACTS[key_of_path("/lake/s")], table_id="7d1f"),
        key_of_path("/mnt/other"): replace(FACTS[key_of_path("/lake/s")], table_id="7d1f"),
    }

    def told(sql: str) -> JobFootprint:
        return footprint_of(DeltaWriteJobSpec(sql=sql), {}, facts=known, sources=known)

    copy, change = (
        told(COPY.replace("/lake/s", "/mnt/s")),
        told("ALTER TABLE delta.`/lake/s` ADD COLUMNS (x INT)"),
    )
    pair = pair_of(copy, change)
    assert (pair.first_loses.level, pair.first_loses.rule) == (Level.MAY, "changed-source")
    spelled_twice = told(
        "ALTER TABLE delta.`/lake/s` ADD COLUMNS (x INT); DELETE FROM delta.`/mnt/other` WHERE id = 1"
    )
    assert not pair_of(copy, spelled_twice).together
    known[link] = replace(known[link], table_id="another")
    assert pair_of(told(COPY.replace("/lake/s", "/mnt/s")), change).together
