"""What one change costs doesn't grow with how many others there are: counts, which no busy machine changes."""

import time
from collections import Counter
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from integration.operator.conftest import StartOperator
from integration.operator.played import Driver, Played, append, rewrite
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.controller.process.metrics import WorkDone

FEW, MANY = 8, 32
WRITES = ("create", "update", "patch", "delete")
COUNTED = ("deltawritejobs", "sparkapplications", "pods")
MOST_WRITES_A_JOB = 8
"""Three of its objects: the application is made, and it and the driver's pod are let go. Five statuses: it waits, is admitted,
its driver starts (where that takes long), runs, has ended."""
QUIET_SECONDS = 2.0


def test_a_job_from_created_to_finished_writes_no_more_beside_four_times_as_many(
    cluster: Played, operator: OperatorProcess
) -> None:
    for many in (FEW, MANY):
        before = _at_rest(operator)
        names = [f"one-of-{many}-{number}" for number in range(many)]
        for name in names:
            cluster.apply(name, append(f"/lake/{name}"))
        for name in names:
            cluster.start(name).succeeds(f"file:/lake/{name}")
        for name in names:
            cluster.reaches(name, "Succeeded")
        assert (_at_rest(operator) - before)["writes"] <= MOST_WRITES_A_JOB * many


def test_a_start_costs_no_status_for_each_of_its_steps_however_late_they_come(
    cluster: Played, operator: OperatorProcess
) -> None:
    before = _at_rest(operator)
    cluster.apply("late", append("/lake/late"))
    eventually(lambda: cluster.status("late").get("reason") == "DriverStarting", "its start takes long")
    cluster.start("late").succeeds("file:/lake/late")
    cluster.reaches("late", "Succeeded")
    assert (_at_rest(operator) - before)["writes"] <= MOST_WRITES_A_JOB


def test_one_more_job_costs_no_more_beside_four_times_as_many_that_have_finished(
    cluster: Played, operator: OperatorProcess
) -> None:
    costs: list[Counter[str]] = []
    finished: list[str] = []
    for many in (FEW, MANY):
        for number in range(len(finished), many):
            finished.append(f"finished-{number}")
            cluster.apply(finished[-1], append(f"/lake/{finished[-1]}"))
        for name in finished[-many:]:
            if cluster.status(name).get("phase") != "Succeeded":
                cluster.start(name).succeeds(f"file:/lake/{name}")
        for name in finished:
            cluster.reaches(name, "Succeeded")
        before = _at_rest(operator)
        name = f"beside-{many}"
        cluster.apply(name, append(f"/lake/{name}"))
        cluster.start(name).succeeds(f"file:/lake/{name}")
        cluster.reaches(name, "Succeeded")
        costs.append(_at_rest(operator) - before)
    _is_no_more(costs)


def test_a_release_costs_no_more_beside_four_times_as_many_who_wait_for_other_tables(
    cluster: Played, operator: OperatorProcess
) -> None:
    costs: list[Counter[str]] = []
    drivers: list[Driver] = []
    for many in (FEW, MANY):
        for number in range(len(drivers), many):
            cluster.apply(f"hold-{number}", rewrite(f"/lake/table-{number}"))
            drivers.append(cluster.start(f"hold-{number}"))
            cluster.apply(f"wait-{number}", rewrite(f"/lake/table-{number}"))
        for number in range(len(costs), many):
            cluster.reaches(f"wait-{number}", "Waiting")
        before = _at_rest(operator)
        released = len(costs)
        drivers[released].succeeds(f"file:/lake/table-{released}")
        cluster.start(f"wait-{released}")
        costs.append(_at_rest(operator) - before)
    _is_no_more(costs)


def test_a_release_of_a_table_judges_no_more_where_four_times_as_many_wait_for_it(
    cluster: Played, operator: OperatorProcess
) -> None:
    """Whoever is told anew who is in the way is no part of it: that is done later, so many a second."""
    cluster.apply("holder", rewrite("/lake/hot"))
    driver = cluster.start("holder")
    costs: list[Counter[str]] = []
    waiting: list[str] = []
    for many in (FEW, MANY):
        for number in range(many - len(waiting)):
            waiting.append(f"one-of-{many}-{number}")
            cluster.apply(waiting[-1], rewrite("/lake/hot"))
        for name in waiting:
            cluster.reaches(name, "Waiting")
        before = _at_rest(operator)
        driver.succeeds("file:/lake/hot")
        driver = cluster.start(waiting.pop(0))
        costs.append(_at_rest(operator) - before)
    few, more = (cost[WorkDone.WAITERS_JUDGED] for cost in costs)
    assert more <= few + SLACK


def test_a_table_is_read_once_for_all_who_were_there(
    cluster: Played, operators: StartOperator, tmp_path: Path
) -> None:
    reads: list[int] = []
    for many in (FEW, MANY):
        names = [f"one-of-{many}-{number}" for number in range(many)]
        for name in names:
            cluster.apply(name, rewrite(f"{tmp_path}/read-by-{many}"))
        operator = operators(f"operator-of-{many}")
        for name in names[1:]:
            cluster.reaches(name, "Waiting")
        reads.append(_at_rest(operator)[WorkDone.TABLE_READS])
        operator.stop()
    # The second one reads what is left of the first one's table, too.
    assert reads[1] <= 2 * reads[0] + SLACK


SLACK = 3
"""Changes that come together in one turn are one; how many do is chance."""


def _is_no_more(costs: list[Counter[str]]) -> None:
    few, more = costs
    grown = {what: (few[what], count) for what, count in more.items() if count > few[what] + SLACK}
    assert not grown


def _at_rest(operator: OperatorProcess) -> Counter[str]:
    """What it has done so far, once no more comes: writes of jobs and what they make, Events and Leases apart, and work."""
    seen: list[tuple[float, Counter[str]]] = []

    def rests() -> bool:
        seen.append((time.monotonic(), _done(operator)))
        since = next(at for at, done in seen if done == seen[-1][1])
        return seen[-1][0] - since >= QUIET_SECONDS

    eventually(rests, "the operator does no more", pause=0.2, show=lambda: seen[-1])
    return seen[-1][1]


def _done(operator: OperatorProcess) -> Counter[str]:
    code, text = operator.get("/metrics")
    assert code == 200, text
    found: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "sluice_work_total":
                found[sample.labels["kind"]] += round(sample.value)
            elif sample.name == "sluice_api_requests_total" and _counts(sample.labels):
                found["writes"] += round(sample.value)
    assert {*WorkDone} <= found.keys(), "a kind of work is counted no more"
    return found


def _counts(labels: dict[str, str]) -> bool:
    return labels["verb"] in WRITES and labels["resource"] in COUNTED
