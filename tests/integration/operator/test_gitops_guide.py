"""The commands of docs/gitops.md do what it says."""

import shutil
from pathlib import Path

import pytest

from documentation import ROOT, Command, commands_run_by
from integration.conftest import Kubectl
from integration.objects import Objects
from integration.terminal import Terminal
from sluice.api import names

GUIDE = ROOT / "docs" / "gitops.md"


@pytest.fixture
def terminal(kubectl: Kubectl, namespace: str, tmp_path: Path) -> Terminal:
    shutil.copytree(ROOT / "examples", tmp_path / "checkout" / "examples")
    return Terminal.opened(kubectl, namespace, tmp_path / "checkout", tmp_path / "home")


def _first_words(commands: list[Command]) -> list[str]:
    return [" ".join(command.text.split()[:2]) for command in commands]


def test_the_commands_of_the_guide_do_what_it_says(
    terminal: Terminal, kubectl: Kubectl, objects: Objects
) -> None:
    commands = commands_run_by(__file__, GUIDE)
    assert _first_words(commands) == [
        "kubectl apply",
        "kubectl diff",
        "cd examples/gitops/argocd",
        "kubectl create",
    ]
    applied, diff, cd, health = (command.text for command in commands)
    assert len(terminal.run(applied).splitlines()) == 4
    assert terminal.run(diff) == ""
    terminal.run(cd)
    argocd = ("create", "namespace", "argocd")
    assert kubectl(*argocd).returncode == 0
    made = kubectl(
        "create", "configmap", "argocd-cm", "-n", "argocd", "--from-literal=url=https://argocd.example"
    )
    assert made.returncode == 0, made.stderr
    for _ in range(2):
        terminal.run(health)
    config = kubectl.json("get", "configmap", "argocd-cm", "-n", "argocd")["data"]
    scripts = {
        f"resource.customizations.health.{names.GROUP}_{kind}": (
            terminal.folder / "resource_customizations" / names.GROUP / kind / "health.lua"
        ).read_text(encoding="utf-8")
        for kind in (names.JOB_KIND, names.POLICY_KIND)
    }
    assert config == {"url": "https://argocd.example", **scripts}
    assert kubectl("delete", "namespace", "argocd", "--wait=false").returncode == 0
