"""Free loopback ports below the range that the kernel gives to outgoing connections.

A server takes its port a moment after it was chosen, and a test that restarts a server leaves the port free for a while. So a
process keeps every port it was given until it ends: it locks the byte of that number in a file that all processes share.
"""

import fcntl
import os
import random
import socket
from functools import cache

from devenv.project import cache_folder

RANGE = range(20_000, 32_000)

_kept: set[int] = set()  # by this process, which a lock of its own does not stop


def is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@cache
def _locks() -> int:
    """Open until the process ends: to close it gives all its locks back."""
    file = cache_folder() / "lock" / "ports"  # each ./dev has a folder of its own for what is temporary
    file.parent.mkdir(parents=True, exist_ok=True)
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _keep(port: int) -> bool:
    """Keep the port for this process, unless a process keeps it already."""
    if port in _kept:
        return False
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except BlockingIOError:
        return False
    _kept.add(port)
    return True


def free_ports(count: int) -> list[int]:
    """As many different ports that no process listens on or keeps. This process keeps them until it ends."""
    chance, untried = random.SystemRandom(), list(RANGE)
    found: list[int] = []
    while untried:
        port = untried.pop(
            chance.randrange(len(untried))
        )  # to shuffle them all takes as long as a Redis to start
        if _keep(port) and is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"no {count} free ports between {RANGE.start} and {RANGE.stop}")


def accepts(port: int) -> bool:
    """Whether somebody listens on the port."""
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0
