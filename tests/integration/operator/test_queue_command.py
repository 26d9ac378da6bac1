"""`sluice queue` beside a running operator."""

import json
from pathlib import Path
from typing import Any

from integration.operator.played import Played, rewrite
from integration.operator.process import sluice
from sluice.api.base import Json


def queue_of(kubeconfig: Path, namespace: str, *more: str) -> Any:
    done = sluice(kubeconfig, "queue", *more, "-n", namespace, "-o", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_tables_queue_tells_who_holds_it_who_waits_in_which_order_and_for_whom(
    shared: Played, kubeconfig: Path
) -> None:
    shared.declare("queued", {"table": {"path": "/lake/queued", "name": "sales.queued"}})
    shared.policy_is("queued", "Counts")
    shared.apply("holds", rewrite("/lake/queued"))
    shared.start("holds")
    shared.apply("modest", rewrite("/lake/queued"))
    shared.apply("urgent", rewrite("/lake/queued", priority=7))
    shared.apply("queued-aside", rewrite("/lake/queued", admission={"suspend": True}))
    shared.reaches("holds", "Running")
    for name, phase in (("modest", "Waiting"), ("urgent", "Waiting"), ("queued-aside", "Suspended")):
        shared.reaches(name, phase)
    [table] = queue_of(kubeconfig, shared.namespace, "file:///lake/queued/")["tables"]
    assert (table["table"], table["names"]) == ("file:/lake/queued", ["sales.queued"])
    assert table["policy"] == f"{shared.namespace}/queued"
    assert [_name(one) for one in table["holders"]] == ["holds"]
    assert [(_name(one), one["position"], one["priority"]) for one in table["waiters"]] == [
        ("urgent", 1, 7),
        ("modest", 2, 0),
    ]
    [blocker] = table["waiters"][0]["waitsFor"]
    assert (_name(blocker), blocker["holds"], blocker["rule"]) == ("holds", True, "added-files")
    assert [(_name(one), one["phase"]) for one in table["aside"]] == [("queued-aside", "Suspended")]

    text = sluice(kubeconfig, "queue", "sales.queued", "-n", shared.namespace)
    assert text.returncode == 0
    first, _, *rows = text.stdout.splitlines()
    assert first == "file:/lake/queued (sales.queued): 1 holds it, 2 wait, 1 holds no place"
    assert [row.split()[:2] for row in rows[:4]] == [
        ["*", f"{shared.namespace}/holds"],
        ["1", f"{shared.namespace}/urgent"],
        ["2", f"{shared.namespace}/modest"],
        ["-", f"{shared.namespace}/queued-aside"],
    ]
    assert f"waits for {shared.namespace}/holds: added-files" in rows[1]
    assert "jobs of other namespaces" in text.stderr


def _name(one: Json) -> str:
    return str(one["job"]).rpartition("/")[2]
