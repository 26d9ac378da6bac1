"""Before which statements a driver finds out whether the store of their table keeps commits apart."""

import pytest

from sluice_runner.assumptions import NotAsJudgedError
from sluice_runner.stores import _refuse_another_spelling, commits_conditionally

OURS = "dev.sluice.delta.S3ConditionalLogStore"
ON_S3A = {"spark.delta.logStore.s3a.impl": OURS}


@pytest.mark.parametrize(
    ("conf", "location", "asks"),
    [
        (ON_S3A, "s3a://lake/orders", True),
        (ON_S3A, "s3://lake/orders", False),
        (ON_S3A, "file:/lake/orders", False),
        ({"spark.delta.logStore.class": OURS}, "s3://lake/orders", True),
        (
            {"spark.delta.logStore.s3a.impl": "io.delta.storage.S3SingleDriverLogStore"},
            "s3a://lake/orders",
            False,
        ),
        ({}, "s3a://lake/orders", False),
    ],
)
def test_a_store_is_asked_where_the_log_store_rests_on_its_answer(
    conf: dict[str, str], location: str, asks: bool
) -> None:
    assert commits_conditionally(conf, location) is asks


def test_a_location_that_a_catalog_spells_with_another_scheme_than_the_settings_is_refused() -> None:
    with pytest.raises(NotAsJudgedError, match=r"spark\.delta\.logStore\.s3\.impl"):
        _refuse_another_spelling(ON_S3A, "s3://lake/orders")
    for conf, location in [
        (ON_S3A, "s3a://lake/orders"),
        (ON_S3A, "file:/lake/orders"),
        ({"spark.delta.logStore.class": OURS}, "s3://lake/orders"),
        ({}, "s3://lake/orders"),
    ]:
        _refuse_another_spelling(conf, location)
