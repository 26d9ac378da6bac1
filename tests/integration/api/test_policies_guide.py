"""What the API server says of a policy that no table can obey is what docs/policies.md shows, and `sluice plan` says the same."""

import re
from pathlib import Path

from documentation import ROOT, commands_run_by
from integration.conftest import Kubectl
from integration.terminal import Terminal

GUIDE = ROOT / "docs" / "policies.md"


def test_what_is_refused_is_told_as_the_guide_shows(kubectl: Kubectl, namespace: str, tmp_path: Path) -> None:
    (command,) = commands_run_by(__file__, GUIDE)
    terminal = Terminal.opened(kubectl, namespace, ROOT, tmp_path / "home")
    said = terminal.run(f"{command.text} 2>&1", exit_code=1)
    assert _lines(said) == _lines(command.printed)
    planned = terminal.run("sluice plan examples/policies/refused.yaml 2>&1", exit_code=3)
    assert "is not wanted by its name: say clusterBy" in " ".join(planned.split())


def _lines(said: str) -> list[str]:
    """In any order: the API server says what breaks rules of one object in an order of its own."""
    return sorted(re.sub(r"^[*] ", "", line.strip()) for line in said.splitlines())
