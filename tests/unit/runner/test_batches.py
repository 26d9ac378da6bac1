"""What a batch that is run again leaves out, and what it tells: decided without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pytest

from sluice_runner import batches
from sluice_runner.tables import Table

APP_IDS = {1: "q/1", 2: "q/2", 5: "q/5"}


@dataclass(frozen=True)
class Remembers:
    versions: Mapping[str, int]
    location: str = "s3a://lake/orders"

    def txn_version(self, app_id: str) -> int | None:
        return self.versions.get(app_id)


@pytest.mark.parametrize(
    ("remembered", "last"),
    [
        ([], 0),
        ([{}], 0),
        ([{"q/1": 6, "q/2": 6, "q/5": 6}], 0),
        ([{"q/1": 7, "q/2": 6}], 1),
        ([{"q/1": 6}, {"q/5": 7}], 5),
        ([{"q/2": 8}, {"q/1": 7}], 2),
        ([{"another": 7, "q": 7, "q/3": 7}], 0),
    ],
)
def test_a_statement_is_done_if_any_table_remembers_it_or_a_later_one_for_this_batch_or_a_later_one(
    remembered: Sequence[Mapping[str, int]], last: int
) -> None:
    found = [cast("Table", Remembers(versions)) for versions in remembered]
    assert batches.last_done(APP_IDS, found, 7) == last


class MetastoreIsAwayError(Exception):
    pass


def test_nothing_is_taken_for_undone_because_its_table_can_not_be_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A DELETE that was done and found nothing would destroy what the INSERT after it has written."""

    def away(_spark: object, _name: object) -> tuple[Table, ...]:
        raise MetastoreIsAwayError

    rooms = batches._Rooms.__new__(batches._Rooms)
    given: Any = rooms
    given._spark = given._stream = None
    given.context = type("Context", (), {"bound": None})
    given._plan = type("Plan", (), {"touched": ()})
    monkeypatch.setattr(batches, "_written", lambda *_given: [("sales", "orders")])
    monkeypatch.setattr(batches.tables, "find_for_sure", away)
    with pytest.raises(MetastoreIsAwayError):
        rooms._written()
