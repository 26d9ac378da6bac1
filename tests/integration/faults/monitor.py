"""What Redis carried out, as its own MONITOR tells on a connection of its own: also what its scripts did, one by one."""

import re
import socket
import threading
import uuid
from dataclasses import dataclass
from functools import partial
from typing import Self

from integration.waiting import eventually

_LINE = re.compile(rb"^\+?(\d+\.\d+) \[\d+ ([^\]]+)\] (.*?)\r?\n$", re.DOTALL)
_WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|.)", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}


@dataclass(frozen=True)
class Command:
    at: float
    """By the clock of this machine."""
    is_of_script: bool
    words: tuple[str, ...]


class Monitor(threading.Thread):
    def __init__(self, port: int) -> None:
        super().__init__(name="monitor of Redis", daemon=True)
        self._port = port
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._file = self._socket.makefile("rb")
        self._socket.sendall(b"MONITOR\r\n")
        begun = self._file.readline()
        assert begun == b"+OK\r\n", begun
        self._commands: list[Command] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self.join(10)
        self._file.close()
        self._socket.close()

    def run(self) -> None:
        for line in self._file:
            command = read(line)
            with self._lock:
                self._commands.append(command)

    def take(self) -> list[Command]:
        """Everything since the last time that Redis carried out before this call: its end is marked, because Redis tells each
        command a moment after it is done."""
        mark = uuid.uuid4().hex
        with socket.create_connection(("127.0.0.1", self._port)) as asking:
            asking.sendall(f"ECHO {mark}\r\n".encode())
            asking.recv(1024)
        count = eventually(partial(self._count_until, mark), "the monitor of Redis has told all", seconds=60)
        with self._lock:
            taken, self._commands = self._commands[: count - 1], self._commands[count:]
        return taken

    def _count_until(self, mark: str) -> int | None:
        """How many commands there are, with the one that says this."""
        with self._lock:
            return next((count for count, one in enumerate(self._commands, 1) if mark in one.words), None)


def read(line: bytes) -> Command:
    found = _LINE.match(line)
    assert found is not None, line
    words = tuple(_plain(word).decode(errors="replace") for word in _WORD.findall(found[3]))
    return Command(float(found[1]), found[2] == b"lua", words)


def _plain(word: bytes) -> bytes:
    return _ESCAPE.sub(_unescaped, word)


def _unescaped(found: re.Match[bytes]) -> bytes:
    escape = found[1]
    if escape[:1] == b"x" and len(escape) == 3:
        return bytes([int(escape[1:], 16)])
    return _ESCAPES.get(escape, escape)
