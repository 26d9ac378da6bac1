"""The things that all commands share: exit codes, formats, where colour goes, and how text from outside is shown.

Whatever people read is written by `say`, or by what `console` returns: a name, a message or a statement may hold what would
change the title of a terminal, clear its screen, or turn the order of its letters around.
"""

import json
import os
import sys
import unicodedata
from collections.abc import Collection, Iterable
from enum import IntEnum, StrEnum
from itertools import accumulate
from typing import Any, NoReturn

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Span, Text

from sluice.conflicts import Level
from sluice.offline.jobs import Job
from sluice.offline.manifests import Trouble

_PIPE_WIDTH = 120
_SIGPIPE = 128 + 13
_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of what is not seen and yet does something: control and format characters, halves of a pair that is none,
separators of lines and paragraphs."""


class Exit(IntEnum):
    OK = 0
    FOUND = 1
    """What --fail-on asked to fail on was found; for `status`: something is wrong."""
    USAGE = 2
    """Called wrongly, so that nothing was asked, or without the --yes that it needs."""
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


def shown(text: str) -> str:
    """The text with all control characters escaped, as in `\\x1b`, except newlines and tabs."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(one: str) -> str:
    if one in "\n\t" or unicodedata.category(one) not in _ESCAPED:
        return one
    return one.encode("unicode_escape").decode()


def _shown_text(text: Text) -> Text:
    """Escapes before the text is laid out, so that no line gets too long by it, and with its styles where they were."""
    plain = text.plain
    if plain.isprintable():
        return text
    parts = [_shown(one) for one in plain]
    starts = list(accumulate(map(len, parts), initial=0))
    escaped = text.blank_copy("".join(parts))
    escaped.spans = [Span(starts[span.start], starts[span.end], span.style) for span in text.spans]
    return escaped


class _Console(Console):
    def on_broken_pipe(self) -> None:
        end_quietly()

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(shown(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        return super().render(
            _shown_text(renderable) if isinstance(renderable, Text) else renderable, options
        )


def console(*, stderr: bool = False) -> Console:
    """Uses colour and the terminal's width on a terminal; writes plain lines of a fixed width into a pipe."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return _Console(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def end_quietly() -> NoReturn:
    """Ends as whatever writes into a pipe that nobody reads on, such as that of `| head -1`: no verdict has this exit code."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):  # what is left in their buffers is written at the end
        os.dup2(nowhere, stream.fileno())
    raise SystemExit(_SIGPIPE)


def say(text: str, *, error: bool = False) -> None:
    """Says it as it is, without colour and of any width."""
    typer.echo(shown(text), err=error)


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


def leave(troubles: Collection[object], worst: Level = Level.NEVER, fail_on: FailOn | None = None) -> None:
    """Ends with the exit code that a pipeline can act on."""
    if fail_on is not None and worst >= Level[fail_on.name]:
        raise typer.Exit(Exit.FOUND)
    if troubles:
        raise typer.Exit(Exit.INCOMPLETE)
