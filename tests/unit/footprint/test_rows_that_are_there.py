"""'' is stored as NULL: rows that come may land in NULL's partition, rows that are there are not found as ''."""

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Level, pair_of
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path, oss

FACTS = TableFacts(
    columns=Table.of({"id": "bigint", "region": "string"}, ["region"]),
    dialect=oss("4.4.0"),
    log_store=LogStore.SAFE,
)
OF_NULL = "DELETE FROM delta.`/lake/t` WHERE region IS NULL AND id = 1"


def job(sql: str) -> JobFootprint:
    spec = DeltaWriteJobSpec.model_validate({"sql": sql})
    return footprint_of(spec, {}, facts={key_of_path("/lake/t"): FACTS})


def levels(first: str, second: str) -> set[Level]:
    pair = pair_of(job(first), job(second))
    return {pair.first_loses.level, pair.second_loses.level}


@pytest.mark.parametrize(
    "rewrite",
    [
        "DELETE FROM delta.`/lake/t` WHERE region IS NOT NULL AND id = 2",
        "DELETE FROM delta.`/lake/t` WHERE region <> 'us' AND id = 2",
        "UPDATE delta.`/lake/t` SET id = 3 WHERE region <> 'us'",
        "OPTIMIZE delta.`/lake/t` WHERE region IS NOT NULL",
        "MERGE INTO delta.`/lake/t` t USING delta.`/lake/s` s ON t.id = s.id AND t.region <> 'us' WHEN MATCHED THEN DELETE",
    ],
)
def test_rewriting_what_has_a_region_is_apart_from_what_has_none(rewrite: str) -> None:
    assert levels(OF_NULL, rewrite) == {Level.NEVER}


def test_rows_whose_region_is_empty_come_to_those_that_have_none() -> None:
    moves = "UPDATE delta.`/lake/t` SET region = '' WHERE region = 'us'"
    assert levels(OF_NULL, moves) != {Level.NEVER}
