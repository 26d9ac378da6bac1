"""The chart's alerts about streams fire on what an operator shows of streams in trouble, and on nothing else."""

import operator as operators_of_python
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import yaml
from prometheus_client.parser import text_string_to_metric_families

from devenv.project import ROOT
from integration.operator.conftest import StartOperator
from integration.operator.played import Driver, Played, set_property, stream
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api.base import Json

ALERTS = yaml.safe_load((ROOT / "charts" / "sluice" / "files" / "alerts.yaml").read_text(encoding="utf-8"))
EXPRESSIONS = {
    rule["alert"]: rule["expr"]
    for group in ALERTS["groups"]
    for rule in group["rules"]
    if rule["alert"].startswith("SluiceStream")
}
OF_THE_SCRAPE = ("namespace", "service")
HIGHEST = re.compile(r"max\((\w+)\{([^}]*)\}\) by \(namespace\) (>=|>) (\d+)")
COMPARED: dict[str, Callable[[float, float], bool]] = {
    ">": operators_of_python.gt,
    ">=": operators_of_python.ge,
}


def firing(leader: OperatorProcess) -> set[str]:
    """The alerts whose expression holds by what the operator shows now."""
    shown = list(text_string_to_metric_families(leader.get("/metrics")[1]))
    found = set()
    for alert, expression in EXPRESSIONS.items():
        parts = HIGHEST.fullmatch(expression)
        assert parts is not None, f"{alert} is of a form that this test does not know: {expression}"
        name, matchers, comparison, limit = parts.groups()
        wanted = {
            label: value
            for label, value in re.findall(r'(\w+)="([^"]*)"', matchers)
            if label not in OF_THE_SCRAPE
        }
        values = [
            sample.value
            for family in shown
            for sample in family.samples
            if sample.name == name and wanted.items() <= sample.labels.items()
        ]
        assert values, f"{alert} is about {name}, of which nothing is shown"
        if COMPARED[comparison](max(values), float(limit)):
            found.add(alert)
    return found


def ago(**time: int) -> str:
    return (datetime.now(UTC) - timedelta(**time)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_each_alert_about_streams_fires_on_what_it_is_about(
    cluster: Played, operators: StartOperator
) -> None:
    """What takes hours is brought forward in the statuses, while nobody leads."""
    first = operators("first")
    first.says("the lease table was rebuilt")
    heedless = _started(cluster, "heedless")
    paused = _started(cluster, "paused", maxPause="4h")
    failing = _started(cluster, "failing")
    for name, driver in (("heedless", heedless), ("paused", paused)):
        driver.has_ended_batches(1, f"file:/lake/{name}")
    cluster.apply("waits", set_property("/lake/heedless"))
    heedless.is_asked_to_stop()
    cluster.apply("runs", set_property("/lake/paused"))
    paused.is_asked_to_stop()
    paused.stops(2, "file:/lake/paused", 2)
    cluster.start("runs")
    cluster.reaches("paused", "Paused")
    assert set(EXPRESSIONS) == {"SluiceStreamGoesOn", "SluiceStreamPausesLong", "SluiceStreamKeepsFailing"}
    assert firing(first) == set()
    first.kill()

    (attempt,) = cluster.status("heedless")["attempts"]
    cluster.write_status(
        "heedless", {"attempts": [attempt | {"pause": attempt["pause"] | {"since": ago(minutes=2)}}]}
    )
    cluster.write_status("paused", {"since": ago(hours=2)})
    cluster.write_status("failing", {"retries": 4})
    second = operators("second")
    second.says("the lease table was rebuilt")
    _fire(second, "SluiceStreamGoesOn", "SluiceStreamPausesLong")
    failing.ends(1, "the last words of its log")
    cluster.reaches("failing", "BackingOff")
    _fire(second, *EXPRESSIONS)
    heedless.stops(9, "file:/lake/heedless", 9)
    _fire(second, "SluiceStreamPausesLong", "SluiceStreamKeepsFailing")


def _started(cluster: Played, name: str, **more: str) -> Driver:
    given: Json = stream(f"/lake/{name}", **{"yield": "Metadata"}, **more)
    cluster.apply(name, given)
    driver = cluster.submitted(name)
    driver.runs(ago(minutes=5))
    cluster.reaches(name, "Running")
    return driver


def _fire(leader: OperatorProcess, *alerts: str) -> None:
    eventually(lambda: firing(leader) == set(alerts), f"these fire: {alerts}", show=lambda: firing(leader))
