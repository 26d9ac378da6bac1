"""What shells need to complete the command line."""

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import completion_init, get_completion_script  # type: ignore[attr-defined]  # Typer's own, unnamed

from sluice.cli import outputs

PROGRAM = "sluice"
VARIABLE = "_SLUICE_COMPLETE"
"""By which a shell's script asks, as Typer makes it from the program's name."""


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def add_to(app: typer.Typer) -> None:
    completion_init()  # Typer does it itself only where it adds options of its own
    app.command()(completion)


def completion(shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Prints the script by which a shell completes `sluice`, such as in ~/.bashrc: eval "$(sluice completion bash)"."""
    outputs.say(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell.value))
