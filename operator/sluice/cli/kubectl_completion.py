"""`kubectl_complete-sluice`, which kubectl runs with the words behind `kubectl sluice` to learn what may follow."""

import os
import shlex
import sys

from sluice.cli.completion import PROGRAM, VARIABLE
from sluice.cli.main import app

_NOTHING_SPECIAL = ":0"
"""The directive by which kubectl has the shell offer files where nothing else fits."""


def main() -> None:
    words = [PROGRAM, *sys.argv[1:]]
    os.environ.update(COMP_WORDS=shlex.join(words), COMP_CWORD=str(len(words) - 1))
    os.environ[VARIABLE] = "complete_bash"
    try:
        app(prog_name=PROGRAM)
    finally:
        sys.stdout.write(f"{_NOTHING_SPECIAL}\n")
