"""Stands in for spark-submit: has a server of warm drivers run what it is given, and ends as that ends.

Python alone, without any package: it is started for each driver.
"""

import json
import os
import signal
import socket
import sys

OWN_JVM = "SLUICE_TEST_OWN_JVM"
"""A driver that has this variable is submitted by the real spark-submit."""
LONGEST = 150_000
UNANSWERED = 128 + signal.SIGKILL


def main(address: str, spark_submit: str, *arguments: str) -> int:
    if OWN_JVM in os.environ:
        os.execv(spark_submit, [spark_submit, *arguments])  # noqa: S606 - as a shell script that stands in for it would
    request = {"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}  # noqa: PTH109 - pathlib alone takes as long as all of this
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(address)
        socket.send_fds(server, [json.dumps(request).encode()], [1, 2])

        def end_driver(number: int, _frame: object) -> None:
            signal.signal(number, signal.SIG_IGN)
            server.shutdown(socket.SHUT_WR)

        signal.signal(signal.SIGTERM, end_driver)
        return int(server.recv(LONGEST) or UNANSWERED)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
