"""What docs/migrating.md shows of a job is what the command line prints."""

import pytest

from documentation import ROOT, blocks
from unit.cli.folders import sluice


def test_the_guide_shows_what_is_understood_of_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown = [
        command
        for block in blocks(ROOT / "docs" / "migrating.md")
        for command in block.commands
        if command.text.startswith("sluice footprint ")
    ]
    (footprint,) = shown
    assert sluice(*footprint.text.split()[1:], terminal_width=200).stdout.rstrip() == footprint.printed
