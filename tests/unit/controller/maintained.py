"""A leader that keeps policies' maintenance, turn by turn, and an API server that keeps its objects."""

from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from sluice.api.base import Json
from sluice.api.job_status import Phase
from sluice.api.maintenance_status import MaintenanceStates
from sluice.api.reasons import EventReason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.policy_work.maintenance import PolicyMaintenance
from sluice.controller.policy_work.policy_jobs import PolicyJobs
from sluice.controller.policy_work.policy_reconciler import PolicyReconciler
from sluice.engines import RuntimeProfile
from sluice.kube.client import ConflictError, NotFoundError
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.tables import TableKey, key_of_path
from sluice.tables.table_observation import File, TableObservation, TableState
from unit.controller.bodies import PARTITIONED, merged, policy_body, unfenced

NIGHTLY: Json = {"optimize": {"schedule": "0 3 * * *"}}
MANY = tuple(File({"date": "2026-11-18"}, 1000) for _ in range(10))


class Api:
    """Keeps jobs and the statuses of policies as the API server does."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Json] = {}
        self.version = 10
        self.failing: Exception | None = None
        self.refuses = ""
        """In the statements of jobs on which it fails."""
        self.asked = 0
        self.made: list[str] = []

    async def create(self, _: Any, _namespace: str, body: Json) -> Json:
        self.asked += 1
        if self.failing is not None and self.refuses in body["spec"]["sql"]:
            raise self.failing
        name = body["metadata"]["name"]
        if ("job", name) in self.objects:
            raise ConflictError(409, "AlreadyExists", "it is there")
        given = {"uid": f"uid-{name}", "generation": 1, "creationTimestamp": "2026-11-19T03:00:00Z"}
        self.made.append(name)
        return self.put("job", body | {"metadata": body["metadata"] | given})

    def put(self, kind: str, body: Json) -> Json:
        self.version += 1
        name = body["metadata"]["name"]
        stored = body | {"metadata": body["metadata"] | {"resourceVersion": str(self.version)}}
        self.objects[kind, name] = stored
        return stored

    async def get(self, _: Any, _namespace: str, name: str) -> Json:
        return self.objects["job", name]

    async def delete(self, _: Any, _namespace: str, name: str, body: Json) -> None:
        known = self.objects.get(("job", name))
        if known is None:
            raise NotFoundError(404, "NotFound", "gone")
        if body["preconditions"]["resourceVersion"] != known["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "changed")
        del self.objects["job", name]

    async def patch(self, _: Any, _namespace: str, name: str, body: Json, *, sub: str) -> Json:
        assert sub == "status"
        known = self.objects["policy", name]
        if body["metadata"]["resourceVersion"] != known["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "changed")
        return self.put("policy", known | {"status": merged(known.get("status") or {}, body["status"])})

    @property
    def jobs(self) -> list[Json]:
        return [body for (kind, _), body in self.objects.items() if kind == "job"]


class Looks:
    """What was last seen of the table; a look that is asked for is there at the next turn."""

    def __init__(self) -> None:
        self.seen: TableObservation | None = None
        self.asked = 0
        self.answers = True
        self.to_come = False

    def of(self, _: str) -> TableObservation | None:
        return self.seen

    def key_of(self, _: str) -> TableKey:
        return key_of_path("/lake/orders")

    def soon(self, _: str) -> None:
        self.asked += 1

    def is_to_come(self, _: str) -> bool:
        return self.to_come

    def look(self, at: datetime, **fields: Any) -> None:
        seen: dict[str, Any] = {"state": TableState(), "facts": PARTITIONED, "files": MANY}
        self.seen = TableObservation(at, **(seen | fields))


@dataclass
class Events:
    told: list[tuple[EventReason, str]] = field(default_factory=list)

    async def tell_of_policy(self, _: Json, reason: EventReason, message: str, **_more: bool) -> None:
        self.told.append((reason, message))


class Statuses:
    """Writes as the one writer of statuses does."""

    def __init__(self, api: Api, world: ClusterCache) -> None:
        self._api = api
        self._world = world
        self.written = 0

    async def write(self, body: Json, patch: Json) -> None:
        if patch:
            self.written += 1
            change = {"metadata": {"resourceVersion": body["metadata"]["resourceVersion"]}, "status": patch}
            self._world.policy_seen(
                await self._api.patch(None, "etl", body["metadata"]["name"], change, sub="status")
            )


class Leader:
    def __init__(self, api: Api, looks: Looks | None = None) -> None:
        self.api, self.looks, self.events = api, looks or Looks(), Events()
        self.world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})
        for body in api.objects.values():
            (self.world.policy_seen if body["spec"].get("table") else self.world.job_seen)(body)
        self.world.heed_policies()
        self.listed = self.leading = True
        self.statuses = Statuses(api, self.world)
        parts: Any = (
            api,
            self.looks,
            self.events,
            self.statuses,
            SimpleNamespace(leads=lambda: self.leading),
        )
        kube, looked, events, statuses, leadership = parts
        self.maintenance = PolicyMaintenance(
            world=self.world,
            looks=looked,
            jobs=PolicyJobs(kube, self.world, unfenced()),
            statuses=statuses,
            events=events,
            neighbours=VisibleBlockers(),
        )
        self.rounds = PolicyReconciler(
            self.maintenance.visit,
            "its maintenance",
            world=self.world,
            looks=looked,
            leadership=leadership,
            has_listed=lambda: self.listed,
        )

    async def turn(self, now: datetime, *, looked: bool = True, **seen: Any) -> None:
        """One turn, and if it asked for a look another one with it."""
        await self.rounds.turn(now)
        if self.looks.asked and looked:
            self.looks.asked = 0
            self.looks.look(now, **seen)
            await self.rounds.turn(now)

    def ends(self, name: str, phase: Phase = Phase.SUCCEEDED) -> None:
        job = self.api.objects["job", name]
        status = {"phase": phase.value, "observedGeneration": 1, "finishedAt": "2026-11-19T03:10:00Z"}
        self.world.job_seen(self.api.put("job", job | {"status": status}))

    def changed(self, **metadata: Any) -> None:
        policy = self.api.objects["policy", "orders"]
        self.world.policy_seen(self.api.put("policy", policy | {"metadata": policy["metadata"] | metadata}))
        self.world.heed_policies()

    @property
    def kept(self) -> MaintenanceStates:
        status = self.api.objects["policy", "orders"].get("status") or {}
        return MaintenanceStates.as_stored(status.get("maintenance") or {})


def api_with(maintenance: Json = NIGHTLY, *, generation: int = 1, **spec: Any) -> Api:
    api = Api()
    body = policy_body(
        "orders", generation=generation, table={"path": "/lake/orders"}, maintenance=maintenance, **spec
    )
    body["metadata"]["creationTimestamp"] = "2026-11-18T12:00:00Z"
    api.put("policy", body)
    return api
