"""By what Delta knows a job's commits: what leases, statuses and plans call it."""

import pytest

from sluice.api.job_status import ShownRun
from sluice.engines.plan import PlannedRun
from sluice.lifecycle.spec.commit_ids import app_id_of, planned, shown_run, slot_named, slot_of


def test_a_slot_and_a_run_key_never_have_one_name() -> None:
    assert app_id_of(slot_named(3)) == "sluice/slot/3"
    assert app_id_of("sluice/slot/3") == "sluice/run/sluice/slot/3"
    assert slot_named(3) != "slot/3"
    assert "/" not in slot_named(3)  # a run key's has its namespace before it


@pytest.mark.parametrize(
    "text",
    [
        "sluice/slot/0",
        "sluice/slot/01",
        "sluice/slot/",
        "sluice/slot/-1",
        "sluice/slot/٣",
        "sluice/slot/9999999",
        "sluice/run/a",
        "slot 3",
        None,
        3,
        ["sluice/slot/3"],
    ],
)
def test_what_no_operator_wrote_is_no_slot(text: object) -> None:
    assert slot_of(text) is None


def test_the_same_slot_is_read_as_it_was_written() -> None:
    assert [slot_of(app_id_of(slot_named(number))) for number in (1, 12, 999_999)] == [1, 12, 999_999]


def test_the_first_token_is_that_of_the_first_attempt_also_where_that_was_dropped() -> None:
    shown = ShownRun(app_id="sluice/slot/2", first_token=5)
    assert planned("slot 2", shown, (9, 12)) == PlannedRun("sluice/slot/2", closes=False, first_token=5)
    assert planned("slot 2", shown, (4, 12)) == PlannedRun("sluice/slot/2", closes=False, first_token=4)


def test_where_nothing_tells_the_first_token_all_on_the_slot_counts() -> None:
    for shown in (None, ShownRun(app_id="sluice/slot/3", first_token=5)):
        assert planned("slot 2", shown, (9,)) == PlannedRun("sluice/slot/2", closes=False, first_token=0)


def test_a_run_key_closes_and_needs_no_slot() -> None:
    assert planned("etl/day", None, (9,)) == PlannedRun("sluice/run/etl/day", closes=True, first_token=9)
    assert shown_run(None, "etl/day", 9) is None


def test_a_job_that_has_neither_is_no_run() -> None:
    assert planned(None, ShownRun(app_id="sluice/slot/2", first_token=5), (9,)) is None
    assert shown_run(None, None, 9) is None


def test_a_status_keeps_what_it_says_of_its_slot() -> None:
    first = shown_run(None, "slot 2", 9)
    assert first == ShownRun(app_id="sluice/slot/2", first_token=9)
    assert shown_run(first, "slot 2", 12) is first
