"""Asking ./dev test what there is begins nothing, and neither does a section that doesn't exist."""

import pytest

from devenv import cli
from devenv.errors import UsageError
from devenv.testing.report import Report
from devenv.testing.sections import Section


@pytest.mark.parametrize(
    "arguments", [["test", "--help"], ["test", "-h"], ["test", "unit", "--help"], ["check", "-h"]]
)
def test_help_is_shown_and_nothing_is_set_up(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("devenv.testing.commands.Prepared")
    assert cli.COMMANDS[arguments[0]](arguments[1:]) == 0
    shown = capsys.readouterr().out
    assert f"./dev {arguments[0]}" in shown
    assert arguments[0] == "check" or "contract " in shown


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["test", "bogus"], "bogus"), (["test", "unit", "e3e"], "e3e"), (["check", "unit"], "unit")],
)
def test_unknown_words_are_named_beside_what_there_is(
    arguments: list[str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("devenv.testing.commands.Prepared")
    with pytest.raises(UsageError, match=named) as refused:
        cli.COMMANDS[arguments[0]](arguments[1:])
    assert f"./dev {arguments[0]} [" in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "names", "options", "asked"),
    [
        (["--strict", "unit"], ["unit"], [], {"strict"}),
        (["runner", "unit", "unit"], ["unit", "runner"], [], set()),
        (
            ["unit", "-x", "--strict", "-k", "unit", "--coverage"],
            ["unit"],
            ["-x", "-k", "unit"],
            {"strict", "covered"},
        ),
    ],
)
def test_sections_are_named_once_before_the_options_of_pytest(
    arguments: list[str],
    names: list[str],
    options: list[str],
    asked: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began: list[object] = []

    def note(chosen: list[Section], options: list[str], **flags: bool) -> tuple[int, list[Report]]:
        began.append(
            ([section.name for section in chosen], options, {name for name, on in flags.items() if on})
        )
        return 0, []

    monkeypatch.setattr("devenv.testing.commands._tested", note)
    cli.COMMANDS["test"](arguments)
    assert began == [(names, options, asked)]
