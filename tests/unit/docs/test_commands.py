"""Every command that the documentation shows is run by a test, or says that it is not."""

import re
from pathlib import Path

import pytest

from documentation import FILES, ROOT, Block, blocks

BLOCKS = [block for file in FILES for block in blocks(file)]
_PROGRAMS = "sluice|kubectl|helm|python|pip|docker|buildah|git|aws|kind|k3d"


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_block_of_commands_says_who_runs_it(block: Block) -> None:
    assert block.kind == "console", f"{block.place}: commands stand in ```console, each behind a $"
    assert block.commands, f"{block.place}: no line begins with $"
    assert (block.run_by is not None) != block.is_not_run, (
        f"{block.place}: the line before it has to be <!-- run by tests/....py --> or <!-- not run: why -->"
    )


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.run_by], ids=lambda block: block.place)
def test_who_is_said_to_run_a_block_takes_it_from_there(block: Block) -> None:
    test = block.run_by
    assert test is not None
    assert test.is_file(), f"{block.place}: there is no {test.relative_to(ROOT)}"
    assert f'"{block.file.name}"' in test.read_text(encoding="utf-8"), (
        f"{test} does not read {block.file.name}"
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_command_stands_where_nobody_looks(file: Path) -> None:
    """Indented blocks have no place for a comment on who runs them."""
    indented = re.findall(
        rf"^    (?:\$ )?(?:{_PROGRAMS}) .*$", file.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert indented == [], f"{file.name}: put these into ```console"
