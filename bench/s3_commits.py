"""What a commit to S3 costs by Sluice's LogStore and by Delta's own for one driver, side by side.

`./dev run python -m bench.s3_commits [-n COMMITS]`. Both write to the same server, in turns, each to a log of its own; requests
are counted at a proxy. `--round-trip` holds every request for so many milliseconds, as a store in the region does; the server
here is on this machine and answers sooner.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devenv.environment import Prepared
from devenv.s3_server import S3Server
from devenv.toolchain import cache
from integration.runner.s3.drivers import (
    DELTAS_OWN,
    OURS,
    Driver,
    Store,
    commit_name,
    driver,
    hadoop_settings,
)
from integration.runner.s3.proxy import Request, S3Proxy, Send

WARM = 20
COUNTED = 20
KINDS: Mapping[str, str] = {"Delta's own": DELTAS_OWN, "Sluice's": OURS}
SIZES: Mapping[str, int] = {"2 kB": 2_000, "200 kB": 200_000, "12 MB": 12_000_000}


@dataclass(frozen=True)
class Writing:
    """Commits one version after the other."""

    store: Store
    table: str
    versions: Iterator[int]

    def commit(self, lines: list[str]) -> float:
        path = f"{self.table}/_delta_log/{commit_name(next(self.versions))}"
        text = self.store.text(lines)  # which is sent to Java, as Delta has it there
        began = time.perf_counter()
        refused = self.store.write(path, text)
        took = time.perf_counter() - began
        if refused is not None:
            raise SystemExit(f"a commit to {path} failed: {refused.java_class}: {refused.message}")
        return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "-n", "--commits", type=int, default=100, help="commits of each kind and size (%(default)s)"
    )
    parser.add_argument("--round-trip", type=int, default=0, metavar="MS", help="hold each request so long")
    arguments = parser.parse_args()
    os.environ.update(Prepared(cache(), ["s3"]).variables("s3"))
    with (
        tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder,
        S3Server(Path(folder), Path(os.environ["SLUICE_S3_SERVER"])) as server,
        driver(memory="1g") as one,
    ):
        for number, (size, characters) in enumerate(SIZES.items()):
            lines = ["x" * 999] * (characters // 1_000)
            with ways(one, server, f"lake-{number}", arguments.round_trip) as (writing, proxy):
                measure(size, lines, writing, proxy, arguments.commits)


@contextmanager
def ways(
    one: Driver, server: S3Server, bucket: str, round_trip: int
) -> Iterator[tuple[dict[str, Writing], S3Proxy]]:
    server.bucket(bucket)
    with S3Proxy(server.port) as proxy:

        def held(request: Request, send: Send) -> bytes:
            time.sleep(round_trip / 1000)
            return send(request)

        for method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
            proxy.on(method, "", held)
        yield (
            {
                kind: Writing(
                    one.store(hadoop_settings(proxy.endpoint), name),
                    f"s3a://{bucket}/{name.rpartition('.')[2]}",
                    iter(range(1_000_000)),
                )
                for kind, name in KINDS.items()
            },
            proxy,
        )


def measure(
    size: str, lines: list[str], writing: Mapping[str, Writing], proxy: S3Proxy, commits: int
) -> None:
    first = {kind: way.commit(lines) for kind, way in writing.items()}
    for _ in range(WARM):
        for way in writing.values():
            way.commit(lines)
    requests = {kind: _requests(way, lines, proxy) for kind, way in writing.items()}
    took: dict[str, list[float]] = {kind: [] for kind in writing}
    for number in range(commits):
        for kind in sorted(writing, reverse=number % 2 == 1):
            took[kind].append(writing[kind].commit(lines))
    tell(f"\na commit of {size}, {commits} of each")
    theirs = took["Delta's own"]
    for kind, seconds in took.items():
        ratio = statistics.median(one / other for one, other in zip(seconds, theirs, strict=True))
        asked = ", ".join(f"{count / COUNTED:g} {method}" for method, count in sorted(requests[kind].items()))
        tell(
            f"  {kind:12} median {statistics.median(seconds) * 1000:7.1f} ms   x{ratio:.2f}   "
            f"the first {first[kind] * 1000:6.0f} ms   requests: {asked}"
        )


def _requests(way: Writing, lines: list[str], proxy: S3Proxy) -> Counter[str]:
    before = len(proxy.seen)
    for _ in range(COUNTED):
        way.commit(lines)
    return Counter(line.partition(" ")[0] for line in proxy.seen[before:])


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
