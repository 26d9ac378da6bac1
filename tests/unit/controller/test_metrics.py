"""What is measured is what the documentation says, neither more nor less."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from sluice.api.job_status import PauseReason
from sluice.api.operator_status import OperatorConditionType
from sluice.conflicts import Level
from sluice.conflicts.oracle import SAME_RUN
from sluice.controller.process.metrics import DecisionOutcome, GaugeValues, Metrics, Winner, WorkDone
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.lifecycle.evidence.lease_states import LeaseState
from sluice.lifecycle.job.status import NEED_A_PERSON
from sluice.lifecycle.spec.lease_kinds import LeaseKind
from sluice.processes.child import DeathCause

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"


def _metrics() -> Metrics:
    conditions = OperatorConditions(lambda: datetime(2026, 11, 19, tzinfo=UTC))
    conditions.holds(OperatorConditionType.API_SERVER_REACHABLE)
    conditions.fails(OperatorConditionType.LEASE_TABLE_USABLE, "RedisFails", "no answer")
    conditions.unknown(OperatorConditionType.FORMER_LEADERS_FENCED, "NotFenced", "nobody asked")
    metrics = Metrics()
    metrics.tell_of(
        lambda: GaugeValues(
            leads=True,
            epoch=7,
            jobs={"Running": 2},
            conditions=conditions.all(),
            need_a_person={"DriverLost": 1},
            longest_wait=90.0,
            streams={("Paused", "Yielded"): 2},
            longest_pause=30.0,
            stream_failures=4,
            policies={("Stalled", "Drifted"): 12},
        )
    )
    metrics.tell_of_leases(lambda: {(LeaseKind.PARTITION, LeaseState.RUNNING): 3})
    metrics.count_deaths(tables=lambda: {DeathCause.MEMORY: 2})
    metrics.turned(0.2)
    metrics.lagged(0.1)
    metrics.decided(DecisionOutcome.GRANTED)
    metrics.asked_api("get", "leases", 200, 0.01)
    metrics.asked_api("watch", "pods", 0, 20.0)
    metrics.asked_redis("grant", "GRANTED")
    metrics.count(WorkDone.TABLE_READS, lambda: 3)
    return metrics


def _value(metrics: Metrics, name: str, **labels: str) -> float:
    [value] = [
        sample.value
        for family in families(metrics.text().decode())
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    return value


def test_each_metric_is_documented_with_its_labels_and_nothing_else_is() -> None:
    documented = {
        name: set(re.findall(r"`(\w+)`", labels))
        for name, labels in re.findall(
            r"^\| `(sluice_\w+)` \|([^|]*)\|", OPERATIONS.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    measured: dict[str, set[str]] = {}
    for family in families(_metrics().text().decode()):
        if not family.name.startswith("process_"):
            name = f"{family.name}_total" if family.type == "counter" else family.name
            measured[name] = {label for sample in family.samples for label in sample.labels} - {"le"}
    assert documented == measured


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        ("sluice_jobs_needing_a_person", NEED_A_PERSON),
        ("sluice_leases", {*LeaseKind, *LeaseState} - {LeaseState.UNKNOWN}),
        ("sluice_conflicts_total", set(Winner)),
        ("sluice_saved_core_seconds_at_most_total", {str(level) for level in Level} - {"never"}),
        ("sluice_decisions_total", set(DecisionOutcome)),
        ("sluice_stream_pauses_total", {*PauseReason, "ByHand"}),
        ("sluice_work_total", set(WorkDone)),
        ("sluice_process_deaths_total", {str(cause) for cause in DeathCause} - {"closed"}),
    ],
)
def test_each_value_of_a_closed_list_is_documented(metric: str, values: set[str]) -> None:
    [says] = re.findall(
        rf"^\| `{metric}` \|[^|]*\|(.*)\|$", OPERATIONS.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {value for value in values if not re.search(rf"\b{value}\b", says)} == set()


def test_work_is_asked_for_at_each_scrape_of_whoever_does_it_now() -> None:
    metrics = _metrics()
    assert _value(metrics, "sluice_work_total", kind="table_reads") == 3
    metrics.count(WorkDone.TABLE_READS, lambda: 1)
    assert _value(metrics, "sluice_work_total", kind="table_reads") == 1


def test_deaths_of_processes_are_told_by_cause_also_before_the_first_one() -> None:
    metrics = _metrics()
    assert _value(metrics, "sluice_process_deaths_total", pool="tables", cause="memory") == 2
    assert _value(metrics, "sluice_process_deaths_total", pool="tables", cause="cpu") == 0


def test_how_things_stand_is_asked_at_each_scrape() -> None:
    metrics = _metrics()
    assert _value(metrics, "sluice_leader") == 1
    assert _value(metrics, "sluice_epoch") == 7
    assert _value(metrics, "sluice_jobs", phase="Running") == 2
    assert _value(metrics, "sluice_jobs_needing_a_person", reason="DriverLost") == 1
    assert _value(metrics, "sluice_longest_wait_seconds") == 90
    assert _value(metrics, "sluice_streams", phase="Paused", reason="Yielded") == 2
    assert _value(metrics, "sluice_longest_pause_seconds") == 30
    assert _value(metrics, "sluice_policies", condition="Stalled", reason="Drifted") == 12
    assert _value(metrics, "sluice_stream_failures_in_a_row") == 4
    assert _value(metrics, "sluice_condition", type="ApiServerReachable") == 1
    assert _value(metrics, "sluice_condition", type="LeaseTableUsable") == 0
    assert 'type="FormerLeadersFenced"' not in metrics.text().decode(), "what nobody knows fails no alert"


def test_whoever_leads_anew_is_asked_for_the_leases_that_it_knows() -> None:
    metrics = _metrics()
    assert _value(metrics, "sluice_leases", kind="partition", state="running") == 3
    metrics.tell_of_leases(lambda: {(LeaseKind.PARTITION, LeaseState.RUNNING): 1})
    assert _value(metrics, "sluice_leases", kind="partition", state="running") == 1


def test_a_conflict_or_a_rule_is_there_before_it_happens_and_no_other_can_be_made_up() -> None:
    metrics = Metrics()
    before = _series(metrics)
    metrics.conflicted("ConcurrentAppendException", Winner.OWN, 5.0)
    metrics.conflicted("com.example.Made.Up", Winner.FOREIGN, 5.0)
    metrics.avoided(SAME_RUN.rule)
    metrics.saved(Level.MAY, 5.0)
    assert _value(metrics, "sluice_conflicts_total", exception="other", winner="foreign") == 1
    assert _series(metrics) == before


def _series(metrics: Metrics) -> set[tuple[str, ...]]:
    return {
        (sample.name, *sample.labels.values())
        for family in families(metrics.text().decode())
        for sample in family.samples
        if not sample.name.startswith("process_")
    }


def test_each_outcome_is_there_before_it_happens() -> None:
    assert {
        _value(Metrics(), "sluice_decisions_total", outcome=outcome.value) for outcome in DecisionOutcome
    } == {0.0}


def test_a_request_without_an_answer_has_code_0_and_watches_have_no_time() -> None:
    metrics = _metrics()
    assert _value(metrics, "sluice_api_requests_total", verb="watch", code="0") == 1
    assert _value(metrics, "sluice_api_request_seconds_count") == 1
