"""What a lease keeps others from."""

from typing import Any

import pytest

from sluice.api.base import Json
from sluice.footprint import JobFootprint, unknown_footprints
from sluice.lifecycle.spec.lease_kinds import LeaseKind, kinds_of
from sluice.tables import TableKey
from unit.conflicts.pairs import facts, job

PARTITION, METADATA = LeaseKind.PARTITION, LeaseKind.METADATA
WRITE: Json = {"table": {"path": "/lake/t"}, "source": {"sql": "SELECT 1"}}


@pytest.mark.parametrize(
    ("spec", "kinds"),
    [
        ("INSERT INTO {t} VALUES (1, 2, 'v', DATE '2026-11-19')", {PARTITION}),
        ("DELETE FROM {t} WHERE date = DATE '2026-11-19'", {PARTITION}),
        ("ALTER TABLE {t} SET TBLPROPERTIES ('a' = 'b')", {METADATA}),
        ("CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1", {PARTITION, METADATA}),
        ({"write": WRITE | {"txnAppId": "app", "txnVersion": 1}}, {PARTITION, LeaseKind.TXN_APP_ID}),
        ({"write": WRITE, "runKey": "r"}, {PARTITION, LeaseKind.RUN_KEY}),
    ],
)
def test_it_has_a_kind_for_each_sort_of_thing_that_its_job_touches(spec: Any, kinds: set[LeaseKind]) -> None:
    assert kinds_of([job(spec, facts())]) == kinds


def test_what_nobody_knows_is_of_no_kind_that_is_known() -> None:
    unknown = JobFootprint(unknown_footprints([TableKey.parse("file:/lake/orders")]), run="etl/r")
    assert kinds_of([]) == {LeaseKind.UNKNOWN}
    assert kinds_of([unknown]) == {LeaseKind.UNKNOWN, LeaseKind.RUN_KEY}
