"""A process that looks at tables for another one, which asks by its standard input: one question after another, until that ends.

While a store is asked about a single file, no thread of the asking process runs: see `sluice.controller.far_looks`.
"""

import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from typing import IO, cast

from sluice.tables.identity import TableKey
from sluice.tables.look import Look
from sluice.tables.looking import TableLooks

Question = tuple[TableKey, bool]
"""The table, and whether the last answer about it is still known."""
Answer = Look | datetime
"""A time: of this look, which found what the one before it did."""

_LENGTH = 8


def send(to: IO[bytes], what: object) -> None:
    content = pickle.dumps(what)
    to.write(len(content).to_bytes(_LENGTH, "big") + content)
    to.flush()


def received(source: IO[bytes]) -> object:
    """What the process at the other end has sent; both are of one installation. Raises EOFError when it has ended."""
    length = source.read(_LENGTH)
    content = source.read(int.from_bytes(length, "big")) if len(length) == _LENGTH else b""
    if not content:
        raise EOFError
    return pickle.loads(content)  # noqa: S301 - see above


def answers(look: Callable[[TableKey], Look], source: IO[bytes], to: IO[bytes]) -> None:
    told: dict[TableKey, Look] = {}
    while True:
        try:
            key, knows_the_last = cast("Question", received(source))
        except EOFError:
            return
        found, last = look(key), told.get(key)
        told[key] = found
        is_same = knows_the_last and last is not None and _says_the_same(found, last)
        send(to, found.at if is_same else found)


def _says_the_same(one: Look, other: Look) -> bool:
    """Without looking into them: there may be many files, and what didn't change is the very same object."""
    names = (field.name for field in fields(Look) if field.name != "at")
    return all(getattr(one, name) is getattr(other, name) for name in names)


def main() -> None:
    """What any library prints must not come between two answers."""
    to = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    answers(TableLooks().look, sys.stdin.buffer, to)


if __name__ == "__main__":
    main()
