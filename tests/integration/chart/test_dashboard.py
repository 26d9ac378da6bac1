"""The dashboard of the chart: its panels are about figures that the operator has, of the installation that is chosen."""

import json
import re
from typing import Any

import pytest

from integration.chart.helm import CHART, Helm, one
from integration.chart.shown import OF_THE_INSTALLATION, OF_THE_SCRAPE, grouped_by, selected
from sluice.api.base import Json

TEXT = (CHART / "files" / "dashboard.json").read_text(encoding="utf-8")
DASHBOARD: Json = json.loads(TEXT)
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
NAMED_TARGETS: dict[str, dict[str, str]] = {
    f"{panel['title']}-{target['refId']}": target for panel in PANELS for target in panel["targets"]
}
TARGETS = NAMED_TARGETS.values()


@pytest.mark.parametrize("target", TARGETS, ids=NAMED_TARGETS)
def test_a_panel_asks_for_figures_of_the_chosen_installation_by_labels_that_they_have(
    target: dict[str, str], figures: dict[str, set[str]]
) -> None:
    had: set[str] = set()
    for name, labels in selected(target["expr"]):
        assert name in figures
        assert labels <= figures[name] | OF_THE_INSTALLATION
        assert labels >= OF_THE_INSTALLATION
        had |= figures[name]
    grouped = grouped_by(target["expr"])
    assert grouped <= had | OF_THE_SCRAPE
    assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= grouped
    assert target["expr"].count('{namespace="$namespace",service="$service"') == len(selected(target["expr"]))


def test_every_figure_of_sluice_is_in_some_panel(figures: dict[str, set[str]]) -> None:
    shown = {name for target in TARGETS for name, _ in selected(target["expr"])}
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in figures if name.startswith("sluice_")}
    assert families <= {re.sub(r"_bucket$", "", name) for name in shown}


def test_panels_lie_beside_one_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)


def test_grafanas_sidecar_finds_it_as_it_is_in_the_chart(helm: Helm, namespace: str) -> None:
    plain = helm.rendered(namespace)
    assert "ConfigMap sluice-dashboard" not in map(_called, plain)
    bodies = helm.rendered(
        namespace, "monitoring.dashboard.enabled=true", "monitoring.dashboard.labels.folder=lake"
    )
    found = one(bodies, "ConfigMap", "sluice-dashboard")
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["metadata"]["labels"]["folder"] == "lake"
    assert json.loads(found["data"]["sluice.json"]) == DASHBOARD
    another = "monitoring.dashboard.labels.grafana_dashboard=lake"
    bodies = helm.rendered(namespace, "monitoring.dashboard.enabled=true", another)
    assert one(bodies, "ConfigMap", "sluice-dashboard")["metadata"]["labels"]["grafana_dashboard"] == "lake"


def _called(body: Any) -> str:
    return f"{body['kind']} {body['metadata']['name']}"
