import os
import subprocess
import sys

import pytest

from devenv import ports

KEEPS_ALL = """
import sys
from devenv import ports
ports.RANGE = range(int(sys.argv[1]), int(sys.argv[1]) + 2)
print(ports.free_ports(2), flush=True)
sys.stdin.read()
"""


def test_a_port_that_a_process_was_given_is_given_to_no_other_until_that_process_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = next(port for port in range(31_000, 31_900) if ports.is_free(port) and ports.is_free(port + 1))
    monkeypatch.setattr(ports, "RANGE", range(first, first + 2))
    with subprocess.Popen(
        [sys.executable, "-c", KEEPS_ALL, str(first)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline().strip(), "the other process was given both"
        try:
            ports.free_ports(1)
        except OSError as error:
            refused = str(error)
        else:
            refused = ""
        other.stdin.close()
        assert other.wait() == 0
    assert refused == f"no 1 free ports between {first} and {first + 2}"
    assert sorted(ports.free_ports(2)) == [first, first + 1]


def test_a_process_is_given_no_port_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    first = next(port for port in range(30_000, 30_900) if ports.is_free(port) and ports.is_free(port + 1))
    monkeypatch.setattr(ports, "RANGE", range(first, first + 2))
    assert ports.free_ports(1) != ports.free_ports(1)
