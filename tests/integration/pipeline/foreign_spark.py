"""A driver without Sluice's runner: it reads one statement a line from a socket, runs it, and answers."""

from __future__ import annotations

import socket
import sys

from pyspark.sql import SparkSession


def main(address: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        for line in connection.makefile(encoding="utf-8"):
            spark.sql(line)
            connection.sendall(b"done\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
