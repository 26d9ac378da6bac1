"""A factory of answers that take what a test wants of their process."""

import ctypes
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

_MEBIBYTE = 1024 * 1024


def answers() -> Callable[[object], object]:
    return _answer


def starts_slowly() -> Callable[[object], object]:
    time.sleep(2)
    return _answer


def does_not_start() -> Callable[[object], object]:
    raise RuntimeError("there is nothing to answer with")


def _answer(question: object) -> object:
    what, argument = cast("tuple[str, object]", question)
    return _ANSWERS[what](argument)


def _pid(_: object) -> int:
    return os.getpid()


def _environment(name: object) -> str | None:
    return os.environ.get(str(name))


def _niceness(_: object) -> int:
    return os.nice(0)


def _prints(text: object) -> object:
    os.write(sys.stdout.fileno(), str(text).encode())
    sys.stdout.write(str(text))
    sys.stdout.flush()
    return text


def _waits(folder: object) -> int:
    """Notes its process beside a file for which it waits."""
    here = Path(str(folder))
    (here / f"begun-{os.getpid()}").touch()
    while not (here / "go").exists():
        time.sleep(0.01)
    return os.getpid()


def _grows(mebibytes: object) -> int:
    return len(bytearray(cast("int", mebibytes) * _MEBIBYTE))


def _keeps(mebibytes: object) -> int:
    _kept.append(bytearray(cast("int", mebibytes) * _MEBIBYTE))
    return os.getpid()


def _reserves(mebibytes: object) -> int:
    """Addresses, and no memory."""
    _reserved.append(mmap.mmap(-1, cast("int", mebibytes) * _MEBIBYTE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    return os.getpid()


def _answers_with(mebibytes: object) -> bytes:
    return bytes(cast("int", mebibytes) * _MEBIBYTE)


def _spins(_: object) -> object:
    while True:
        pass


def _hangs(_: object) -> object:
    """With the interpreter's lock."""
    return ctypes.PyDLL(None).sleep(3600)


def _fails(text: object) -> object:
    raise ValueError(text)


def _ends(number: object) -> object:
    os.kill(os.getpid(), signal.Signals(cast("int", number)))
    time.sleep(3600)
    return None


_kept: list[bytearray] = []
_reserved: list[mmap.mmap] = []
_ANSWERS: dict[str, Callable[[object], object]] = {
    "answers with": _answers_with,
    "echoes": lambda argument: argument,
    "ends": _ends,
    "environment": _environment,
    "fails": _fails,
    "grows": _grows,
    "hangs": _hangs,
    "keeps": _keeps,
    "pid": _pid,
    "niceness": _niceness,
    "prints": _prints,
    "reserves": _reserves,
    "spins": _spins,
    "waits": _waits,
}
