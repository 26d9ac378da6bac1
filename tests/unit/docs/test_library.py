"""What docs/library.md shows to authors of programs is what the operator and Python understand."""

from __future__ import annotations

import re

from documentation import ROOT
from sluice.api.job_status import Outcome
from sluice.engines.result import parse

TEXT = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")


def shown(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_the_result_that_any_program_may_leave_is_understood() -> None:
    [text] = shown("json")
    result = parse(text)
    assert result is not None
    assert result.outcome is Outcome.FAILED
    assert result.exception is not None
    assert (result.exception.class_, result.exception.retriable) == ("ConcurrentAppendException", True)
    assert result.commits_left_out, "its commits are read from the logs"


def test_the_programs_are_python() -> None:
    programs = shown("python")
    assert len(programs) == 2
    for program in programs:
        compile(program, "docs/library.md", "exec")
