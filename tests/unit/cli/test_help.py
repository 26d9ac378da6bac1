"""Each command's help shows how it is called and what its exit codes mean."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from sluice.cli.epilogs import EPILOGS
from sluice.cli.main import app
from sluice.cli.outputs import Exit, JobExit
from unit.cli.folders import sluice

PAGE_OF_CODES = {*map(int, Exit), *map(int, JobExit), JobExit.STOPPED + 2, JobExit.STOPPED + 15}


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_every_command_has_an_example_and_exit_codes_and_nothing_else_has() -> None:
    assert set(COMMANDS) == set(EPILOGS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_how_it_is_called_and_what_its_exit_codes_mean(name: str) -> None:
    lines = [line.strip() for line in sluice(*name.split(), "--help", terminal_width=140).stdout.splitlines()]
    epilog = EPILOGS[name]
    assert f"Example: {epilog.example}" in lines
    told = lines[lines.index("Exit codes:") + 1 :]
    codes = {int(found[1]) for line in told if (found := re.match(r"(\d+) +\w", line))}
    assert codes == set(map(int, epilog.codes)) <= PAGE_OF_CODES
    assert {0, 2} <= codes


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_is_taken(name: str) -> None:
    program, *words = shlex.split(EPILOGS[name].example)
    own = name.split()
    assert (program, words[: len(own)]) == ("sluice", own)
    given = COMMANDS[name].make_context(name, words[len(own) :])  # refuses what it doesn't know
    assert given.params


def test_the_list_of_commands_breaks_no_line_where_the_source_does() -> None:
    lines = sluice("--help", terminal_width=400).stdout.splitlines()
    said = next(line for line in lines if " suspend " in line)
    assert "A stream that runs stops between two batches. It never stops another job that runs" in said
