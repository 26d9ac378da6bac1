"""What the operator tells of itself: only what changed, and with the time when it did."""

import logging
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from sluice.api.conditions import ConditionStatus
from sluice.api.operator_status import OperatorCondition, OperatorConditionType, read
from sluice.controller.process.operator_conditions import WELL, OperatorConditions

TABLE, API = OperatorConditionType.LEASE_TABLE_USABLE, OperatorConditionType.API_SERVER_REACHABLE


class _Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 19, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def _told(conditions: OperatorConditions) -> list[tuple[str, str]]:
    told = []
    while (condition := conditions.next_untold()) is not None:
        told.append((condition.type.value, condition.status.value))
        conditions.told(condition)
    return told


def _one(conditions: OperatorConditions) -> OperatorCondition:
    [condition] = conditions.all()
    return condition


def test_each_type_has_words_for_when_all_is_well() -> None:
    assert set(WELL) == set(OperatorConditionType)


def test_its_time_is_that_of_its_last_change_of_status() -> None:
    conditions = OperatorConditions(_Clock())
    conditions.fails(TABLE, "RedisFails", "no answer")
    first = _one(conditions)
    conditions.fails(TABLE, "RedisFails", "refused")
    assert _one(conditions).last_transition_time == first.last_transition_time
    assert _one(conditions).message == "refused"
    conditions.holds(TABLE)
    assert _one(conditions).last_transition_time > first.last_transition_time


def test_what_two_threads_say_at_once_is_one_transition() -> None:
    inside: list[int] = []

    def slowly() -> datetime:
        inside.append(1)
        time.sleep(0.2)
        return datetime(2026, 11, 19, tzinfo=UTC)

    conditions = OperatorConditions(slowly)
    threads = [threading.Thread(target=conditions.fails, args=(API, "NoAnswer", "none")) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(inside) == 1
    assert _told(conditions) == [(API.value, "False")]


def test_only_changes_of_status_are_told_and_not_that_all_is_well_at_first() -> None:
    conditions = OperatorConditions(_Clock())
    conditions.holds(TABLE)
    conditions.holds(TABLE)
    assert _told(conditions) == []
    conditions.fails(TABLE, "RedisFails", "no answer")
    conditions.fails(TABLE, "RedisFails", "refused")
    conditions.holds(TABLE)
    assert _told(conditions) == [("LeaseTableUsable", "False"), ("LeaseTableUsable", "True")]


def test_a_change_of_status_is_a_line_of_the_log_and_its_repetition_is_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    conditions = OperatorConditions(_Clock())
    for _ in range(3):
        conditions.fails(TABLE, "RedisFails", "no answer")
    conditions.holds(TABLE)
    assert [(line.levelname, line.message) for line in caplog.records] == [
        ("WARNING", "LeaseTableUsable is False: no answer"),
        ("INFO", "LeaseTableUsable is True: leases are granted and released"),
    ]


def test_what_stays_as_the_leader_before_told_it_is_no_change() -> None:
    before = OperatorConditions(_Clock())
    before.fails(TABLE, "RedisFails", "no answer")
    after = OperatorConditions(_Clock())
    after.take_over(before.as_text())
    after.fails(TABLE, "RedisFails", "no answer at all")
    assert _told(after) == []
    assert _one(after).last_transition_time == _one(before).last_transition_time


def test_who_does_not_lead_tells_only_of_its_own_api_server() -> None:
    conditions = OperatorConditions(_Clock())
    conditions.fails(TABLE, "RedisFails", "no answer")
    conditions.holds(API)
    conditions.leads_no_more()
    assert [condition.type for condition in conditions.all()] == [API]


def test_what_is_written_can_be_read_whatever_anybody_has_put_into_a_name() -> None:
    conditions = OperatorConditions(_Clock())
    conditions.fails(TABLE, "R" * 200, "half a character \ud800, a \0, and much" + "x" * 5000)
    said = conditions.as_text()
    said.encode("utf-8")
    assert read(said) == conditions.all()
    assert len(_one(conditions).message) == 1024


def test_an_annotation_that_somebody_wrote_tells_nothing() -> None:
    for text in ("", "[", "{}", "[" * 100_000, '["x", {"type": "Unheard"}]', "null"):
        assert read(text) == ()


def test_a_status_that_is_none_of_three_is_left_out() -> None:
    conditions = OperatorConditions(_Clock())
    conditions.holds(TABLE)
    assert read(conditions.as_text().replace('"True"', '"Maybe"')) == ()
    assert _one(conditions).status is ConditionStatus.TRUE
