"""The operator's log is one JSON object a line, whatever names and messages hold."""

import json
import logging
import unicodedata

from sluice.controller.process.logs import JsonFormatter

HOSTILE = "\x1b[2J\x7f\x9b31m\u202eniht\u2066\u200f\u2028\n\ud800"


def line(message: str) -> str:
    record = logging.LogRecord("sluice", logging.INFO, __file__, 1, "job %s", (message,), None)
    return JsonFormatter().format(record)


def test_nothing_in_a_line_of_the_log_is_obeyed_by_a_terminal() -> None:
    told = line(HOSTILE)
    assert {one for one in told if unicodedata.category(one) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} == set()
    assert json.loads(told)["message"] == f"job {HOSTILE}"


def test_letters_of_all_languages_can_be_read_in_the_log() -> None:
    assert "ünï 表 नमस्ते" in line("ünï 表 नमस्ते")
