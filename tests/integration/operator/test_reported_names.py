"""A job by a catalog name is judged by where runs reported that the name leads, on a real API server and a real Redis."""

import json
from typing import Any

from integration.operator.conftest import StartOperator
from integration.operator.played import Driver, Played, committed, rewrite
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

NAME = "lake.sales.orders"
HERE, THERE, ELSEWHERE = "file:/lake/orders", "file:/lake/orders-2", "/lake/returns"
BY_NAME = {"sql": f"DELETE FROM {NAME} WHERE id = 1"}


def _leads_to(location: str, name: str = NAME) -> Json:
    return {"names": [{"name": name, "location": location}]}


def _succeeds(driver: Driver, location: str) -> None:
    driver.ends(0, json.dumps(json.loads(committed(location)) | _leads_to(location)))


def _finds_another(driver: Driver, location: str) -> None:
    """As a driver ends that has run nothing, because the name leads elsewhere than its job was judged by."""
    exception = {"class": "NotAsJudged", "message": f"{NAME} is {location}", "retriable": False}
    told = {"version": 1, "outcome": "Failed", "attempt": 1, "statements": [], "exception": exception}
    driver.ends(1, json.dumps(told | _leads_to(location)))


def _written(cluster: Played, name: str = NAME) -> list[str]:
    """Where the name leads, as the operator has written it down."""
    found = cluster.objects.get("configmap", names.reported_names("sluice"))
    leads: list[dict[str, Any]] = json.loads(((found or {}).get("data") or {}).get(name, "[]"))
    return [lead["table"] for lead in leads]


def _is_written(cluster: Played, *wanted: str) -> None:
    eventually(
        lambda: _written(cluster) == list(wanted), f"{NAME} leads to {wanted}", show=lambda: _written(cluster)
    )


def _blockers(cluster: Played, job: str) -> set[str]:
    return {one["job"].partition("/")[2] for one in cluster.reaches(job, "Waiting")["blockedBy"]}


def _table_of(cluster: Played, job: str) -> list[str]:
    return [one["table"] for one in cluster.status(job)["footprint"]]


def test_a_name_is_bound_by_what_runs_report_and_to_both_places_until_nobody_holds_either(
    cluster: Played, operator: OperatorProcess
) -> None:
    cluster.apply("holds-elsewhere", rewrite(ELSEWHERE))
    elsewhere = cluster.start("holds-elsewhere")
    cluster.apply("first", BY_NAME)
    assert _blockers(cluster, "first") == {"holds-elsewhere"}, "nobody knows yet where the name leads"
    elsewhere.succeeds(f"file:{ELSEWHERE}")
    _succeeds(cluster.start("first"), HERE)
    told = cluster.reaches("first", "Succeeded")
    assert told["attempts"][0]["names"] == [{"name": NAME, "table": HERE}]
    _is_written(cluster, HERE)

    cluster.apply("second", BY_NAME)
    second = cluster.start("second")
    cluster.apply("beside", {"sql": f"INSERT INTO delta.`{ELSEWHERE}` SELECT * FROM {NAME}"})
    beside = cluster.start("beside")
    cluster.reaches("beside", "Running")
    cluster.apply("by-path", rewrite("/lake/orders"))
    assert _blockers(cluster, "by-path") == {"second"}
    _succeeds(second, HERE)
    by_path = cluster.start("by-path")

    _finds_another(beside, THERE)
    assert cluster.reaches("beside", "Failed")["attempts"][0]["names"] == [{"name": NAME, "table": THERE}]
    _is_written(cluster, HERE, THERE)
    cluster.apply("at-the-new-place", rewrite("/lake/orders-2"))
    new_place = cluster.start("at-the-new-place")
    cluster.apply("third", BY_NAME)
    assert _blockers(cluster, "third") == {"by-path", "at-the-new-place"}
    new_place.succeeds(THERE)
    cluster.reaches("at-the-new-place", "Succeeded")

    operator.kill()
    operator.start()
    operator.says("the lease table was rebuilt", times=2)
    cluster.apply("again-elsewhere", rewrite(ELSEWHERE))
    cluster.start("again-elsewhere").succeeds(f"file:{ELSEWHERE}")
    cluster.reaches("again-elsewhere", "Succeeded")
    assert _written(cluster) == [HERE, THERE]
    eventually(lambda: _blockers(cluster, "third") == {"by-path"}, "the old place alone is held")

    by_path.succeeds(HERE)
    third = cluster.start("third")
    _is_written(cluster, THERE)
    eventually(
        lambda: _table_of(cluster, "third") == [THERE],
        "it is judged at the new place",
        show=lambda: cluster.status("third"),
    )
    cluster.apply("at-the-old-place", rewrite("/lake/orders"))
    cluster.start("at-the-old-place").succeeds(HERE)
    cluster.reaches("at-the-old-place", "Succeeded")
    _succeeds(third, THERE)
    cluster.reaches("third", "Succeeded")
    eventually(lambda: not cluster.holders(), "all leases are released")


def test_a_report_from_a_namespace_that_does_not_own_the_table_leads_nobody_there(
    cluster: Played, operators: StartOperator
) -> None:
    operators(tableOwners=[{"namespaces": ["sales"], "names": ["lake.sales.*"]}]).says(
        "the lease table was rebuilt"
    )
    cluster.apply("guest", BY_NAME)
    _succeeds(cluster.start("guest"), HERE)
    cluster.reaches("guest", "Succeeded")
    _is_written(cluster, HERE)
    cluster.apply("holds", rewrite(ELSEWHERE))
    holds = cluster.start("holds")
    cluster.apply("waits", BY_NAME)
    assert _blockers(cluster, "waits") == {"holds"}
    holds.succeeds(f"file:{ELSEWHERE}")
    cluster.start("waits").succeeds(HERE)
    cluster.reaches("waits", "Succeeded")
