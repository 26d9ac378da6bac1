"""The register of a cluster's installations, where no claim can be written into it, or one in it can't be read.

A stack of its own: the register is one of the whole cluster.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from devenv.stack import Stack
from integration.conftest import Kubectl
from integration.objects import MERGE, Server
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, rewrite
from integration.operator.process import sluice
from integration.terminal import Terminal
from integration.waiting import eventually
from sluice.api import names

ALL = f"/api/v1/namespaces/{names.CLAIMS_NAMESPACE}/configmaps"
ONE = f"{ALL}/{names.CLAIMS}"
STRANGER = "nobody.knows"


@pytest.fixture
def server(kubeconfig: Path) -> Iterator[Server]:
    """The server, without a register of installations; it has none afterwards."""
    server = Server.of(kubeconfig)
    server.ask("DELETE", ONE)
    yield server
    server.ask("DELETE", ONE)


@pytest.fixture
def terminal(own_stack: Stack, namespace: str, tmp_path: Path) -> Terminal:
    kubectl = Kubectl(own_stack.kubectl, own_stack.kubeconfig)
    return Terminal.opened(kubectl, namespace, tmp_path, tmp_path / "home")


def _make(server: Server, **content: object) -> None:
    server.ask("POST", ALL, {"metadata": {"name": names.CLAIMS}, **content})


def _claim_of_a_stranger(server: Server) -> dict[str, object]:
    uid = (server.ask("GET", "/api/v1/namespaces/kube-system") or {})["metadata"]["uid"]
    return {
        "cluster": uid,
        "namespace": "nobody",
        "deployment": "knows",
        "namespaces": ["nobody"],
        "redis": "another:6379/0",
        "keys": "sluice:{other}",
        "since": "2026-01-01T00:00:00Z",
        "version": "0.1.0",
    }


@pytest.mark.parametrize("obstacle", ["immutable", "under binaryData", "full"])
def test_a_leader_that_cannot_write_its_claim_tells_it_everywhere_with_the_command_that_helps(
    cluster: Played,
    operators: StartOperator,
    server: Server,
    kubeconfig: Path,
    terminal: Terminal,
    *,
    obstacle: str,
) -> None:
    key = f"{cluster.namespace}.sluice"
    made: dict[str, dict[str, object]] = {
        "immutable": {"immutable": True},
        "under binaryData": {"binaryData": {key: "e30="}},
        "full": {"binaryData": {STRANGER: "A" * 4 * ((1 << 20) // 3)}},
    }
    _make(server, **made[obstacle])
    operator = operators()
    operator.says("leading as")
    told = cluster.operator_tells("InstallationClaimed", "False")
    assert (
        f"the claim {key} cannot be written into ConfigMap kube-system/sluice-installations"
        in told["message"]
    )
    assert f"it is {obstacle}" in told["message"] or f"{key} {obstacle}" in told["message"]
    eventually(lambda: "NotInstallationClaimed" in cluster.events_of_the_operator(), "an Event tells of it")
    cluster.apply("waits", rewrite("/lake/waits"))

    status = sluice(kubeconfig, "status", "-n", cluster.namespace, "-o", "json")
    assert status.returncode == 1, status.stdout
    assert f"InstallationClaimed is False: {told['message']}" in json.loads(status.stdout)["problems"]
    doctor = sluice(kubeconfig, "doctor", "-n", cluster.namespace, "-o", "json")
    assert doctor.returncode == 1, doctor.stdout
    failed = {one["check"]: one for one in json.loads(doctor.stdout)["checks"] if one["level"] == "fail"}
    assert {*failed} == {"condition", "installations"}
    assert failed["condition"]["subject"] == "InstallationClaimed"
    assert "nothing is granted before its claim is there" in failed["installations"]["message"]
    assert told["message"].endswith(failed["installations"]["cure"])
    assert operator.told().count("nothing is done until this installation has its claim") == 1

    terminal.run(failed["installations"]["cure"].partition(": ")[2])
    cluster.operator_tells("InstallationClaimed", "True")
    cluster.start("waits").succeeds("file:/lake/waits")
    cluster.reaches("waits", "Succeeded")
    doctor = sluice(kubeconfig, "doctor", "-n", cluster.namespace, "-o", "json")
    assert doctor.returncode == 0, doctor.stdout


@pytest.mark.parametrize("is_replaced", [True, False])
def test_an_immutable_register_that_somebody_deletes_is_made_anew_only_if_nobody_replaces_it(
    cluster: Played, operators: StartOperator, server: Server, *, is_replaced: bool
) -> None:
    """Made anew at once, it would lack the claims of others, which whoever replaces it puts back."""
    _make(server, immutable=True, data={STRANGER: json.dumps(_claim_of_a_stranger(server))})
    operator = operators()
    operator.says("it is immutable")
    server.ask("DELETE", ONE)
    operator.says("it was immutable and was deleted: waiting for its replacement")
    if is_replaced:
        _make(server, data={STRANGER: json.dumps(_claim_of_a_stranger(server))})
    operator.says("the lease table was rebuilt")
    others = [STRANGER] if is_replaced else []
    assert {*(server.ask("GET", ONE) or {})["data"]} == {*others, f"{cluster.namespace}.sluice"}


def test_a_register_that_became_immutable_later_is_told_before_the_next_claim_needs_it(
    cluster: Played, operators: StartOperator, server: Server, kubeconfig: Path
) -> None:
    operators().says("the lease table was rebuilt")
    server.ask("PATCH", ONE, {"immutable": True}, content=MERGE)
    doctor = sluice(kubeconfig, "doctor", "-n", cluster.namespace, "-o", "json")
    assert doctor.returncode == 0, doctor.stdout
    [told] = [one for one in json.loads(doctor.stdout)["checks"] if "immutable" in one["message"]]
    assert (told["check"], told["level"]) == ("installations", "warn")
    assert "kubectl replace --force" in told["cure"]


def test_a_claim_of_another_that_cannot_be_read_refuses_an_operator_by_a_sentence_and_is_named_by_doctor(
    cluster: Played, operators: StartOperator, server: Server, kubeconfig: Path
) -> None:
    claim = _claim_of_a_stranger(server) | {
        "namespace": cluster.namespace,
        "deployment": "\ud800",
        "namespaces": [],
        "redis": "redis:6379/0",
    }
    _make(server, data={STRANGER: json.dumps(claim)})
    operator = operators()
    assert operator.ends() == 2, operator.told()
    assert "Traceback" not in operator.told()
    [last] = [entry["message"] for entry in operator.entries() if entry["level"] == "error"]
    assert "does not start: ConfigMap kube-system/sluice-installations has an entry nobody.knows" in last
    assert "put it right, or remove it once that installation is gone" in last
    doctor = sluice(kubeconfig, "doctor", "-n", cluster.namespace, "-o", "json")
    assert doctor.returncode == 1, doctor.stdout
    [told] = [one for one in json.loads(doctor.stdout)["checks"] if one["subject"] == STRANGER]
    assert (told["check"], told["level"]) == ("installations", "fail")
    assert "its claim cannot be read" in told["message"]
