"""Two spellings of one table are held against each other, as soon as its log says that it is one."""

from dataclasses import replace

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Level, pair_of
from sluice.footprint import JobFootprint, footprint_of
from sluice.tables import TableFacts, key_of_name, key_of_path
from unit.conflicts.pairs import DELETE, DELETE_B, facts

PATH, LINK, NAME = key_of_path("/lake/t"), key_of_path("/mnt/lake/t"), key_of_name("sales.orders")
SPELLED = {PATH: "delta.`/lake/t`", LINK: "delta.`/mnt/lake/t`", NAME: "sales.orders"}
KNOWN = replace(facts(), table_id="7d1f")


def job(sql: str, spelling: object, known: TableFacts | None) -> JobFootprint:
    key = next(key for key in SPELLED if key == spelling)
    spec = DeltaWriteJobSpec.model_validate({"sql": sql.replace("{t}", SPELLED[key])})
    return footprint_of(spec, {}, facts={} if known is None else {key: known})


def levels(first: JobFootprint, second: JobFootprint) -> set[Level]:
    pair = pair_of(first, second)
    return {pair.first_loses.level, pair.second_loses.level}


@pytest.mark.parametrize("other", [LINK, NAME])
def test_one_id_under_two_spellings_is_one_table(other: object) -> None:
    assert levels(job(DELETE, PATH, KNOWN), job(DELETE, other, KNOWN)) == {Level.MAY}
    assert levels(job(DELETE, PATH, KNOWN), job(DELETE_B, other, KNOWN)) == {Level.NEVER}


def test_two_paths_with_ids_of_their_own_are_two_tables() -> None:
    assert levels(job(DELETE, PATH, KNOWN), job(DELETE, LINK, replace(KNOWN, table_id="other"))) == {
        Level.NEVER
    }


SPELLED_BY_CONFIGURATION = [
    ("hdfs:///lake/t", "hdfs://nn/lake/t"),
    ("webhdfs://nn:9870/lake/t", "hdfs://nn/lake/t"),
    ("viewfs://cluster/sales/t", "hdfs://nn/lake/t"),
    ("dbfs:/mnt/t", "s3://lake/t"),
    ("dbfs:/mnt/t", "/dbfs/mnt/t"),
    ("/lake/t", "hdfs://nn/lake/t"),
]


@pytest.mark.parametrize(("one", "other"), SPELLED_BY_CONFIGURATION)
def test_two_locations_that_may_be_one_are_told_apart_by_their_ids_only(one: str, other: str) -> None:
    def pair(**ids: str | None) -> set[Level]:
        jobs = []
        for name, location in (("one", one), ("other", other)):
            known = replace(KNOWN, table_id=ids[name])
            spec = DeltaWriteJobSpec.model_validate({"sql": DELETE.replace("{t}", f"delta.`{location}`")})
            jobs.append(footprint_of(spec, {}, facts={key_of_path(location): known}))
        return levels(*jobs)

    assert pair(one="7d1f", other="c0de") == {Level.NEVER}
    assert Level.NEVER not in pair(one="7d1f", other="7d1f")
    assert Level.NEVER not in pair(one="7d1f", other=None)
    assert Level.NEVER not in pair(one=None, other=None)


@pytest.mark.parametrize(
    "anew",
    [
        "CREATE OR REPLACE TABLE {t} (id BIGINT) USING delta",
        "CREATE TABLE IF NOT EXISTS {t} (id BIGINT) USING delta LOCATION 'hdfs:///lake/t'",
        "CREATE OR REPLACE TABLE {t} SHALLOW CLONE delta.`hdfs://nn/lake/other`",
        "RESTORE TABLE {t} TO VERSION AS OF 0",
    ],
)
def test_unlike_ids_tell_nothing_of_a_table_that_is_made_anew(anew: str) -> None:
    """It gets another id by that, and its log may have been read before, the other's after it."""

    def known(sql: str, location: str, table_id: str) -> JobFootprint:
        spec = DeltaWriteJobSpec.model_validate({"sql": sql.replace("{t}", f"delta.`{location}`")})
        return footprint_of(spec, {}, facts={key_of_path(location): replace(KNOWN, table_id=table_id)})

    one, other = "hdfs:///lake/t", "hdfs://nn/lake/t"
    making = known(anew, one, "7d1f")
    assert levels(making, known(DELETE, other, "c0de")) != {Level.NEVER}
    assert levels(known(DELETE, one, "7d1f"), known(DELETE, other, "c0de")) == {Level.NEVER}


def test_two_checkpoints_that_may_be_one_are_used_one_after_the_other() -> None:
    def stream(checkpoint: str, table: str) -> JobFootprint:
        plain = {"source": {"format": "kafka"}, "trigger": {"availableNow": True}}
        spec = {"stream": {**plain, "checkpoint": checkpoint, "table": {"path": table}}}
        return footprint_of(DeltaWriteJobSpec.model_validate(spec), {})

    streams = stream("hdfs:///cp/one", "hdfs://nn/a"), stream("hdfs://nn/cp/one", "hdfs://nn/b")
    verdict = pair_of(*streams).first_loses
    assert (verdict.level, verdict.rule) == (Level.MAY, "same-checkpoint")
    assert pair_of(streams[0], stream("hdfs://nn/cp/two", "hdfs://nn/b")).together


def test_a_name_whose_log_was_not_read_may_be_any_table() -> None:
    assert levels(job(DELETE, PATH, KNOWN), job(DELETE_B, NAME, None)) != {Level.NEVER}


def test_two_writers_of_a_name_that_leads_nowhere_known_may_lose_commits() -> None:
    append = DeltaWriteJobSpec.model_validate({"sql": "INSERT INTO sales.orders VALUES (1)"})
    verdict = pair_of(footprint_of(append, {}), footprint_of(append, {})).first_loses
    assert (verdict.level, verdict.rule) == (Level.UNSAFE, "lost-commits")
    assert "the location of sales.orders" in verdict.reason
    assert "DeltaTablePolicy" in str(verdict.advice)


def test_two_spellings_of_one_log_stay_one_table_after_a_job_has_changed_it() -> None:
    enables = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    changing = job(f"{enables}; {DELETE}", LINK, KNOWN)
    assert changing.tables[-1].facts is None
    assert levels(replace(changing, tables=changing.tables[1:]), job(DELETE, PATH, KNOWN)) == {Level.MAY}
    unlike = job(DELETE, LINK, KNOWN.unlike_now("it has changed"))
    assert levels(unlike, job(DELETE, PATH, KNOWN)) == {Level.MAY}
