"""The things that all commands share: exit codes, formats, and where colour goes."""

import json
import os
import sys
from collections.abc import Collection, Iterable
from enum import IntEnum, StrEnum
from typing import Any

import typer
from rich.console import Console

from sluice.conflicts import Level
from sluice.offline.jobs import Job
from sluice.offline.manifests import Trouble

_PIPE_WIDTH = 120


class Exit(IntEnum):
    OK = 0
    FOUND = 1
    """What --fail-on asked to fail on was found; for `status`: something is wrong."""
    USAGE = 2
    INCOMPLETE = 3
    """Some of what was given could not be used; the rest was."""
    REFUSED = 4
    """The cluster or its Redis could not be asked, or refuses what was asked for."""


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


class FailOn(StrEnum):
    MAY = "may"
    WILL = "will"


class PlanFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MERMAID = "mermaid"


def console(*, stderr: bool = False) -> Console:
    """Uses colour and the terminal's width on a terminal; writes plain lines of a fixed width into a pipe."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def print_json(body: Any) -> None:
    sys.stdout.write(json.dumps(body, indent=2, ensure_ascii=False) + "\n")


def print_troubles(troubles: Iterable[Trouble]) -> None:
    """Prints to standard error, so that what is piped on stays clean."""
    out = console(stderr=True)
    for trouble in troubles:
        out.print(f"! {trouble}", style="yellow", soft_wrap=True)


def print_not_yet(jobs: Iterable[Job]) -> None:
    """Prints what the operator would refuse jobs for, beside what could not be used. It changes no exit code."""
    out = console(stderr=True)
    for job in jobs:
        for why in job.not_yet:
            out.print(f"! {job.name}: {why}", style="yellow", soft_wrap=True)


def leave(troubles: Collection[Trouble], worst: Level = Level.NEVER, fail_on: FailOn | None = None) -> None:
    """Ends with the exit code that a pipeline can act on."""
    if fail_on is not None and worst >= Level[fail_on.name]:
        raise typer.Exit(Exit.FOUND)
    if troubles:
        raise typer.Exit(Exit.INCOMPLETE)
