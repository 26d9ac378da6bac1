"""The things that all commands share: exit codes, formats, where colour goes, and how text from outside is shown.

Whatever people read is written by `say`, or by what `console` returns: a name, a message or a statement may hold what would
change the title of a terminal, clear its screen, or turn the order of its letters around.
"""

import os
import sys
import unicodedata
from collections.abc import Collection, Iterable
from enum import IntEnum, StrEnum
from itertools import accumulate
from textwrap import wrap
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Span, Text

from sluice.api.json_text import as_json
from sluice.api.manifests import ManifestError
from sluice.cli import output_errors
from sluice.conflicts import Level

_PIPE_WIDTH = 120
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


class JobExit(IntEnum):
    """How jobs ended; what commands can't do is told by the codes above."""

    OK = 0
    SUCCEEDED = 0
    FAILED = 1
    TIMED_OUT = 5
    """The time was up before all had ended: they go on."""
    SKIPPED = 6
    """Where --fail-on-skip asks for it."""
    DELETED = 7
    """A job was deleted, and nobody saw it end."""
    STOPPED = 128
    """Plus the number of the signal by which the command was stopped."""


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
    SARIF = "sarif"


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
        output_errors.end_quietly()

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


def print_hanging(
    out: Console, label: str, text: str, *, colour: str = "", style: str = "", indent: int | None = None
) -> None:
    """Wraps between words. Further lines stand below the text, and not below its label: `indent` columns, or as many as the label
    has, 12 at most. A word that is longer than a line stays whole, because nobody finds a path that is cut in two."""
    label, text = shown(label), shown(text)
    lines = "\n".join(
        wrap(
            text,
            max(40, out.width),
            initial_indent=" " * len(label),
            subsequent_indent=" " * (min(len(label), 12) if indent is None else indent),
            break_long_words=False,
            break_on_hyphens=False,
        )
    )
    of_label = f"bold {colour}".strip() if label.strip() else ""
    out.print(Text.assemble((label, of_label), lines[len(label) :]), style=style or None, soft_wrap=True)


def say(text: str, *, error: bool = False) -> None:
    """Says it as it is, without colour and of any width."""
    typer.echo(shown(text), err=error)


def overwrite(before: str, text: str) -> None:
    """Writes one line over the one that was written `before` on standard error; no text wipes that one away."""
    line = shown(text).ljust(len(shown(before)))
    typer.echo(f"\r{line}" if text else f"\r{line}\r", err=True, nl=False)


def print_json(body: Any) -> None:
    sys.stdout.write(as_json(body, indent=2) + "\n")


def print_troubles(troubles: Iterable[ManifestError]) -> None:
    """Prints to standard error, so that what is piped on stays clean."""
    out = console(stderr=True)
    for trouble in troubles:
        print_hanging(out, "! ", str(trouble), style="yellow")


def print_passed_over(count: int) -> None:
    if count:
        what = "1 document or file" if count == 1 else f"{count:,} documents or files"
        say(
            f"passed over: {what} of other kinds, of charts or patches of kustomize (render these to have their jobs read)",
            error=True,
        )


def leave(troubles: Collection[object], worst: Level = Level.NEVER, fail_on: FailOn | None = None) -> None:
    """Ends with the exit code that a pipeline can act on."""
    if fail_on is not None and worst >= Level[fail_on.name]:
        raise typer.Exit(Exit.FOUND)
    if troubles:
        raise typer.Exit(Exit.INCOMPLETE)
