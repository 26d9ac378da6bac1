"""The alerts of the chart: about figures that the operator has, by the labels that these have."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from integration.chart.helm import CHART, RELEASE, Helm, one
from sluice.api.operator_status import OperatorCondition, OperatorConditionType
from sluice.controller.metrics import DecisionOutcome, Metrics, Standing

ALERTS = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
NAMES = [rule["alert"] for rule in RULES]
OF_THE_SCRAPE = {"namespace", "service"}
"""What Prometheus adds for a ServiceMonitor."""
_SELECTED = re.compile(r"\b(sluice_[a-z_]+)\{([^}]*)\}")
_LABEL = re.compile(r"([a-z_]+)\s*(?:=~|!~|!=|=)")


@pytest.fixture(scope="module")
def figures() -> dict[str, set[str]]:
    """The labels of each series that an operator shows that has asked the API server, and has conditions."""
    metrics = Metrics()
    metrics.asked_api("create", "sparkapplications", 403, 0.1)
    metrics.asked_redis("grant", "ok")
    metrics.decided(DecisionOutcome.GRANTED)
    condition = OperatorCondition(
        type=OperatorConditionType.LISTS_COMPLETE,
        status="True",
        reason="Listed",
        message="",
        last_transition_time=datetime.now(UTC),
    )
    metrics.tell_of(lambda: Standing(leads=True, epoch=1, jobs={"Running": 1}, conditions=(condition,)))
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_an_alert_selects_by_labels_that_its_figure_has(
    rule: dict[str, str], figures: dict[str, set[str]]
) -> None:
    selected = _SELECTED.findall(rule["expr"])
    assert len(selected) == rule["expr"].count("sluice_")
    for name, matchers in selected:
        assert name in figures
        assert set(_LABEL.findall(matchers)) <= figures[name] | OF_THE_SCRAPE
        assert set(_LABEL.findall(matchers)) >= OF_THE_SCRAPE


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_an_alert_groups_by_and_tells_labels_that_are_left(
    rule: dict[str, Any], figures: dict[str, set[str]]
) -> None:
    had = set[str]().union(*(figures[name] for name, _ in _SELECTED.findall(rule["expr"]))) | OF_THE_SCRAPE
    grouped = [set(re.split(r",\s*", text)) for text in re.findall(r"\bby \(([^)]*)\)", rule["expr"])]
    assert set[str]().union(*grouped) <= had
    told = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
    assert told <= (set[str]().union(*grouped) if grouped else had)


def test_jobs_that_a_quota_keeps_waiting_are_no_missing_right() -> None:
    [rule] = [rule for rule in RULES if rule["alert"] == "SluiceApiServerRefuses"]
    _, _, left_out = rule["expr"].partition(" unless ")
    [(name, matchers)] = _SELECTED.findall(left_out)
    assert name == "sluice_api_requests_total"
    assert 'verb="create",resource=~"sparkapplications|pods"' in matchers


def test_every_alert_is_about_a_figure_that_is_documented() -> None:
    documented = (CHART.parent.parent / "docs" / "operations.md").read_text(encoding="utf-8")
    for rule in RULES:
        for name, _ in _SELECTED.findall(rule["expr"]):
            assert f"`{name.removesuffix('_bucket')}`" in documented


def test_every_alert_is_about_its_own_release(helm: Helm, namespace: str) -> None:
    """Another installation that leads says nothing about this one."""
    bodies = helm.rendered(
        namespace, "monitoring.prometheusRule.enabled=true", "monitoring.serviceMonitor.enabled=true"
    )
    of_release = f'namespace="{namespace}",service="{RELEASE}"'
    assert one(bodies, "Service")
    for group in one(bodies, "PrometheusRule")["spec"]["groups"]:
        for rule in group["rules"]:
            assert rule["expr"].count(of_release) == len(re.findall(r"\bsluice_[a-z_]+", rule["expr"]))
