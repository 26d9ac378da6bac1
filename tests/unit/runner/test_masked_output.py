"""What Python writes is masked line by line, and the options whose values Spark leaves out are those from Secrets, too."""

from __future__ import annotations

import io
import re
import sys

import pytest

from sluice_runner.masked_output import MaskedStream, end_streams, hide_from_streams, options_regex
from sluice_runner.secrets_in_text import Mask

MASK = Mask(["hunter2-4711"])


def test_a_secret_that_comes_in_two_parts_is_masked() -> None:
    beneath = io.StringIO()
    stream = MaskedStream(beneath, MASK)
    stream.write("it is hunter2")
    stream.write("-4711, they say\nand")
    assert beneath.getvalue() == "it is ***, they say\n"
    stream.end()
    assert beneath.getvalue() == "it is ***, they say\nand"


def test_both_streams_are_masked_once_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    hide_from_streams(Mask([]))
    hide_from_streams(MASK)
    print("hunter2-4711", end="")
    print("hunter2-4711", file=sys.stderr)
    end_streams()
    assert (out.getvalue(), err.getvalue()) == ("***", "***\n")


@pytest.mark.parametrize("before", ["(?i)url", ""])
def test_options_from_secrets_are_left_out_beside_those_that_were(before: str) -> None:
    found = options_regex(before, {"sep": "A", "user.name": "B"})
    flags = re.sub(r"\(\?i\)", "", found)  # Python takes a flag at the beginning alone, Java anywhere
    names = {name for name in ("sep", "user.name", "userXname", "separator", "url") if re.search(flags, name)}
    assert names == {"sep", "user.name", *(["url"] if before else [])}
