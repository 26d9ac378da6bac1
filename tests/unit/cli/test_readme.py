"""The newcomer's session in the README is what the commands print."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from unit.cli.folders import sluice

ROOT = Path(__file__).parents[3]
WIDTH = 90


def session() -> list[tuple[str, str]]:
    """Commands of that section, each with what is printed below it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## May these two run together?")[2].partition("\n## ")[0]
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", section, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed.rstrip()))
    return found


def test_the_session_prints_what_the_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "explain", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    commands = session()
    assert [command.split()[0] for command, _ in commands] == ["cd", "sluice", "sluice", "sed", "sluice"]
    for command, printed in commands:
        if command.startswith("sluice "):
            assert sluice(*command.split()[1:], terminal_width=WIDTH).stdout.rstrip() == printed
        elif command.startswith("sed "):
            subprocess.run(command, shell=True, check=True)  # noqa: S602 - it is our own README


def test_the_manifests_in_the_readme_are_those_of_the_examples() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("forget-customer", "correct-prices", "orders.facts"):
        assert (ROOT / "examples" / "explain" / f"{name}.yaml").read_text(encoding="utf-8") in readme
