"""A job of many statements is read beside the acting loop, and other jobs do not wait for it."""

from prometheus_client.parser import text_string_to_metric_families

from integration.operator.played import Played, append
from integration.operator.process import OperatorProcess

STATEMENTS = 1_500
LONGEST_STEP = "1.0"
"""Seconds of processor time: the loop would take as long if it read this job's spec itself."""


def erases(table: str) -> dict[str, str]:
    """As a daily script that erases one person after another."""
    where = f"DELETE FROM delta.`{table}` WHERE day = DATE '2026-11-28' AND person = "
    return {"sql": ";\n".join(f"{where}{person}" for person in range(STATEMENTS))}


def test_the_acting_loop_pauses_often_while_a_job_of_many_statements_comes_and_runs(
    cluster: Played, operator: OperatorProcess
) -> None:
    cluster.apply("erases", erases("/lake/people"))
    for name in ("one", "two"):
        cluster.apply(name, append(f"/lake/{name}"))
    for name in ("one", "two"):
        cluster.start(name).succeeds(f"file:/lake/{name}")
        cluster.reaches(name, "Succeeded")
    driver = cluster.start("erases")
    cluster.apply("behind", erases("/lake/people"))
    cluster.reaches("behind", "Waiting")
    driver.succeeds("file:/lake/people")
    cluster.reaches("erases", "Succeeded")
    cluster.start("behind").succeeds("file:/lake/people")
    cluster.reaches("behind", "Succeeded")
    steps = {
        sample.labels["le"]: sample.value
        for family in text_string_to_metric_families(operator.get("/metrics")[1])
        for sample in family.samples
        if sample.name == "sluice_job_step_seconds_bucket"
    }
    assert steps[LONGEST_STEP] == steps["+Inf"] > 0
