"""Two operators, of which the leader goes, again and again: killed, and told to stop."""

import asyncio
import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from time import monotonic

from bench.admission.cluster import NAMESPACE, BenchError
from bench.admission.drivers import Play
from bench.admission.figures import Measured
from bench.admission.meter import MIB, cpu_of_service
from bench.admission.operator_process import Operator
from bench.admission.scenarios import WAITS_LONGEST
from bench.admission.stage import READY_SECONDS, Bench
from bench.admission.standing import Standing, holder_names, stand
from bench.failover.witness import Handover, Witness

from devenv import kubernetes_binaries
from devenv.kubernetes_binaries import HELM
from devenv.service import Service
from devenv.toolchain import cache
from integration.chart.helm import Helm
from integration.objects import Objects, Server
from integration.operator.fenced import fenced

IDLE_SECONDS = 30.0
A_MINUTE = 60.0


class Goes(StrEnum):
    """How the leader goes."""

    KILLED = "killed"
    STOPPED = "told to stop"


@dataclass(frozen=True)
class Sizes:
    running: int
    waiting: int
    rounds: int


@dataclass
class Failovers:
    """What one cluster's rounds have found."""

    bench: Bench
    sizes: Sizes
    found: dict[Goes, Measured]
    took: dict[Goes, dict[str, list[float]]] = field(
        default_factory=lambda: {goes: defaultdict(list) for goes in Goes}
    )
    _rounds: int = 0

    async def play(self) -> None:
        bench, sizes = self.bench, self.sizes
        finished = bench.jobs - sizes.running - sizes.waiting
        if finished < 0:
            raise BenchError(
                f"{sizes.running} that run and {sizes.waiting} that wait are more than {bench.jobs}"
            )
        with self._behind_the_policies():
            standing = Standing(finished=finished, holders=sizes.running, waiting=sizes.waiting)
            await stand(bench, standing)
            bench.drivers.play = Play.RUNS
            async with Witness(bench.cluster, bench.plane.ports.redis, self._account) as witness:
                leader = await bench.rested_leader("operator-0")
                if leader is None:
                    return
                standby = await self._standby()
                await self._at_rest(leader, standby)
                holders = iter(holder_names(standing))
                for number in range(sizes.rounds):
                    for goes in Goes:
                        await self._round(goes, leader, standby, next(holders), witness)
                        leader, standby = standby, await self._standby()
                        self.found[goes].reached = number + 1
        for goes, of_rounds in self.took.items():
            self.found[goes].figures |= dict(_summed(of_rounds))

    @contextmanager
    def _behind_the_policies(self) -> Iterator[None]:
        """Installs the chart's admission policies; operators act as the account that these judge."""
        bench = self.bench
        helm = Helm(kubernetes_binaries.ensure(cache(), HELM) / "helm")
        objects = Objects(Server.of(bench.plane.kubeconfig), NAMESPACE)
        with fenced(helm, objects, bench.plane.kubeconfig, bench.folder) as made:
            made.install()
            bench.reached_by = self._account = made.kubeconfig
            bench.settings = {"admissionPolicy": True}
            yield

    async def _standby(self) -> Operator:
        self._rounds += 1
        standby = self.bench.start(f"operator-{self._rounds}")
        if not await standby.says(WAITS_LONGEST, READY_SECONDS):
            raise BenchError(f"the second operator does not wait for the first: {standby.log}")
        await self.bench.rest_of(standby)
        return standby

    async def _at_rest(self, leader: Operator, standby: Operator) -> None:
        """What both cost while nothing happens."""
        began, before = monotonic(), [one.cpu_seconds() for one in (leader, standby)]
        await asyncio.sleep(IDLE_SECONDS)
        minutes = (monotonic() - began) / A_MINUTE
        figures = self.found[Goes.KILLED].figures
        for what, operator, cpu in zip(("leader", "standby"), (leader, standby), before, strict=True):
            resident, own = operator.memory()
            figures[f"{what} at rest, RSS, MiB"] = resident / MIB
            figures[f"{what} at rest, USS, MiB"] = own / MIB
            figures[f"{what} at rest, CPU s a minute"] = (operator.cpu_seconds() - cpu) / minutes

    async def _round(
        self, goes: Goes, leader: Operator, standby: Operator, holder: str, witness: Witness
    ) -> None:
        """The leader goes; one driver ends then, for which somebody waits, and one job is new."""
        bench, cluster = self.bench, self.bench.cluster
        new, known = f"after-{self._rounds:06}", len(cluster.applied_at)
        cpu, load = standby.cpu_seconds(), os.getloadavg()[0]
        of_servers = sum(map(cpu_of_service, self._servers))
        seen = await witness.begins()
        leader.process.send_signal(signal.SIGKILL if goes is Goes.KILLED else signal.SIGTERM)
        began = monotonic()
        await asyncio.gather(bench.create(new), bench.drivers.end(cluster.applications[holder]))
        both = cluster.has_more_applications(known + 1)
        if not await bench.until(both, standby, bench.limit):
            raise BenchError(
                f"{goes}: {len(cluster.applied_at) - known} of 2 jobs were admitted: {standby.log}"
            )
        followed = [name for name in cluster.applied_after(known) if name != new]
        if new not in cluster.applied_at or len(followed) != 1:
            raise BenchError(
                f"{goes}: {cluster.applied_after(known)} were admitted, and not {new} and another"
            )
        if not seen.epoch_is_in_force:
            raise BenchError(f"{goes}: jobs were granted under epoch {seen.epoch}, which is not over")
        took = self.took[goes]
        for step, seconds in seen.seconds():
            took[f"until {step}, s"].append(seconds)
        for what, name in (("the new job", new), ("the next in line", followed[0])):
            took[f"until {what} is granted, s"].append(self._granted_at(seen, name) - seen.began)
            took[f"until {what} has its SparkApplication, s"].append(cluster.applied_at[name] - began)
        rest = monotonic() + await bench.rest_of(standby) - began
        took["until all have been looked at, and it rests, s"].append(rest)
        took["the next leader's CPU until then, s"].append(standby.cpu_seconds() - cpu)
        spent = sum(map(cpu_of_service, self._servers)) - of_servers
        took["the API server's and etcd's CPU until then, s"].append(spent)
        took["the next leader's RSS then, MiB"].append(standby.memory()[0] / MIB)
        took["load average before"].append(load)
        await asyncio.to_thread(leader.process.wait)

    @property
    def _servers(self) -> tuple[Service, Service]:
        return self.bench.plane.apiserver, self.bench.plane.etcd

    def _granted_at(self, seen: Handover, job: str) -> float:
        return seen.granted[self.bench.cluster.applications[job]["metadata"]["ownerReferences"][0]["uid"]]


def _summed(of_rounds: dict[str, list[float]]) -> Iterator[tuple[str, float]]:
    """The median of all rounds, and the most."""
    for what, values in of_rounds.items():
        yield what, median(values)
        if len(values) > 1:
            yield f"  {what}: most", max(values)
