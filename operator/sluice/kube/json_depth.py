"""Cuts JSON that is nested so deeply that Python's parser gives up: the API server takes ten times as much, and one object that
nobody could read would hide all others of its kind."""

import re

DEEPEST = 200
"""Levels that are left: any object of Kubernetes' own has far fewer, and whoever reads more than it can bear has its own limit."""

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)


def cut(text: bytes, deepest: int = DEEPEST) -> bytes:
    """The same JSON, in which objects and lists on the deepest level that is left are empty."""
    kept: list[bytes] = []
    level = begin = 0
    for token in _TOKEN.finditer(text):
        if token[0] in (b"{", b"["):
            level += 1
            if level == deepest:
                kept.append(text[begin : token.end()])
        elif token[0] in (b"}", b"]"):
            if level == deepest:
                begin = token.start()
            level -= 1
    kept.append(text[begin:])
    return b"".join(kept)
