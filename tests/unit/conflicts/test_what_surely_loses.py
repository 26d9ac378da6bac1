"""`will` is said only of what is surely read: what was not understood is read perhaps, and Delta may let it commit."""

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Level, pair_of
from sluice.footprint import JobFootprint, footprint_of
from sluice.tables import key_of_path
from unit.footprint.landing import FACTS, TARGET

APPEND = f"INSERT INTO {TARGET} BY NAME SELECT 1 AS id"


def job(sql: str) -> JobFootprint:
    return footprint_of(
        DeltaWriteJobSpec.model_validate({"sql": sql}), {}, facts={key_of_path("/lake/t"): FACTS}
    )


def test_an_overwrite_surely_loses_to_an_append() -> None:
    pair = pair_of(job(f"INSERT OVERWRITE {TARGET} BY NAME SELECT 1 AS id"), job(APPEND))
    assert pair.first_loses.level is Level.WILL


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS id UNION ALL SELECT my_function(1)",
        "SELECT 1 AS id UNION ALL SELECT id FROM may_be_a_view",
        f"SELECT 1 AS id UNION ALL SELECT id FROM {TARGET} WHERE my_function(id)",
    ],
)
def test_an_append_that_may_read_its_table_may_lose(query: str) -> None:
    pair = pair_of(job(f"INSERT INTO {TARGET} BY NAME {query}"), job(APPEND))
    assert pair.first_loses.level is Level.MAY


@pytest.mark.parametrize("query", ["VALUES (my_function())", "SELECT explode(array())", "SELECT 1 LIMIT 0"])
def test_nothing_surely_loses_to_rows_that_may_not_come(query: str) -> None:
    overwrite = job(f"INSERT OVERWRITE {TARGET} BY NAME SELECT 1 AS id")
    assert pair_of(overwrite, job(f"INSERT INTO {TARGET} BY NAME {query}")).first_loses.level is Level.MAY
