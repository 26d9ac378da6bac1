"""What the demo tells while its jobs run: the whole message in a pipe, and no more than a terminal has room for."""

from io import StringIO

from rich.console import Console

from demo.__main__ import PIPE_WIDTH
from demo.comparison import Way
from demo.scenario import DemoJob
from demo.view import View, comparison

JOB = DemoJob("not-understood", "is refused", {"sql": "CALL x()"}, "Failed", "NotUnderstood")
MESSAGE = f"statement 1, line 1: [PARSE_SYNTAX_ERROR] {'a word ' * 60}, and what to do"


def told(message: str, *, terminal: bool) -> str:
    console = Console(file=StringIO(), width=PIPE_WIDTH, force_terminal=terminal, color_system=None)
    with View(console) as view:
        view.show({JOB.name: {"status": {"phase": "Failed", "message": message}}}, [JOB])
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def test_in_a_pipe_a_message_is_one_line_and_whole() -> None:
    [line] = told(MESSAGE, terminal=False).splitlines()
    assert line.endswith(" ".join(MESSAGE.split()))


def test_on_a_terminal_a_message_that_is_cut_ends_in_dots_and_keeps_what_is_in_brackets() -> None:
    found = " ".join(told(MESSAGE, terminal=True).split())
    assert "[PARSE_SYNTAX_ERROR] a word" in found
    assert "…" in found
    assert "what to do" not in found
    assert "…" not in told("short [as it is]", terminal=True)


def test_a_message_cannot_tell_a_terminal_what_to_do() -> None:
    for terminal in (True, False):
        assert r"\x1b]0;owned\x07" in told("\x1b]0;owned\x07", terminal=terminal)


def test_what_came_out_otherwise_is_told_whole() -> None:
    out = StringIO()
    comparison(Console(file=out, width=PIPE_WIDTH), None, {}, Way({}, 0.0, 0, 0), {JOB.name: MESSAGE})
    assert " ".join(f"✗ {JOB.name}: {MESSAGE}".split()) in " ".join(out.getvalue().split())
