"""Writes a page that is made from code, or says that it is stale: `python -m MODULE FILE [--check]`."""

import sys
from collections.abc import Callable
from pathlib import Path


def write(module: str, render: Callable[[], str], arguments: list[str]) -> int:
    check = "--check" in arguments
    files = [Path(argument) for argument in arguments if argument != "--check"]
    if len(files) != 1:
        print(f"usage: python -m {module} FILE [--check]", file=sys.stderr)
        return 2
    (file,) = files
    text = render()
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"stale: {file}; run ./dev crds and commit it")
        return 1
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    print(f"written: {file}")
    return 0
