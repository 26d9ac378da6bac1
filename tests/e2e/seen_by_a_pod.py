"""Runs in a pod and prints as JSON what the cluster looks like from there.

Its arguments are the names of the API server, of another pod and of a Service that leads to that pod.
"""

import json
import os
import socket
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.request import Request, urlopen

Answer = TypeVar("Answer")

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SHARED = Path("/data")


def soon(look: Callable[[], Answer]) -> Answer:
    """A pod that has become ready is known to DNS and to the node a moment later."""
    end = time.monotonic() + 120
    while True:
        try:
            return look()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def address(name: str) -> str:
    return str(socket.getaddrinfo(name, None, socket.AF_INET)[0][4][0])


def unknown_name() -> tuple[str, float]:
    begin = time.monotonic()
    try:
        answer = address("registry.example.org")
    except socket.gaierror as error:
        answer = "unknown" if error.errno == socket.EAI_NONAME else str(error)
    return answer, time.monotonic() - begin


def content(url: str) -> str:
    with urlopen(url, timeout=30) as answer:  # noqa: S310 - a Service of the test
        return str(answer.read().decode())


def asked_of_the_api_server(name: str, path: str) -> str:
    trusted = ssl.create_default_context(cafile=ACCOUNT / "ca.crt")
    token = {"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}"}
    request = Request(f"https://{name}{path}", headers=token)
    with urlopen(request, timeout=30, context=trusted) as answer:  # noqa: S310
        return str(json.load(answer)["kind"])


def written(file: Path, text: str) -> str:
    try:
        file.write_text(text)
    except OSError as error:
        return os.strerror(error.errno or 0)
    return "written"


def status(field: str) -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{field}:"))


def main() -> None:
    api, peer, service = sys.argv[1:]
    shared = written(SHARED / "letter", "from one pod to another")
    seen = {
        "user": os.getuid(),
        "seccomp": status("Seccomp"),
        "capabilities": status("CapEff"),
        "image": written(Path("/letter"), ""),
        "scratch": written(Path("/tmp/letter"), ""),  # noqa: S108 - an emptyDir
        "shared": shared,
        "api": address(api),
        "authenticated": asked_of_the_api_server(api, "/api"),
        "peer": soon(lambda: address(peer)),
        "service": soon(lambda: address(service)),
        "served": soon(lambda: content(f"http://{service}/letter")),
        "outside": unknown_name(),
    }
    sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    main()
