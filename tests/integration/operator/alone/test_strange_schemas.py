"""Objects that were stored under another version's schema: a control plane of their own, whose two kinds may be anything."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from devenv.apiserver import install_crds
from devenv.stack import ControlPlane, crd_files
from devenv.toolchain import cache, ensure_control_plane_tools
from integration.objects import Objects, Server
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, append
from integration.operator.process import OperatorProcess
from integration.operator.strange import HARMLESS, HIDING, MISSING, NO_OBJECT, POLICIES, REFUSED, Strange
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

GOOD = 5
AT_REST = 10.0
"""Seconds: two sweeps."""


class Permissive(ControlPlane):
    """Nothing of our kinds is checked, filled in or left out."""

    def install_crds(self) -> None:
        folder = self.folder / "crds"
        folder.mkdir(exist_ok=True)
        files = [folder / file.name for file in crd_files()]
        for file, permissive in zip(crd_files(), files, strict=True):
            definition = yaml.safe_load(file.read_text(encoding="utf-8"))
            if definition["spec"]["group"] == names.GROUP:
                for version in definition["spec"]["versions"]:
                    version["schema"] = {
                        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                    }
            permissive.write_text(yaml.safe_dump(definition, sort_keys=False), encoding="utf-8")
        install_crds(self.api.call, files)


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with Permissive(tmp_path_factory.mktemp("permissive"), ensure_control_plane_tools(cache())) as plane:
        yield plane.kubeconfig


@pytest.fixture
def objects(kubeconfig: Path) -> Objects:
    """The one namespace that has an account without controllers."""
    return Objects(Server.of(kubeconfig), "default")


def _store(cluster: Played, kind: str, given: Strange) -> None:
    metadata = {"metadata": {"name": given.name}}
    kinds = {"deltawritejob": names.JOB_KIND, "deltatablepolicy": names.POLICY_KIND}
    head = {"apiVersion": names.API_VERSION, "kind": kinds[kind]}
    cluster.objects.create(kind, head | metadata | given.body())
    if given.status is not MISSING:
        cluster.objects.patch(kind, given.name, {"status": given.status}, sub="status")


def _stalled(body: Json) -> Json:
    conditions = body.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == "Stalled" and one["status"] == "True"), {})


def _untold(cluster: Played) -> list[tuple[Strange, Any]]:
    """Returns the objects whose status does not say yet what is wrong with them."""
    jobs = {job["metadata"]["name"]: job for job in cluster.objects.every("deltawritejob")}
    policies = {one["metadata"]["name"]: one for one in cluster.objects.every("deltatablepolicy")}
    wrong = [(given, jobs[given.name]) for given in (*REFUSED, *HIDING)]
    wrong += [(given, policies[given.name]) for given in POLICIES if given.names]
    return [
        (given, body.get("status"))
        for given, body in wrong
        if _stalled(body).get("reason") != given.reason or given.names not in _stalled(body)["message"]
    ]


def test_what_another_schema_let_through_is_refused_by_its_name_or_harmless(
    cluster: Played, operators: StartOperator
) -> None:
    for given in (*REFUSED, *HIDING, *NO_OBJECT, *HARMLESS):
        _store(cluster, "deltawritejob", given)
    for given in POLICIES:
        _store(cluster, "deltatablepolicy", given)
    operator = operators()
    operator.says("the lease table was rebuilt")
    good = [f"good-{number}" for number in range(GOOD)]
    for name in good:
        cluster.apply(name, append(f"/lake/{name}"))
    for name in good:
        cluster.start(name).succeeds(f"file:/lake/{name}")
    for given in HARMLESS:
        cluster.start(given.name).succeeds(f"file:/strange/{given.name}")
    for name in (*good, *(given.name for given in HARMLESS)):
        cluster.reaches(name, "Succeeded")
        operator.says(f"{cluster.namespace}/{name}: Committed")  # once its status says so
    eventually(lambda: not _untold(cluster), "each says what is wrong with it", show=lambda: _untold(cluster))
    for given in POLICIES:
        if not given.names:
            cluster.policy_is(given.name, given.reason)
    for given in NO_OBJECT:
        body = cluster.job(given.name)
        assert body is not None
        assert body["status"] == given.status, "it has no place for words and is left as it was"
        assert cluster.events_of(given.name) == ["StatusUnreadable"]
    held = cluster.operator_tells("HoldersReadable", "False")
    assert f"(and {len(HIDING) + len(NO_OBJECT) - 1} more)" in held["message"]
    assert cluster.status("more-in-status").items() >= _status_of("more-in-status").items()
    _is_at_rest(cluster, operator)
    assert operator.running
    assert [entry for entry in operator.entries() if "exception" in entry] == []


def _status_of(name: str) -> Json:
    return next(dict(given.status) for given in HARMLESS if given.name == name)


def _is_at_rest(cluster: Played, operator: OperatorProcess) -> None:
    """Nobody asks for anything, so nothing is written and nothing said."""
    version, said = cluster.objects.version(), len(operator.entries())
    time.sleep(AT_REST)
    assert operator.entries()[said:] == []
    assert cluster.writes_since(version) == []
    assert cluster.objects.history("deltatablepolicy", version) == []
    assert cluster.objects.history("event", version) == []
