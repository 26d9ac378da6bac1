"""How fast the lease table is on a Redis of its own: grants and releases of jobs on three tables, by one process with some tasks;
beside them redis-py's own `Lock`, one a table. And how long a rebuild takes.

./dev run python -m bench.leases      # a ratio says more than a figure: the machine may be busy
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from redis.asyncio import Redis

from devenv.ports import accepts, free_ports
from devenv.redis import ensure_redis_server
from devenv.service import Service
from devenv.toolchain import cache
from sluice.leases import Epochs, Grant, Lease, LeaseStore

TASKS = (1, 16, 64)
TABLES = 3_000
TABLES_OF_A_JOB = 3
JOBS = 8_000
REBUILT = 10_000
ROUNDS = 3
"""Rounds, of which the best counts: others use the machine, too."""


@dataclass(frozen=True)
class Rate:
    a_second: float
    p99_ms: float
    """Of a grant and a release together."""

    def __str__(self) -> str:
        return f"{self.a_second:>8,.0f}/s   p99 {self.p99_ms:6.2f} ms"


def lease(number: int) -> Lease:
    tables = (
        f"s3://lake/table-{(TABLES_OF_A_JOB * number + one) % TABLES}" for one in range(TABLES_OF_A_JOB)
    )
    return Lease(f"uid-{number}", 1, "0123456789abcdef", f"etl/job-{number}", tuple(tables))


async def rate(once: Callable[[int], Awaitable[None]], tasks: int, jobs: int) -> Rate:
    numbers, times = iter(range(jobs)), list[float]()

    async def work() -> None:
        for number in numbers:
            began = time.perf_counter()
            await once(number)
            times.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(tasks)))
    return Rate(jobs / (time.perf_counter() - began), quantiles(times, n=100)[98] * 1e3)


async def best(once: Callable[[int], Awaitable[None]], tasks: int, jobs: int) -> Rate:
    rates = [await rate(once, tasks, jobs) for _ in range(ROUNDS)]
    return max(rates, key=lambda one: one.a_second)


async def main(url: str) -> None:
    async with Redis.from_url(url, decode_responses=True) as redis:
        store = LeaseStore(redis, "bench", "bench")
        await store.rebuild(1, [])

        async def lease_comes_and_goes(number: int) -> None:
            grant = await store.grant(lease(number))
            await store.release(grant.lease)

        async def locks_come_and_go(number: int) -> None:
            locks = [redis.lock(table) for table in sorted(lease(number).tables)]
            for lock in locks:
                await lock.acquire()
            for lock in locks:
                await lock.release()

        say("a job on three tables comes and goes, in one process:")
        for tasks in TASKS:
            ours = await best(lease_comes_and_goes, tasks, JOBS if tasks > 1 else JOBS // 4)
            locks = await best(locks_come_and_go, tasks, JOBS // 8)
            say(f"  {tasks:>2} tasks   leases {ours}   locks {locks}   x{ours.a_second / locks.a_second:.1f}")
        grants = [Grant(lease(number), Epochs.token(1, number + 1)) for number in range(REBUILT)]
        times = []
        for epoch in range(2, 2 + ROUNDS):
            began = time.perf_counter()
            await store.rebuild(epoch, grants)
            times.append(time.perf_counter() - began)
        say(f"a rebuild of {REBUILT:,} leases: {min(times):.2f} s")
    say(f"load of the machine: {os.getloadavg()[0]:.1f}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    port = free_ports(1)[0]
    with tempfile.TemporaryDirectory() as folder:
        program = [
            str(ensure_redis_server(cache())),
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            folder,
        ]
        server = Service("redis", program, Path(folder) / "redis.log", lambda: accepts(port))
        server.start()
        try:
            asyncio.run(main(f"redis://127.0.0.1:{port}/0"))
        finally:
            server.stop()
