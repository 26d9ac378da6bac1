"""The figures that an operator shows once each of them was counted or measured, and how expressions of Prometheus name them."""

import re
from datetime import UTC, datetime

from prometheus_client.parser import text_string_to_metric_families

from sluice.api.operator_status import OperatorCondition, OperatorConditionType
from sluice.controller.process.metrics import DecisionOutcome, GaugeValues, Metrics, Winner, WorkDone
from sluice.lifecycle.evidence.lease_states import LeaseState
from sluice.lifecycle.spec.lease_kinds import LeaseKind
from sluice.processes.child import DeathCause

OF_THE_SCRAPE = {"namespace", "service", "pod"}
"""What Prometheus adds for a ServiceMonitor."""
OF_THE_INSTALLATION = {"namespace", "service"}

_SELECTED = re.compile(r"\b((?:sluice|process)_[a-z_]+)\{([^}]*)\}")
_NAMED = re.compile(r"\b(?:sluice|process)_[a-z_]+")
_LABEL = re.compile(r"([a-z_]+)\s*(?:=~|!~|!=|=)")
_GROUPED = re.compile(r"\bby \(([^)]*)\)")


def labels_by_figure() -> dict[str, set[str]]:
    metrics = Metrics()
    metrics.asked_api("create", "sparkapplications", 403, 0.1)
    metrics.asked_redis("grant", "ok")
    metrics.decided(DecisionOutcome.GRANTED)
    metrics.conflicted("ConcurrentAppendException", Winner.OWN, 1.0)
    metrics.count(WorkDone.TABLE_READS, lambda: 1)
    metrics.count_deaths(tables=lambda: {DeathCause.MEMORY: 1})
    condition = OperatorCondition(
        type=OperatorConditionType.LISTS_COMPLETE,
        status="True",
        reason="Listed",
        message="",
        last_transition_time=datetime.now(UTC),
    )
    metrics.tell_of(
        lambda: GaugeValues(
            leads=True,
            epoch=1,
            jobs={"Running": 1},
            conditions=(condition,),
            need_a_person={"NameTaken": 1},
            streams={("Paused", "Yielded"): 1},
            policies={("Stalled", "Drifted"): 1},
        )
    )
    metrics.tell_of_leases(lambda: {(LeaseKind.PARTITION, LeaseState.RUNNING): 1})
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def selected(expression: str) -> list[tuple[str, set[str]]]:
    """The figures that it selects, each with the labels by which it does."""
    found = [(name, set(_LABEL.findall(matchers))) for name, matchers in _SELECTED.findall(expression)]
    assert len(found) == len(_NAMED.findall(expression)), "it names a figure of all installations"
    return found


def grouped_by(expression: str) -> set[str]:
    return {label for text in _GROUPED.findall(expression) for label in re.split(r",\s*", text)}
