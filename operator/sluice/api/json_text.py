"""JSON for people's eyes as well: letters of all languages as they are, and nothing that a terminal obeys."""

import json
import re
from typing import Any

_OBEYED = re.compile(
    r"[\x7f-\x9f"  # DEL, and the control characters that need no ESC before them
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # what turns the order of letters around
    r"\u2028\u2029"  # what some readers take for the end of a line
    r"\ud800-\udfff]"  # halves of a character, which no stream takes
)
"""What JSON lets stand in a string, beyond what it escapes itself (ESC, newlines). Joiners of letters are not in it."""


def as_json(body: Any, *, indent: int | None = None) -> str:
    text = json.dumps(body, indent=indent, ensure_ascii=False)
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
