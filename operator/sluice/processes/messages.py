"""Messages between a process and its children: pickled, behind their length."""

import pickle
from typing import IO

_LENGTH = 8


def packed(message: object) -> bytes:
    content = pickle.dumps(message)
    return len(content).to_bytes(_LENGTH, "big") + content


def received(source: IO[bytes]) -> object:
    """The next message; both ends are of one installation. Raises EOFError when the other end is gone."""
    length = source.read(_LENGTH)
    size = int.from_bytes(length, "big") if len(length) == _LENGTH else 0
    content = source.read(size)
    if not content or len(content) < size:
        raise EOFError
    return pickle.loads(content)  # noqa: S301 - see above
