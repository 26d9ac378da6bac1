"""The alerts of the chart: about figures that the operator has, by the labels that these have."""

import re
from typing import Any

import pytest
import yaml

from integration.chart.helm import CHART, RELEASE, Helm, one
from integration.chart.shown import OF_THE_INSTALLATION, OF_THE_SCRAPE, grouped_by, selected

ALERTS = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
NAMES = [rule["alert"] for rule in RULES]
DOCS = CHART.parent.parent / "docs"


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_an_alert_selects_by_labels_that_its_figure_has(
    rule: dict[str, str], figures: dict[str, set[str]]
) -> None:
    for name, labels in selected(rule["expr"]):
        assert name in figures
        assert labels <= figures[name] | OF_THE_INSTALLATION
        assert labels >= OF_THE_INSTALLATION


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_an_alert_groups_by_and_tells_labels_that_are_left(
    rule: dict[str, Any], figures: dict[str, set[str]]
) -> None:
    had = set[str]().union(*(figures[name] for name, _ in selected(rule["expr"]))) | OF_THE_SCRAPE
    grouped = grouped_by(rule["expr"])
    assert grouped <= had
    told = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
    assert told <= (grouped or had)


def test_jobs_that_a_quota_keeps_waiting_are_no_missing_right() -> None:
    [rule] = [rule for rule in RULES if rule["alert"] == "SluiceApiServerRefuses"]
    _, _, left_out = rule["expr"].partition(" unless ")
    assert [name for name, _ in selected(left_out)] == ["sluice_api_requests_total"]
    assert 'verb="create",resource=~"sparkapplications|pods"' in left_out


def test_every_alert_is_documented_and_so_is_what_it_is_about() -> None:
    documented = (DOCS / "operations.md").read_text(encoding="utf-8")
    for rule in RULES:
        for name, _ in selected(rule["expr"]):
            assert f"`{name.removesuffix('_bucket')}`" in documented
    assert re.findall(r"^\| `(Sluice\w+)` \|", documented, re.MULTILINE) == NAMES


def test_every_alert_links_to_a_heading_of_the_docs() -> None:
    for rule in RULES:
        file, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert anchor in _anchors((DOCS.parent / file).read_text(encoding="utf-8"))


def _anchors(markdown: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", markdown, re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("docs", ["https://docs.example/sluice", "https://docs.example/sluice/"])
def test_an_alert_leads_to_the_docs_where_they_are_served(helm: Helm, namespace: str, docs: str) -> None:
    enabled = ("monitoring.prometheusRule.enabled=true", "monitoring.serviceMonitor.enabled=true")
    bodies = helm.rendered(namespace, *enabled, f"monitoring.prometheusRule.docs={docs}")
    [group] = one(bodies, "PrometheusRule")["spec"]["groups"]
    links = [rule["annotations"]["runbook_url"] for rule in group["rules"]]
    inside = [rule["annotations"]["runbook_url"].removeprefix("docs/") for rule in RULES]
    assert links == [f"https://docs.example/sluice/{one}" for one in inside]


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
