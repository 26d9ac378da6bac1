"""Free loopback ports below the range that the kernel gives to outgoing connections."""

import random
import socket

RANGE = range(20_000, 32_000)


def is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """As many different ports that nobody listens on now."""
    chance, untried = random.SystemRandom(), list(RANGE)
    found: list[int] = []
    while untried:
        port = untried.pop(
            chance.randrange(len(untried))
        )  # to shuffle them all takes as long as a Redis to start
        if is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"no {count} free ports between {RANGE.start} and {RANGE.stop}")


def accepts(port: int) -> bool:
    """Whether somebody listens on the port."""
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0
