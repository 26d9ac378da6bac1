"""`sluice doctor`, for people. It takes plain data, so that it need not import what asks a cluster."""

from collections import Counter

from rich.console import Console
from rich.text import Text

from sluice.api.base import Json

_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


def show(found: Json, out: Console) -> None:
    for one in found["checks"]:
        subject = f" {one['subject']}" if one["subject"] else ""
        line = Text.assemble(
            (f"{one['level']:<4}", _STYLES[one["level"]]),
            " ",
            (one["check"] + subject, "bold"),
            f": {one['message']}",
        )
        out.print(line, soft_wrap=True)
        if one["cure"]:
            out.print(f"     -> {one['cure']}", soft_wrap=True)
    counted = Counter(one["level"] for one in found["checks"])
    out.print(", ".join(f"{counted[level]} {level}" for level in _STYLES))
