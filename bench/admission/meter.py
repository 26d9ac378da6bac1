"""What a stretch of time cost: CPU of all parts, memory, writes to the API server, and what others took of the machine."""

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Self

import psutil
from bench.admission import api_writes
from bench.admission.cluster import Cluster
from bench.admission.figures import Measured
from bench.admission.operator_metrics import Said, between, said_in, together
from bench.admission.operator_process import Operator

from devenv.service import Service
from devenv.stack import ControlPlane

LOOK_EVERY = 0.25
MIB = 1024 * 1024


@dataclass(frozen=True)
class Cost:
    """Costs of everything since it was started."""

    at: float
    operator: float
    bench: float
    servers: float
    machine: float
    writes: Counter[str]
    own: Counter[str]
    said: Said


class Meter:
    """Runs from `begin` to `end`, which writes what it found into the figures."""

    def __init__(self, plane: ControlPlane, cluster: Cluster, operators: Sequence[Operator]) -> None:
        self._plane = plane
        self._cluster = cluster
        self._operators = operators
        self._before: Cost | None = None
        self._load = 0.0
        self._looking: asyncio.Task[None] | None = None

    async def begin(self) -> Self:
        self._looking = asyncio.create_task(self._look())
        self._load = os.getloadavg()[0]
        self._before = await self._cost()
        return self

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return monotonic() - self._begun.at

    @property
    def operator_seconds(self) -> float:
        """CPU seconds of the operator so far."""
        return sum(operator.cpu_seconds() for operator in self._operators) - self._begun.operator

    @property
    def _begun(self) -> Cost:
        if self._before is None:
            raise RuntimeError("the meter was not begun")
        return self._before

    async def end(self, found: Measured, *, units: int, at: float | None = None) -> None:
        """Ends the stretch. `units`: costs are given for each of them; `at`: when it was over, if that was seen before."""
        before, after = self._begun, await self._cost()
        memory = [operator.memory() for operator in self._operators]
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        seconds = (at or after.at) - before.at
        each = max(units, 1)
        ours = after.operator + after.bench + after.servers - before.operator - before.bench - before.servers
        writes = api_writes.writes_between(before.writes, after.writes, after.own - before.own)
        found.figures |= {
            "seconds": seconds,
            "operator CPU, ms each": 1000 * (after.operator - before.operator) / each,
            "operator, cores": (after.operator - before.operator) / (after.at - before.at),
            "API server and etcd CPU, ms each": 1000 * (after.servers - before.servers) / each,
            "bench CPU, ms each": 1000 * (after.bench - before.bench) / each,
            "bench, cores": (after.bench - before.bench) / (after.at - before.at),
            **between(before.said, after.said, units),
            "operator peak RSS, MiB": max(operator.peak_bytes for operator in self._operators) / MIB,
            "operator RSS at the end, MiB": max(resident for resident, _ in memory) / MIB,
            "operator USS at the end, MiB": max(own for _, own in memory) / MIB,
            "leadership lost, times": sum(operator.times_lost for operator in self._operators),
            "others on this machine, cores": max(
                0.0, (after.machine - before.machine - ours) / (after.at - before.at)
            ),
            "load average before": self._load,
            "load average after": os.getloadavg()[0],
            "API writes each, no events": api_writes.but_events(writes) / each,
            "events each": api_writes.events(writes) / each,
        }
        found.writes = api_writes.shares(writes, each)

    async def _cost(self) -> Cost:
        writes, own = await self._cluster.writes(), self._cluster.written.copy()
        return Cost(
            at=monotonic(),
            operator=sum(operator.cpu_seconds() for operator in self._operators),
            bench=_cpu_of(os.getpid()),
            servers=sum(map(cpu_of_service, (self._plane.apiserver, self._plane.etcd))),
            machine=_cpu_of_machine(),
            writes=writes,
            own=own,
            said=together([said_in(await operator.metrics()) for operator in self._operators]),
        )

    async def _look(self) -> None:
        while True:
            for operator in self._operators:
                operator.look_at_memory()
            await asyncio.sleep(LOOK_EVERY)


def _cpu_of(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def cpu_of_service(service: Service) -> float:
    return 0.0 if service.process is None else _cpu_of(service.process.pid)


def _cpu_of_machine() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))
