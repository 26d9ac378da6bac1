"""A policy with wishes for what is no table that can be read says so, in words for whoever wrote it."""

from pathlib import Path

from integration.conftest import Kubectl
from integration.operator.played import Played
from sluice.api.base import Json

WISHES = {"properties": {"delta.appendOnly": "true"}}


def _condition_that_holds(policy: Json) -> str:
    (one,) = [one["type"] for one in policy["status"]["conditions"] if one["status"] == "True"]
    return str(one)


def test_a_name_without_a_path_cannot_be_compared(shared: Played) -> None:
    shared.declare("strange-name", {"table": {"name": "strange.orders"}, **WISHES})
    told = shared.policy_is("strange-name", "TableUnread")
    assert _condition_that_holds(told) == "Stalled"
    assert "strange.orders" in told["status"]["message"]
    assert "no DeltaTablePolicy binds it to a path: add one" in told["status"]["message"]
    shared.declare("strange-facts", {"table": {"name": "strange.visits"}, "logStore": "Safe"})
    assert _condition_that_holds(shared.policy_is("strange-facts", "Counts")) == "Ready"


def test_a_log_that_is_none_is_told_and_a_folder_without_one_is_no_table_yet(
    shared: Played, tmp_path: Path, kubectl: Kubectl
) -> None:
    nonsense, plain = tmp_path / "nonsense", tmp_path / "plain"
    (nonsense / "_delta_log").mkdir(parents=True)
    (nonsense / "_delta_log" / f"{0:020}.json").write_text("no json\n", encoding="utf-8")
    plain.mkdir()
    (plain / "part-0.parquet").write_bytes(b"PAR1")
    shared.declare("strange-nonsense", {"table": {"path": str(nonsense)}, **WISHES})
    shared.declare("strange-plain", {"table": {"path": str(plain)}, **WISHES})
    told = shared.policy_is("strange-nonsense", "TableUnread")
    assert _condition_that_holds(told) == "Stalled"
    assert f"file:{nonsense}" in told["status"]["message"]
    other = shared.policy_is("strange-plain", "NotADeltaTable")
    assert _condition_that_holds(other) == "Stalled"
    assert "part-0.parquet lies in the table's folder" in other["status"]["message"]
    shown = kubectl("get", "dtp", "-n", shared.namespace, "strange-nonsense", "-o", "wide")
    assert {"False", "TableUnread"} <= set(shown.stdout.split())
