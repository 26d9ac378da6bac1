"""Two replicas of the operator, each with wires of its own: one that was killed is replaced, by the other one and a new process."""

import asyncio
import ssl
import threading
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from integration.faults.api_wire import ApiWire
from integration.faults.plan import Plan
from integration.faults.redis_wire import RedisWire
from integration.objects import Objects, RefusedRequestError
from integration.operator.process import OperatorProcess, configuration
from integration.waiting import eventually

LOOK_EVERY = 0.05


@dataclass
class Replica:
    process: OperatorProcess
    api: ApiWire
    redis: RedisWire
    is_killed: bool = False
    is_replaced: bool = False

    def kill(self) -> None:
        """At once: whoever waits for its end is another thread."""
        self.is_killed = True
        if self.process.process is not None:
            self.process.process.kill()


@dataclass(frozen=True)
class Place:
    """Where the servers are, and as whom the operator asks them."""

    server: str
    trusted: ssl.SSLContext
    kubeconfig: Path
    redis_port: int
    folder: Path


class Replicas:
    def __init__(self, place: Place, objects: Objects, count: int = 2) -> None:
        self._place = place
        self._objects = objects
        self._count = count
        self._loop = asyncio.new_event_loop()
        self._wires = threading.Thread(target=self._loop.run_forever, name="wires", daemon=True)
        self._keeper = threading.Thread(target=self._keep, name="keeper of replicas", daemon=True)
        self._stopping = threading.Event()
        self._all: list[Replica] = []
        self.plan = Plan()
        self.fallen: list[str] = []
        """What became of operators that ended by themselves."""
        self._landing: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._wires.start()
        for _ in range(self._count):
            self._start()
        self._keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._keeper.join(60)
        for replica in self._all:
            replica.kill()
            replica.process.kill()
            self._do(replica.api.close())
            self._do(replica.redis.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._wires.join(10)
        self._loop.close()

    @property
    def logs(self) -> list[Path]:
        return [replica.process.log for replica in self._all]

    def leader(self) -> Replica | None:
        """Who holds the Lease object, and lives."""
        lease = self._objects.get("lease", "sluice-leader")
        holder = ((lease or {}).get("spec") or {}).get("holderIdentity") or ""
        return next((one for one in self._all if not one.is_killed and _is(one, holder)), None)

    def leads(self) -> Replica:
        return eventually(self.leader, "an operator leads")

    def kill_leader(self) -> None:
        self.leads().kill()

    def _do(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(60)

    def _start(self) -> None:
        number, place = len(self._all), self._place
        place.folder.mkdir(parents=True, exist_ok=True)

        def kill() -> None:
            replica.kill()

        redis = RedisWire(place.redis_port, lambda: self.plan, kill)
        api = ApiWire(place.server, place.trusted, lambda: self.plan, kill)
        self._do(redis.open())
        self._do(api.open())
        redis.on_rebuilt = self._land_what_is_late
        config = configuration([self._objects.namespace], redis.url, admissionPolicy=True)
        kubeconfig = api.kubeconfig(place.kubeconfig, place.folder / f"kubeconfig-{number}")
        process = OperatorProcess(kubeconfig, config, place.folder, f"operator-{number}")
        replica = Replica(process, api, redis)
        process.start()
        self._all.append(replica)

    def _land_what_is_late(self) -> None:
        """In the wires' thread."""
        for replica in self._all:
            if replica.is_killed:
                requests, replica.api.late = replica.api.late, []
                scripts, replica.redis.late = replica.redis.late, []
                for request in requests:
                    self._landing.add(asyncio.ensure_future(replica.api.land(request)))
                for script in scripts:
                    self._landing.add(asyncio.ensure_future(replica.redis.land(script)))

    def _keep(self) -> None:
        while not self._stopping.wait(LOOK_EVERY):
            for replica in list(self._all):
                child = replica.process.process
                if replica.is_replaced or child is None or child.poll() is None:
                    continue
                if not replica.is_killed:
                    self.fallen.append(
                        f"{replica.process.name} ended with {child.returncode}: {replica.process.told()[-2000:]}"
                    )
                    replica.is_killed = True
                if self._freed(replica):
                    replica.is_replaced = True
                    self._start()

    def _freed(self, replica: Replica) -> bool:
        """Whether the Lease is not the dead one's any more: a person who knows that it is dead needn't wait."""
        with suppress(OSError, RefusedRequestError, AssertionError):
            lease = self._objects.get("lease", "sluice-leader")
            if lease is not None and _is(replica, lease["spec"].get("holderIdentity") or ""):
                seen = {"resourceVersion": lease["metadata"]["resourceVersion"]}
                self._objects.patch(
                    "lease", "sluice-leader", {"metadata": seen, "spec": {"holderIdentity": ""}}
                )
            return True
        return False


def _is(replica: Replica, identity: str) -> bool:
    """Whether it is this replica's: the host, its process, and a part by chance."""
    child = replica.process.process
    return child is not None and identity.rsplit("-", 2)[1:2] == [str(child.pid)]
