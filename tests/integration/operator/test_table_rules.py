"""What a table's policy says of its writers: which namespaces they may be in, that they are understood, and how long they wait."""

from integration.operator.played import Played, append, rewrite
from sluice.api.base import Json


def _refused(cluster: Played, name: str, spec: Json, reason: str) -> str:
    uid = cluster.apply(name, spec)
    status = cluster.reaches(name, "Failed")
    assert status["reason"] == reason
    assert "queuedAt" not in status
    assert cluster.applications_of(uid) == []
    message: str = status["message"]
    return message


def test_a_namespace_that_is_not_listed_is_refused_until_it_is(shared: Played) -> None:
    table = "/lake/guarded"
    shared.declare("guarded", {"table": {"path": table}, "allowedNamespaces": ["somewhere-else"]})
    shared.policy_is("guarded", "Counts")
    message = _refused(shared, "intruder", append(table), "NamespaceNotAllowed")
    for part in (f"file:{table}", f"{shared.namespace}/guarded", shared.namespace, "create it again"):
        assert part in message
    shared.change_policy("guarded", {"spec": {"allowedNamespaces": ["somewhere-else", shared.namespace]}})
    shared.policy_is("guarded", "Counts")
    shared.apply("guest", append(table))
    shared.start("guest").succeeds(f"file:{table}")
    shared.reaches("guest", "Succeeded")


def test_a_list_that_comes_later_ends_the_wait_of_a_job_and_lets_what_runs_go_on(shared: Played) -> None:
    table = "/lake/closed"
    shared.apply("closed-runs", rewrite(table))
    driver = shared.start("closed-runs")
    shared.apply("closed-waits", rewrite(table))
    shared.reaches("closed-waits", "Waiting")
    shared.declare("closed", {"table": {"path": table}, "allowedNamespaces": ["somewhere-else"]})
    assert shared.reaches("closed-waits", "Failed")["reason"] == "NamespaceNotAllowed"
    assert shared.status("closed-runs")["phase"] == "Running"
    driver.succeeds(f"file:{table}")
    shared.reaches("closed-runs", "Succeeded")


def test_what_is_not_understood_is_refused_with_the_reasons_where_the_policy_wants_it(shared: Played) -> None:
    """Its log can't be read, which refuses nobody."""
    table = "/lake/strict"
    shared.declare("strict", {"table": {"path": table}, "admission": {"unknownFootprint": "Reject"}})
    shared.policy_is("strict", "Counts")
    vague = {"sql": f"INSERT INTO delta.`{table}` SELECT * FROM raw.clicks"}
    message = _refused(shared, "vague", vague, "FootprintUnknown")
    for part in ("raw.clicks may be a view", f"{shared.namespace}/strict", "spec.footprint"):
        assert part in message
    shared.apply("clear", rewrite(table))
    shared.start("clear").succeeds(f"file:{table}")
    shared.reaches("clear", "Succeeded")


def test_a_policy_bounds_the_wait_of_jobs_that_set_no_timeout_themselves(shared: Played) -> None:
    table = "/lake/hasty"
    shared.declare("hasty", {"table": {"path": table}, "admission": {"defaultTimeout": "1s"}})
    shared.policy_is("hasty", "Counts")
    shared.apply("hasty-holder", rewrite(table))
    driver = shared.start("hasty-holder")
    shared.apply("bounded", append(table, admission={"timeout": "1h"}))
    shared.reaches("bounded", "Waiting")
    shared.apply("hasty-waits", append(table))
    status = shared.reaches("hasty-waits", "Failed")
    assert status["reason"] == "TimedOut"
    assert f"1s (admission.defaultTimeout of DeltaTablePolicy {shared.namespace}/hasty)" in status["message"]
    assert shared.status("bounded")["phase"] == "Waiting"
    driver.succeeds(f"file:{table}")
    shared.start("bounded").succeeds(f"file:{table}", 2)
    shared.reaches("bounded", "Succeeded")
