"""What Events tell of a job: few in an ordinary life, and of a bad end all that is needed to do better."""

import json
from typing import Any

import pytest

from integration.conftest import Kubectl
from integration.operator.played import Played, append, committed, lost_a_race, rewrite
from integration.waiting import eventually


def _told(cluster: Played, name: str, *, until: str) -> list[dict[str, Any]]:
    """The Events about a job in their order, once the last one is there: they are written beside what they tell of."""

    def found() -> list[dict[str, Any]] | None:
        events = [one for one in cluster.objects.every("event") if one["involvedObject"]["name"] == name]
        return events if until in [one["reason"] for one in events] else None

    return eventually(
        found, f"an Event tells of {name}: {until}", show=lambda: cluster.objects.every("event")
    )


def _reasons(events: list[dict[str, Any]]) -> list[str]:
    return [event["reason"] for event in events]


def test_an_ordinary_life_has_four_events(shared: Played) -> None:
    table = "/lake/four-events"
    shared.apply("four-before", rewrite(table))
    before = shared.start("four-before")
    shared.apply("four", rewrite(table))
    shared.reaches("four", "Waiting")
    before.succeeds(f"file:{table}")
    driver = shared.start("four")
    shared.reaches("four", "Running")
    driver.succeeds(f"file:{table}", 2)
    shared.reaches("four", "Succeeded")
    events = _told(shared, "four", until="Succeeded")
    assert _reasons(events) == ["Queued", "Admitted", "Started", "Succeeded"]
    assert {event["type"] for event in events} == {"Normal"}
    queued, admitted, started, succeeded = (event["message"] for event in events)
    assert f"waits for {shared.namespace}/four-before, which runs on file:{table}" in queued
    assert f"file:{table}" in admitted
    assert driver.pod in started
    assert f"version 2 of file:{table}" in succeeded
    assert _reasons(_told(shared, "four-before", until="Succeeded")) == ["Admitted", "Started", "Succeeded"]


def test_a_conflict_tells_who_won_by_which_rule_and_what_to_change(shared: Played) -> None:
    shared.apply("loser", rewrite("/lake/lost"))
    shared.start("loser").ends(1, lost_a_race())
    event = _told(shared, "loser", until="Conflict")[-1]
    assert event["type"] == "Warning"
    for part in (
        "ConcurrentAppendException on partition date=2026-11-19",
        "version 5 (WRITE) by no Sluice job (delta-rs:1.6.6) was committed first",
        "by the rule added-files",
        "what to change: let what made that commit run as a DeltaWriteJob, too",
    ):
        assert part in event["message"]


@pytest.mark.parametrize(
    ("admission", "event"),
    [
        ({"whenBlocked": "Skip"}, ("Normal", "Skipped", "skipped, because it would have to wait for ")),
        (
            {"whenBlocked": "Fail"},
            ("Warning", "Failed", "Blocked: not run, because it would have to wait for "),
        ),
        ({"timeout": "1s"}, ("Warning", "TimedOut", "not run, because after 1s it still waited for ")),
    ],
    ids=lambda given: next(iter(given.values())).lower() if isinstance(given, dict) else "",
)
def test_who_ends_without_a_run_says_so_once(
    shared: Played, admission: dict[str, str], event: tuple[str, str, str]
) -> None:
    kind, reason, begins = event
    table = f"/lake/without-{reason.lower()}"
    shared.apply(f"holds-{reason.lower()}", rewrite(table))
    driver = shared.start(f"holds-{reason.lower()}")
    shared.apply(f"ends-{reason.lower()}", append(table, admission=admission))
    events = _told(shared, f"ends-{reason.lower()}", until=reason)
    assert [one for one in _reasons(events) if one != "Queued"] == [reason]
    assert events[-1]["type"] == kind
    assert events[-1]["message"].startswith(
        f"{begins}{shared.namespace}/holds-{reason.lower()}, which runs on "
    )
    driver.succeeds(f"file:{table}")


def test_any_other_failure_tells_its_reason_even_one_that_nobody_foresaw(
    shared: Played, kubectl: Kubectl
) -> None:
    shared.apply("strange", rewrite("/lake/strange"))
    result = json.loads(committed("/lake/strange"))
    result |= {
        "outcome": "Failed",
        "statements": [],
        "exception": {
            "class": "NullPointerException",
            "message": "no reason given;\n+- Range (0, 10)\n   at java.lang.x",
            "statement": 1,
        },
    }
    shared.start("strange").ends(1, json.dumps(result))
    status = shared.reaches("strange", "Failed")
    assert status["reason"] == "RunFailed"
    assert status["attempts"][0]["exception"]["class"] == "NullPointerException"
    event = _told(shared, "strange", until="Failed")[-1]
    assert event["message"] == "RunFailed: statement 1: NullPointerException: no reason given"
    shown = kubectl("get", "dwj", "-n", shared.namespace, "strange", "-o", "wide").stdout
    assert shown.splitlines()[0].split() == [
        *("NAME", "PHASE", "TABLE", "BLOCKED-BY", "ATTEMPT", "AGE"),
        *("REASON", "SINCE", "PRIORITY", "MESSAGE"),
    ]
    assert len(shown.splitlines()) == 2
    assert shown.endswith("statement 1: NullPointerException: no reason given\n")
