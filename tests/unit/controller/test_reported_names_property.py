"""Whatever happens in whatever order, a name's key covers each place at which somebody holds by that name."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.kube.client import ApiError
from sluice.tables import TableKey, key_of_name, key_of_path
from unit.controller.bodies import policy_body
from unit.controller.test_name_bindings import Leader, ran
from unit.installations.config_map_server import Server

NAMES = ("lake.sales.orders", "lake.crm.returns")
PLACES = ("s3://lake/a", "s3://lake/b", "s3://lake/c")
BY_POLICY = "s3://lake/by-policy"


class Failing(Server):
    is_down = False

    async def get(self, *given: object) -> dict[str, object]:
        self._answers()
        return await super().get(*given)

    async def replace(self, *given: object) -> dict[str, object]:
        self._answers()
        return await super().replace(*given)  # type: ignore[arg-type]

    def _answers(self) -> None:
        if self.is_down:
            raise ApiError(503, "ServiceUnavailable", "not now")


@dataclass
class Held:
    name: str
    key: TableKey


@dataclass
class Cluster:
    server: Failing = field(default_factory=Failing)
    jobs: list[dict[str, object]] = field(default_factory=list)
    holders: list[Held] = field(default_factory=list)
    policies: set[str] = field(default_factory=set)
    version: int = 10
    epoch: int = 1
    leader: Leader = field(init=False)
    former: Leader | None = None

    async def begin(self) -> None:
        self.leader = Leader(self.server, self.epoch)
        for number in self.policies:
            self._declare(number)
        for body in self.jobs:
            self.leader.world.job_seen(body)
        self.leader.held = {one.key for one in self.holders}
        await self.leader.begin()

    def key(self, name: str) -> TableKey:
        return self.leader.world.declarations.names.key_of(key_of_name(name))

    async def report(self, name: str, place: str) -> None:
        self.version += 1
        told = [{"name": name, "table": place}]
        body = ran(f"job-{self.version}", told, minute=self.version % 60, version=self.version)
        self.jobs.append(body)
        self.leader.world.job_seen(body)
        if self.former is not None:
            self.former.world.job_seen(body)

    async def hold(self, name: str, _: str) -> None:
        if name not in self.policies:
            self.holders.append(Held(name, self.key(name)))
            self.leader.held = {one.key for one in self.holders}

    async def end(self, name: str, _: str) -> None:
        self.holders = [one for one in self.holders if one.name != name]
        self.leader.held = {one.key for one in self.holders}

    async def end_oldest(self, _: str, __: str) -> None:
        del self.holders[:1]
        self.leader.held = {one.key for one in self.holders}

    async def turn(self, _: str, __: str) -> None:
        await self.leader.turn()

    async def turn_of_the_former(self, _: str, __: str) -> None:
        if self.former is not None:
            await self.former.turn()

    async def bind_by_policy(self, name: str, _: str) -> None:
        self.policies.add(name)
        self._declare(name)
        self.leader.world.heed_policies()

    async def unbind(self, name: str, _: str) -> None:
        if name in self.policies:
            self.policies.remove(name)
            self.leader.world.policy_gone(f"policy-{name}-{self._declared[name]}")
            self.leader.world.heed_policies()

    async def lead_anew(self, _: str, __: str) -> None:
        self.former, self.epoch = self.leader, self.epoch + 1
        await self.begin()

    async def jobs_are_deleted(self, _: str, __: str) -> None:
        self.jobs.clear()

    async def fail(self, _: str, __: str) -> None:
        self.server.is_down = not self.server.is_down

    _declared: dict[str, int] = field(default_factory=dict)

    def _declare(self, name: str) -> None:
        self.version += 1
        self._declared[name] = self.version
        table = {"name": name, "path": f"{BY_POLICY}-{NAMES.index(name)}"}
        body = policy_body(
            f"{name}-{self.version}", version=self.version, generation=self.version, table=table
        )
        self.leader.world.policy_seen(body)

    def check(self) -> None:
        for held in self.holders:
            key = self.key(held.name)
            places = held.key.bound if held.key.is_name else {held.key.text}
            for place in places if held.name not in self.policies else ():
                assert key.may_equal(key_of_path(place)), (held, key, key.bound)
        for name in NAMES:
            key = self.key(name)
            if name in self.policies:
                assert key == key_of_path(f"{BY_POLICY}-{NAMES.index(name)}")
            elif key.is_name and not key.bound:
                assert all(key.may_equal(key_of_path(place)) for place in PLACES)


_STEPS: tuple[Callable[..., object], ...] = (
    *(Cluster.report, Cluster.hold, Cluster.turn, Cluster.report, Cluster.hold, Cluster.turn),
    *(Cluster.end, Cluster.end_oldest, Cluster.turn_of_the_former, Cluster.bind_by_policy, Cluster.unbind),
    *(Cluster.lead_anew, Cluster.jobs_are_deleted, Cluster.fail),
)
_STEP = st.tuples(st.sampled_from(_STEPS), st.sampled_from(NAMES), st.sampled_from(PLACES))


@settings(max_examples=150, deadline=None)
@given(st.lists(_STEP, max_size=40))
def test_the_key_of_a_name_covers_each_place_that_a_holder_has_by_it(
    steps: list[tuple[object, str, str]],
) -> None:
    asyncio.run(_go(steps))


async def _go(steps: list[tuple[object, str, str]]) -> None:
    cluster = Cluster()
    await cluster.begin()
    for step, name, place in steps:
        assert callable(step)
        await step(cluster, name, place)
        cluster.check()
    cluster.server.is_down = False
    cluster.holders.clear()
    cluster.leader.held = set()
    for _ in range(3):
        await cluster.leader.turn()
    for name in NAMES:
        assert not cluster.key(name).is_name or not cluster.key(name).bound, "nobody holds: one place is left"
