"""What runs report of catalog names is written down before it counts, and holds for whoever leads next."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.admission import Holder, Queue
from sluice.api import names
from sluice.api.base import Json
from sluice.api.reasons import PolicyReason
from sluice.controller.cache import reported_name_intake
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.cache.reported_name_intake import MOST_WAITING
from sluice.controller.policy_work.policy_status import PolicyStatuses
from sluice.controller.policy_work.table_observations import TableObservations
from sluice.controller.readers.name_bindings import HEARD_LATE, SIZE_A_PAUSE, NameBindings
from sluice.controller.scheduling.loop import Loop
from sluice.engines import RuntimeProfile
from sluice.footprint import JobFootprint, unknown_footprints
from sluice.installations.reported_names import ReportedNamesMap
from sluice.kube.client import ApiError
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.policies.conditions import LeftOut, state_of
from sluice.tables import LogStore, TableKey, key_of_name, key_of_path, known, unread
from sluice.tables.owners import NOBODY
from sluice.tables.table_holders import TableHolders
from unit.controller.bodies import job_body, policy_body
from unit.installations.config_map_server import Server
from unit.policies.looks import look

NAME, HERE, THERE = "lake.sales.orders", "s3://lake/orders", "s3://lake/orders-2"
ORDERS = key_of_name(NAME)
EVER = timedelta(days=100_000)


class Leader:
    def __init__(self, server: Server, epoch: int = 1, heard_late: timedelta = EVER) -> None:
        kube: Any = server
        self.world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")})
        written = ReportedNamesMap(kube, "ops", "sluice")
        self.names = NameBindings(written, self.world, NOBODY, pause=0.0, again=0.0, heard_late=heard_late)
        self.epoch = epoch
        self.held: set[TableKey] = set()

    async def begin(self) -> "Leader":
        await self.names.begin(self.epoch)
        await self.turn()
        return self

    async def turn(self) -> None:
        for _ in range(3):  # what was written is told by the turn after
            self.names.end_what_nobody_holds(lambda: self._is_held)
            self.names.turn(lambda: self._is_held)
            await asyncio.sleep(0)
        self.world.heed_policies()

    def _is_held(self, table: TableKey) -> bool:
        return any(key.may_equal(table) for key in self.held)

    def ran(self, location: str, minute: int = 0, name: str = NAME, job: str = "load") -> None:
        version = 10 + minute
        self.world.job_seen(ran(job, [{"name": name, "table": location}], minute=minute, version=version))

    @property
    def key(self) -> TableKey:
        return self.world.declarations.names.key_of(ORDERS)


def ran(job: str, told: Any, *, minute: int = 0, version: int = 10) -> Json:
    body = job_body(job, version=version, sql=f"DELETE FROM {NAME}")
    ended = f"2026-11-19T10:{minute:02}:00Z"
    attempt = {
        "number": 1,
        "token": 1 << 32,
        "hash": "h",
        "application": f"sluice-{job}-1",
        "grantedAt": ended,
        "endedAt": ended,
        "outcome": "Succeeded",
        "names": told,
    }
    status = {"phase": "Succeeded", "observedGeneration": 1, "attempts": [attempt], "footprint": []}
    return body | {"status": status}


async def test_a_name_counts_once_it_is_written_down() -> None:
    server = Server()
    leader = await Leader(server).begin()
    assert leader.key.is_name
    leader.ran(HERE)
    await leader.turn()
    assert leader.key == key_of_path(HERE)
    assert server.body is not None
    (told,) = json.loads(server.body["data"][NAME])
    assert told == {"table": HERE, "job": "etl/load", "at": "2026-11-19T10:00:00+00:00"}


async def test_what_cannot_be_written_down_binds_nothing_and_is_tried_again() -> None:
    class Full(Server):
        refuses = False

        async def replace(self, *given: Any) -> Json:
            if self.refuses:
                raise ApiError(503, "ServiceUnavailable", "not now")
            return await super().replace(*given)

    server = Full()
    leader = await Leader(server).begin()
    server.refuses = True
    leader.ran(HERE)
    await leader.turn()
    assert leader.key.is_name
    server.refuses = False
    await leader.turn()
    assert leader.key == key_of_path(HERE)


async def test_the_next_leader_knows_each_place() -> None:
    server = Server()
    leader = await Leader(server).begin()
    leader.held = {key_of_path(HERE)}
    leader.ran(HERE)
    leader.ran(THERE, 1, job="other")
    await leader.turn()
    assert leader.key.bound == {HERE, THERE}
    following = Leader(server, 2)
    following.held = {key_of_path(HERE)}
    await following.begin()
    assert following.key.bound == {HERE, THERE}
    following.held = set()
    await following.turn()
    assert following.key == key_of_path(THERE)
    assert (await Leader(server, 3).begin()).key == key_of_path(THERE)


async def test_names_that_stay_held_are_looked_at_again_once_others_hold() -> None:
    leader = await Leader(Server()).begin()
    leader.held = {key_of_path(HERE)}
    leader.ran(HERE)
    leader.ran(THERE, 1, job="other")
    await leader.turn()
    asked: list[TableKey] = []

    def is_held(table: TableKey) -> bool:
        asked.append(table)
        return table == key_of_path(HERE)

    for _ in range(3):
        assert not leader.names.end_what_nobody_holds(lambda: is_held)
    assert asked == [key_of_path(HERE)]
    assert leader.names.end_what_nobody_holds(lambda: lambda _: False)


async def test_nothing_is_looked_at_for_names_before_it_is_sure_who_holds_what() -> None:
    names = Leader(Server()).names
    assert names.seconds_left == 0.0
    never = SimpleNamespace(unread=(), seconds_left=lambda: None)
    leases = SimpleNamespace(is_sure=False, seconds_left=3.0)
    listed = SimpleNamespace(listed_at=1.0)
    loop: Any = SimpleNamespace(relist=listed, admitting=never, timers=never, leases=leases, names=names)
    assert Loop._patience(loop) == 3.0
    leases.is_sure = True
    assert Loop._patience(loop) == 0.0


def test_the_tables_of_all_holders_are_gathered_anew_only_where_a_holder_is_another() -> None:
    queue = Queue()
    holders = SimpleNamespace(to_read=set(), frozen=[])
    leases, admitting = SimpleNamespace(is_sure=True), SimpleNamespace(holders=holders, queue=queue)
    loop: Any = SimpleNamespace(leases=leases, admitting=admitting, _holders=[], _held=TableHolders(()))

    def held() -> Any:
        return Loop._who_holds(loop)

    def holds(uid: str, *places: str) -> None:
        footprint = JobFootprint(unknown_footprints(map(key_of_path, places)))
        queue.hold(uid, [Holder(uid, f"etl/{uid}", footprint)] if places else [])

    before = held()
    assert not before(key_of_path(HERE))
    assert held() is before
    holds("a", HERE)
    assert held()(key_of_path(HERE))
    assert held() is held()
    holds("a", THERE)
    assert held()(key_of_path(THERE))
    assert not held()(key_of_path(HERE))
    holds("a")
    assert not held()(key_of_path(THERE))
    leases.is_sure = False
    assert held() is None


async def test_a_former_leader_writes_nothing_any_more() -> None:
    server = Server()
    former = await Leader(server).begin()
    following = await Leader(server, 2).begin()
    former.ran(HERE)
    await former.turn()
    following.ran(THERE)
    await following.turn()
    assert former.key.is_name
    assert following.key == key_of_path(THERE)
    assert server.body is not None
    assert HERE not in json.dumps(server.body["data"])[:-1].replace(THERE, "")


async def whose_name_was_taken_out(server: Server) -> Leader:
    """A leader that finds this out, since it has another name to write down."""
    leader = await Leader(server).begin()
    leader.ran(HERE)
    await leader.turn()
    assert server.body is not None
    await server.replace(None, "", "", server.body | {"data": {}})
    leader.ran(HERE, name="lake.sales.returns", job="other", minute=1)
    await leader.turn()
    return leader


async def test_what_a_person_takes_out_binds_nothing_any_more() -> None:
    server = Server()
    leader = await whose_name_was_taken_out(server)
    await leader.turn()
    assert leader.key.is_name
    assert leader.world.declarations.names.key_of(key_of_name("lake.sales.returns")) == key_of_path(HERE)


async def test_what_a_person_takes_out_stays_out_though_the_job_that_told_of_it_is_still_there() -> None:
    server = Server()
    leader = await whose_name_was_taken_out(server)
    leader.ran(HERE, 2)  # it is seen again, for whatever changed of it
    await leader.turn()
    assert leader.key.is_name
    following = Leader(server, 2, HEARD_LATE)
    following.ran(HERE)
    await following.begin()
    assert following.key.is_name
    assert following.world.declarations.names.key_of(key_of_name("lake.sales.returns")) == key_of_path(HERE)


async def test_the_next_leader_writes_down_what_the_one_before_has_not_come_to() -> None:
    leader = Leader(Server(), 2, HEARD_LATE)
    body = ran("load", [{"name": NAME, "table": HERE}])
    body["status"]["attempts"][0]["endedAt"] = (datetime.now(UTC) - HEARD_LATE / 2).isoformat()
    leader.world.job_seen(body)
    await leader.begin()
    assert leader.key == key_of_path(HERE)


async def test_what_cannot_be_written_down_is_kept_within_bounds() -> None:
    class Refusing(Server):
        async def create(self, *_: Any) -> Json:
            raise ApiError(403, "Forbidden", "no right to it")

    leader = await Leader(Refusing()).begin()
    for number in range(3 * MOST_WAITING):
        leader.ran(f"s3://lake/t{number}", name=f"lake.sales.t{number}", job=f"load-{number}")
        if number % 1000 == 0:
            await leader.turn()
    kept = (*leader.names._heard, *leader.world.heard_names.take())
    assert len(kept) <= MOST_WAITING
    assert kept[-1][0] == key_of_name(f"lake.sales.t{3 * MOST_WAITING - 1}")


async def test_once_it_is_deleted_names_are_forgotten_and_new_ones_are_written_down_again() -> None:
    server = Server()
    leader = await Leader(server, 3).begin()
    leader.ran(HERE)
    await leader.turn()
    server.body = None
    leader.ran(HERE, name="lake.sales.returns", job="other", minute=1)
    await leader.turn()
    await leader.turn()
    assert leader.key.is_name
    assert leader.world.declarations.names.key_of(key_of_name("lake.sales.returns")) == key_of_path(HERE)
    former = await Leader(server, 2).begin()
    former.ran(THERE)
    await former.turn()
    assert THERE not in json.dumps(server.body)


async def test_what_bears_an_epoch_to_come_is_left_alone_until_it_is_deleted() -> None:
    server = Server()
    leader = await Leader(server, 2).begin()
    leader.ran(HERE)
    await leader.turn()
    following = await Leader(server, 9).begin()
    leader.ran(THERE, 1)
    for _ in range(3):
        await leader.turn()
    assert leader.key.is_name
    assert following.key == key_of_path(HERE)
    assert THERE not in json.dumps(server.body)
    server.body = None
    for _ in range(3):
        await leader.turn()
    assert leader.key == key_of_path(THERE)


async def test_the_more_names_there_are_the_seldomer_all_of_them_are_written_down() -> None:
    server: Any = Server()
    world = ClusterCache({})
    written = NameBindings(
        ReportedNamesMap(server, "ops", "sluice"), world, NOBODY, pause=0.1, heard_late=EVER
    )
    await written.begin(1)
    for number in range(10 * SIZE_A_PAUSE // 1000):
        told = [{"name": f"lake.sales.t{number}", "table": f"s3://lake/{'x' * 900}/{number}"}]
        world.job_seen(ran(f"job-{number}", told))
    written.turn(lambda: None)
    await asyncio.sleep(0)
    world.job_seen(ran("another", [{"name": NAME, "table": HERE}]))
    assert written.seconds_left is not None
    assert 0.5 < written.seconds_left < 1.5


@pytest.mark.parametrize(
    "text",
    [
        *("", "no JSON", "{}", "3", "null", "[3]", '["a"]', "[{}]", "[" * 10_000),
        *(
            '[{"table": "s3://lake/orders", "job": "etl/load", "at": 3}]',
            '[{"table": 3, "job": "etl/a", "at": ""}]',
        ),
        '[{"table": "orders", "job": "etl/load", "at": "2026-11-19T10:00:00+00:00"}]',
        '[{"table": "s3://lake/orders", "job": "etl", "at": "2026-11-19T10:00:00+00:00"}]',
        '[{"table": "s3://lake/orders", "job": "etl/load", "at": "2026-11-19T10:00:00"}]',
    ],
)
async def test_an_entry_that_cannot_be_read_binds_nothing_and_is_told(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    good = '[{"table": "s3://lake/returns", "job": "etl/load", "at": "2026-11-19T10:00:00+00:00"}]'
    server = Server()
    server.body = {
        "metadata": {"name": names.reported_names("sluice"), "resourceVersion": "0"},
        "data": {NAME: text, "not..a name": good, "lake.sales.returns": good},
    }
    leader = await Leader(server).begin()
    assert leader.key.is_name
    assert leader.world.declarations.names.key_of(key_of_name("lake.sales.returns")) == key_of_path(
        "s3://lake/returns"
    )
    assert f"{NAME} cannot be read" in caplog.text
    assert "not..a name cannot be read" in caplog.text


@pytest.mark.parametrize(
    "told",
    [
        *(
            None,
            3,
            "names",
            {},
            [None],
            ["x"],
            [{}],
            [[]],
            [{"name": 3, "table": HERE}],
            [{"name": NAME, "table": 3}],
        ),
        *([{"name": NAME, "table": "relative/path"}], [{"name": "a b", "table": HERE}]),
        *(
            [{"name": NAME, "table": "s3://key:secret@lake/orders"}],
            [{"name": f"lake.{'x' * 300}", "table": HERE}],
        ),
    ],
)
async def test_what_no_manifest_could_say_binds_nothing(told: Any) -> None:
    server = Server()
    leader = await Leader(server).begin()
    leader.world.job_seen(ran("load", told))
    await leader.turn()
    assert server.body is not None
    assert not server.body["data"]


def test_what_many_runs_report_alike_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Json] = []
    monkeypatch.setattr(reported_name_intake, "TableRef", lambda **given: read.append(given))
    heard = reported_name_intake.ReportedNameIntake()
    told = [{"name": "lake.sales.read_once", "table": f"s3://lake/read-once-{number}"} for number in range(3)]
    for minute in range(50):
        heard.seen(ran(f"job-{minute}", told, minute=minute))
    assert len(read) == 2 * len(told)
    assert {lead.at.minute for _, lead in heard.take()} == {49}


@pytest.mark.parametrize("name", ["orders", "spark_catalog.orders"])
async def test_a_name_without_a_schema_which_no_driver_tells_keeps_no_other_at_several_places(
    name: str,
) -> None:
    leader = await Leader(Server()).begin()
    leader.ran(HERE, name="spark_catalog.default.orders")
    leader.ran(THERE, 1, name=name, job="other")
    await leader.turn()
    for spelled in ("orders", "default.orders"):
        assert leader.world.declarations.names.key_of(key_of_name(spelled)) == key_of_path(HERE)


async def test_a_time_to_come_counts_as_now() -> None:
    server = Server()
    leader = await Leader(server).begin()
    body = ran("load", [{"name": NAME, "table": HERE}])
    body["status"]["attempts"][0]["endedAt"] = "2999-11-19T10:00:00Z"
    leader.world.job_seen(body)
    await leader.turn()
    assert server.body is not None
    (told,) = json.loads(server.body["data"][NAME])
    assert datetime.fromisoformat(told["at"]) <= datetime.now(UTC)


async def test_jobs_of_which_it_changes_nothing_are_not_judged_anew() -> None:
    leader = await Leader(Server()).begin()
    leader.world.job_seen(job_body("by-name", sql=f"DELETE FROM {NAME}"))
    leader.world.job_seen(job_body("by-path", sql="DELETE FROM delta.`s3://lake/returns`"))
    before = {uid: job.footprint for uid, job in leader.world.jobs.items()}
    leader.world.take_changes()
    leader.ran(HERE)
    await leader.turn()
    assert "uid-by-path" not in leader.world.take_changes()
    assert leader.world.jobs["uid-by-path"].footprint is before["uid-by-path"]
    assert leader.world.jobs["uid-by-name"].footprint.keys == (key_of_path(HERE),)


async def test_an_application_of_ones_own_is_judged_by_policies_alone() -> None:
    leader = await Leader(Server()).begin()
    leader.ran(HERE)
    await leader.turn()
    spec = {
        "type": "Python",
        "mode": "cluster",
        "sparkVersion": "4.2.0",
        "image": "spark:4.2.0",
        "mainApplicationFile": "a.py",
    }
    own = {"engine": "kubeflow", "template": {"spec": spec}}
    footprint = [{"table": {"name": NAME}, "operation": "Append"}]
    leader.world.job_seen(job_body("own", application=own, footprint=footprint))
    job = leader.world.jobs["uid-own"]
    assert job.tables == (ORDERS,)
    assert job.tables[0].is_name


async def test_a_declared_footprint_is_judged_by_policies_alone() -> None:
    leader = await Leader(Server()).begin()
    leader.ran(HERE)
    await leader.turn()
    footprint = [{"table": {"name": NAME}, "operation": "Append"}]
    sql = f"INSERT INTO delta.`{THERE}` SELECT 1 AS id"
    leader.world.job_seen(job_body("declared", sql=sql, footprint=footprint))
    leader.world.job_seen(job_body("read", sql=f"INSERT INTO {NAME} SELECT 1 AS id"))
    declared, read = (leader.world.jobs[f"uid-{name}"].footprint.keys[0] for name in ("declared", "read"))
    assert read == key_of_path(HERE)
    assert declared.is_name
    assert declared.may_equal(key_of_path(THERE)), (
        "its driver compares no name that its statements do not mention"
    )


async def test_a_place_is_told_of_to_a_policy_that_binds_the_name_elsewhere_and_binds_nothing() -> None:
    leader = await Leader(Server()).begin()
    leader.world.policy_seen(policy_body("orders", table={"name": NAME, "path": HERE}))
    leader.world.heed_policies()
    kube: Any = None
    leadership: Any = None
    looks = TableObservations(leader.world, lambda _: look(), every=3600)
    statuses = PolicyStatuses(kube, leader.world, leadership, looks=looks, neighbours=VisibleBlockers())
    (body,) = leader.world.policies.values()
    before = statuses._heeded()
    assert statuses._seen(body).elsewhere is None
    leader.ran(THERE)
    await leader.turn()
    assert leader.key == key_of_path(HERE)
    assert statuses._heeded() != before
    state = state_of(body, None, statuses._seen(body))
    assert state is not None
    assert (
        f"reported at 2026-11-19T10:00:00Z that the name leads to {THERE} in its catalog"
        in state.verdict.message
    )
    leader.ran(HERE, 1)
    await leader.turn()
    assert statuses._seen(body).elsewhere is None


async def test_a_policy_by_the_name_alone_is_for_the_table_to_which_runs_led_it() -> None:
    leader = await Leader(Server()).begin()
    leader.world.policy_seen(policy_body("orders", table={"name": NAME}, admission={"maxWriters": 1}))
    leader.world.heed_policies()
    leader.ran(HERE)
    await leader.turn()
    found = leader.world.declarations
    assert found.tables["etl/orders"] == key_of_path(HERE)
    assert [one.policy for one in found.all_of(leader.key)] == ["etl/orders"]
    assert [one.policy for one in found.all_of(key_of_path(HERE))] == ["etl/orders"]


@pytest.mark.parametrize(
    ("other", "created"),
    [
        ({"path": HERE}, "09:00:00"),
        ({"path": HERE}, "11:00:00"),
        ({"name": "lake.sales.all_orders"}, "09:00:00"),
    ],
)
async def test_a_policy_by_a_name_that_runs_led_to_the_table_of_another_one_is_left_out(
    other: Json, created: str
) -> None:
    leader = await Leader(Server()).begin()
    leader.ran(HERE, name="lake.sales.all_orders", job="all")
    leader.world.policy_seen(policy_body("kept", table=other, created=created))
    by_name: Json = {"maintenance": {"optimize": {"schedule": "@daily"}}, "admission": {"maxWriters": 1}}
    leader.world.policy_seen(policy_body("by-name", table={"name": NAME}, **by_name))
    await leader.turn()
    assert leader.world.policies_left_out == {}
    leader.ran(HERE)
    await leader.turn()
    assert leader.world.policies_left_out == {
        "etl/by-name": LeftOut(
            "etl/by-name",
            PolicyReason.LEFT_OUT,
            f"it does not count: runs reported that {NAME} leads to {HERE}, and etl/kept is the policy for that table",
        )
    }
    assert leader.world.leaves_alone("etl/by-name")
    assert [one.policy for one in leader.world.declarations.all_of(leader.key)] == ["etl/kept"]
    leader.ran(THERE, 1)
    await leader.turn()
    assert leader.world.policies_left_out == {}
    assert leader.world.declarations.tables["etl/by-name"] == key_of_path(THERE)


async def test_a_policy_by_a_name_alone_does_not_say_what_keeps_commits_apart_where_runs_led_it() -> None:
    there = "s3://finance/ledger"
    stores = []
    for reports in (False, True):
        leader = await Leader(Server()).begin()
        leader.world.policy_seen(policy_body("orders", table={"name": NAME}, logStore="Safe"))
        leader.world.heed_policies()
        if reports:
            leader.ran(there)
            await leader.turn()
        key = key_of_path(there)
        leader.world.table_seen(key, known(unread("not now"), leader.world.declarations.declared(key)))
        leader.world.job_seen(job_body("by-path", sql=f"DELETE FROM delta.`{there}`"))
        (found,) = leader.world.jobs["uid-by-path"].footprint.tables
        stores.append(found.log_store)
    assert stores == [LogStore.S3_SINGLE_DRIVER] * 2
