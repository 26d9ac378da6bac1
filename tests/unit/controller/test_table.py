"""The lease table goes on for all whatever one job does to it. Redis and the API server are played."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from redis.exceptions import AuthenticationError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError

from sluice.api import names
from sluice.api.conditions import ConditionStatus
from sluice.api.job_status import Attempt
from sluice.api.operator_status import OperatorConditionType
from sluice.conflicts.places import EDITION
from sluice.controller.applications.restored_applications import RestoredApplications
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.lease_table import table as module
from sluice.controller.lease_table.table import LeaseTable
from sluice.controller.lease_table.unexplained_leases import UnexplainedLeaseKeeper
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.controller.readers.name_bindings import NameBindings
from sluice.controller.reporting.error_isolation import ErrorIsolation
from sluice.controller.scheduling.holders import Holders
from sluice.engines import RuntimeProfile
from sluice.installations.reported_names import ReportedNamesMap
from sluice.installations.unexplained_leases import LeaseRecord
from sluice.kube.client import ApiError
from sluice.leases import Epochs, ForgottenError, Grant, Lease, OtherInstallationError, Reach
from sluice.leases.endpoint import Endpoint
from sluice.leases.fitness import UnfitError
from sluice.leases.stored_state import StoredState
from sluice.lifecycle.evidence import deletion
from sluice.lifecycle.evidence.attempt_evidence import EvidenceFailedError
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.tables.owners import NOBODY
from unit.controller.bodies import job_body, unfenced
from unit.installations.config_map_server import Server
from unit.lifecycle.objects import RUNNING, TERMINATED, application, declared_dead, loss, pod, told_there
from unit.lifecycle.test_lease_evidence import TOUCHED

A = Lease("uid-a", 1, "hash", "etl/a", ("file:/lake/a",))
B = Lease("uid-b", 1, "hash", "etl/b", ("file:/lake/b",))
REACH = Reach(
    {"file:/lake/a": "7d1f"},
    {"file:/r": "1d"},
    frozenset(),
    frozenset({1}),
    frozenset({2}),
    EDITION,
    "names",
    lasts=True,
)
INTENT = {
    "number": 1,
    "token": Epochs.token(3, 7),
    "hash": "hash",
    "application": "a-1",
    "grantedAt": "2026-11-19T10:00:00Z",
}


class Store:
    """Stands in for Redis."""

    def __init__(self) -> None:
        self.epoch = 0
        self.held: list[Lease] = []
        self.grants: dict[str, Grant] = {}
        self.checked = 0
        self.fails: Exception | None = None
        self.was = StoredState()

    @property
    def uids(self) -> list[str]:
        return [lease.uid for lease in self.held]

    def held_by(self, uid: str) -> list[Lease]:
        return [lease for lease in self.held if lease.uid == uid]

    def granted(self, lease: Lease) -> Grant | None:
        return self.grants.get(lease.holder)

    async def grant(self, lease: Lease, reach: Reach) -> Grant:
        if self.fails is not None:
            raise self.fails
        self.held.append(lease)
        self.grants[lease.holder] = Grant(lease, Epochs.token(3, len(self.held)), reach)
        return self.grants[lease.holder]

    async def release(self, lease: Lease) -> None:
        self.held.remove(lease)

    async def check_fitness(self) -> None: ...

    async def check_memory(self) -> None:
        self.checked += 1

    async def former(self) -> StoredState:
        return replace(self.was, epoch=self.epoch)

    async def rebuild(self, epoch: int, grants: list[Grant], *, beat: int) -> None:
        self.epoch, self.beat = epoch, beat
        self.held = [grant.lease for grant in grants]
        self.grants = {grant.lease.holder: grant for grant in grants}

    async def note_beat(self, beat: int) -> None:
        self.beat = beat

    async def note_learned(self) -> None: ...


class Written:
    """Stands in for the ConfigMap with leases that nothing explains."""

    def __init__(self) -> None:
        self.records: list[LeaseRecord] = []

    @property
    def grants(self) -> list[Grant]:
        return [record.grant for record in self.records]

    async def read(self) -> list[LeaseRecord]:
        return self.records

    async def begin(self, records: Iterable[LeaseRecord], epoch: int) -> None:
        self.records, self.epoch = list(records), epoch

    async def write(self, records: Iterable[LeaseRecord]) -> None:
        self.records = list(records)


class Api:
    """Stands in for the API server: jobs by name, and what is wrong with those that can't be read."""

    epoch = 5
    """The epoch that the Lease object holds."""

    def __init__(self) -> None:
        self.jobs: dict[str, Any] = {}
        self.lists_fail: Exception | None = None
        self.raised = 0
        self.written: list[tuple[str, str]] = []
        self.refused: set[str] = set()
        self.beat, self.went_back, self.counts = 0, False, False
        self.world = ClusterCache({})
        self.deleted: list[str] = []
        self.noted: list[str] = []

    async def note_return(self, application: Any) -> None:
        self.noted.append(application["metadata"]["name"])
        application["metadata"]["annotations"] |= {names.ANNOTATION_CAME_BACK: "true"}

    async def look_at(self, application: dict[str, Any]) -> None:
        said = {"resourceVersion": "7", "deletionTimestamp": "2026-11-19T10:30:00Z"}
        known = self.world.applications.get("etl", application["metadata"]["name"])
        assert known is not None
        self.world.applications.seen(known | {"metadata": known["metadata"] | said})

    async def delete(self, namespace: str, name: str) -> None:
        self.deleted.append(f"{namespace}/{name}")

    async def delete_pod(self, pod: Any) -> None:
        self.deleted.append(f"pod {pod['metadata']['name']}")

    def rebuilt(self) -> None:
        self.went_back, self.counts = False, True

    async def everything(self) -> None:
        if self.lists_fail is not None:
            raise self.lists_fail

    def looks_into(self, namespace: str) -> bool:
        return namespace == "etl"

    async def job(self, _: str, name: str, __: str) -> Any:
        found = self.jobs.get(name)
        if isinstance(found, Exception):
            raise found
        return found

    async def raise_epoch(self, known: int) -> int:
        self.raised += 1
        return known + 1

    async def write(self, job: JobView, change: StatusChange) -> None:
        if job.name in self.refused:
            raise ApiError(422, "Invalid", "a webhook says no")
        self.written.append((job.name, change.reason))

    async def stall(self, job: JobView, reason: str, _: str) -> None:
        self.written.append((job.name, reason))


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


async def built(
    store: Store, api: Api, written: Written | None = None, conditions: OperatorConditions | None = None
) -> tuple[ClusterCache, LeaseTable]:
    played: Any = api
    redis: Any = store
    records: Any = written or Written()
    server: Any = Server()
    world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})
    api.world = world
    guard = ErrorIsolation(world, played, played, played)
    conditions = conditions or OperatorConditions()
    table = LeaseTable(
        redis,
        world=world,
        relist=played,
        leadership=played,
        statuses=played,
        unexplained=UnexplainedLeaseKeeper(
            records,
            world=world,
            relist=played,
            conditions=conditions,
            revoke_command=partial(names.revoke_command, namespace="sluice-system", deployment="sluice"),
        ),
        came_back=RestoredApplications(world, played),
        names=NameBindings(ReportedNamesMap(server, "sluice-system", "sluice"), world, NOBODY),
        conditions=conditions,
        guard=guard,
        epochs=unfenced(),
        redis=Endpoint.of("redis://redis:6379/0"),
    )
    await table.make_sure()
    assert table.is_sure
    for name in ("a", "b"):
        api.jobs[name] = job_body(name)
        world.job_seen(api.jobs[name])
    return world, table


def is_sure(table: LeaseTable) -> bool:
    """Asked anew each time: what the property said before is not taken for what it says after a turn."""
    return table.is_sure


async def turn(table: LeaseTable) -> None:
    """Takes a turn as the loop does, and does its workers' part."""
    if table.is_due:
        await table.make_sure()
    if table.is_sure:
        for uid in table.unsettled_due():
            await table._guard.on(uid, table.settle(uid))
        await table.send_releases()


async def test_no_epochs_are_spent_as_long_as_lists_are_refused(clock: Clock) -> None:
    store, api = Store(), Api()
    _, table = await built(store, api)
    before = api.raised
    api.lists_fail = ApiError(403, "Forbidden", "a right is missing")
    table.mistrust(ForgottenError("Redis was restarted"))
    for _ in range(5):
        clock.now += 60
        await turn(table)
    assert not is_sure(table)
    assert api.raised == before + 1
    api.lists_fail = None
    clock.now += 60
    await turn(table)
    assert is_sure(table)
    assert api.raised == before + 1, "the one that was begun is good enough"


async def test_an_epoch_in_which_nothing_could_be_rebuilt_is_used_again(clock: Clock) -> None:
    """Epochs are few, and another installation's Redis, or one that takes no writes, may refuse the rebuild for days."""
    store, api = Store(), Api()
    _, table = await built(store, api)
    before, works = api.raised, store.rebuild

    async def refused(*_: Any, **__: Any) -> None:
        raise OtherInstallationError("another's")

    store.rebuild = refused  # type: ignore[method-assign]
    table.mistrust(ForgottenError("Redis was restarted"))
    for _ in range(5):
        clock.now += 60
        await turn(table)
    assert not is_sure(table)
    assert api.raised == before + 1
    store.rebuild = works  # type: ignore[method-assign]
    clock.now += 60
    await turn(table)
    assert is_sure(table)
    assert api.raised == before + 1
    table.mistrust(ForgottenError("Redis was restarted"))
    clock.now += 60
    await turn(table)
    assert api.raised == before + 2, "one in which something was rebuilt is not used again"


async def test_an_epoch_to_which_redis_has_come_meanwhile_is_not_used_again(clock: Clock) -> None:
    store, api = Store(), Api()
    _, table = await built(store, api)
    before, works = api.raised, store.rebuild

    async def answered_too_late(epoch: int, *_: Any, **__: Any) -> None:
        store.epoch = epoch
        raise RedisError("no answer")

    store.rebuild = answered_too_late  # type: ignore[method-assign]
    table.mistrust(ForgottenError("Redis was restarted"))
    clock.now += 60
    await turn(table)
    store.rebuild = works  # type: ignore[method-assign]
    clock.now += 60
    await turn(table)
    assert is_sure(table)
    assert api.raised == before + 2


@pytest.mark.parametrize(
    ("hours", "epoch"), [(0, 1), (-5, 1), (8000, 8000), (Epochs.LAST - 1, Epochs.LAST - 1), (Epochs.LAST, 1)]
)
async def test_an_epoch_is_no_lower_than_the_clocks_hours_unless_they_would_use_up_all(
    hours: int, epoch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = datetime.now(UTC) - timedelta(hours=hours, minutes=30)
    monkeypatch.setattr(module, "EPOCHS_BEGIN", begin)
    store = Store()
    await built(store, Api())
    assert store.epoch == epoch


@pytest.mark.parametrize("wrong", [ApiError(500, "InternalError", "no"), RecursionError("deep")])
async def test_a_job_that_cannot_be_asked_keeps_its_lease_and_holds_up_nobody(
    wrong: Exception, clock: Clock
) -> None:
    store, api = Store(), Api()
    _, table = await built(store, api)
    for lease in (A, B):
        await table.grant(lease, REACH)
    api.jobs["a"] = wrong
    await turn(table)
    assert table.is_sure
    assert (set(table.unsettled), store.held) == ({"uid-a"}, [A])
    assert ("b", "GrantGivenBack") in api.written


async def test_one_job_is_asked_ever_more_rarely_while_all_else_goes_on(clock: Clock) -> None:
    store, api = Store(), Api()
    _, table = await built(store, api)
    await table.grant(A, REACH)
    asked = []

    async def job(*_: str) -> Any:
        asked.append(clock.now)
        raise ApiError(500, "InternalError", "no")

    setattr(api, "job", job)  # noqa: B010
    for _ in range(100):
        await turn(table)
        clock.now += 0.25
    assert 5 <= len(asked) <= 10
    assert 10 <= store.checked <= 14, "each two seconds"


async def test_a_status_that_the_api_server_takes_from_nobody_holds_up_nobody(clock: Clock) -> None:
    store, api = Store(), Api()
    _, table = await built(store, api)
    await table.grant(A, REACH)
    api.refused = {"a"}
    await turn(table)
    assert table.is_sure
    assert (set(table.unsettled), store.held) == ({"uid-a"}, [A])
    api.refused = set()
    clock.now += 60
    await turn(table)
    assert (set(table.unsettled), store.held) == (set(), [])


async def test_a_status_that_cannot_be_read_may_hide_the_intent(clock: Clock) -> None:
    store, api = Store(), Api()
    _, table = await built(store, api)
    await table.grant(A, REACH)
    api.jobs["a"] = job_body("a", version=2) | {"status": {"attempts": [INTENT | {"grantedAt": "?"}]}}
    await turn(table)
    assert (set(table.unsettled), store.held) == ({"uid-a"}, [A])


@pytest.mark.parametrize(("status", "held"), [({"attempts": [INTENT]}, [A]), ({}, [])])
async def test_the_job_itself_says_whether_its_intent_is_there(
    status: dict[str, Any], held: list[Lease], clock: Clock
) -> None:
    store, api = Store(), Api()
    _, table = await built(store, api)
    await table.grant(A, REACH)
    api.jobs["a"] = job_body("a", version=2) | {"status": status}
    await turn(table)
    assert (table.unsettled, store.held) == ({}, held)


async def test_a_grant_that_is_about_to_be_written_down_is_not_released(clock: Clock) -> None:
    store, api = Store(), Api()
    _, table = await built(store, api)
    await table.grant(A, REACH)
    table.release(A)
    assert await table.send_releases() == []
    assert store.held == [A]
    table.settled(A.uid)
    table.release(A)
    assert await table.send_releases() == [A.uid]


async def test_a_release_that_waited_does_not_free_what_a_driver_shows_again(clock: Clock) -> None:
    store, api = Store(), Api()
    world, table = await built(store, api)
    await table.grant(A, REACH)
    table.settled(A.uid)
    table.release(A)
    world.pods.seen(pod(RUNNING, "a-1", lease=A))
    assert await table.send_releases() == []
    assert store.held == [A]


async def test_what_holds_leases_is_listed_once_older_epochs_are_refused(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, api = Store(), Api()
    _, table = await built(store, api)
    order: list[str] = []

    async def enforce(_: int) -> None:
        order.append("refused")

    async def everything() -> None:
        order.append("listed")

    monkeypatch.setattr(table._epochs, "enforce", enforce)
    monkeypatch.setattr(api, "everything", everything)
    table.mistrust(ForgottenError("Redis was restarted"))
    await turn(table)
    assert table.is_sure
    assert order == ["refused", "listed"]


async def test_a_job_that_is_gone_gives_its_grant_back(clock: Clock) -> None:
    store, api = Store(), Api()
    world, table = await built(store, api)
    await table.grant(A, REACH)
    world.job_gone("uid-a")
    await turn(table)  # its body may still come in late
    assert (table.unsettled, store.held) == ({}, [])


async def test_a_rebuild_that_fails_for_whatever_reason_is_tried_again_after_a_pause(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    store, api = Store(), Api()
    _, table = await built(store, api)
    table.mistrust(ValueError("it forgot"))
    epoch, api.lists_fail = store.epoch, KeyError("metadata")
    for _ in range(20):
        await turn(table)
    assert not is_sure(table)
    assert len([record for record in caplog.records if record.exc_info]) == 1
    api.lists_fail = None
    await turn(table)
    assert not is_sure(table), "it was not time yet"
    clock.now += 60
    await turn(table)
    assert table.is_sure
    assert store.epoch > epoch


async def test_a_job_on_which_the_operator_fails_is_held_through_a_rebuild_and_nobody_else_waits(
    clock: Clock,
) -> None:
    store, api = Store(), Api()
    world, table = await built(store, api)
    table.mistrust(ValueError("it forgot"))
    world.applications.seen(application(lease=A) | {"status": 7})
    await turn(table)
    assert table.is_sure
    holders = Holders(world, table)
    assert [one.uid for one in holders.of("uid-a")] == ["uid-a"]
    assert [one.uid for one in holders.frozen] == ["uid-a"]
    assert world.evidence("uid-a").holds(1)
    with pytest.raises(EvidenceFailedError):
        world.evidence("uid-a").of(Attempt.model_validate(INTENT))
    assert not world.evidence("uid-b").holds_any


async def test_a_lease_that_cannot_be_written_down_is_its_jobs_trouble_alone(clock: Clock) -> None:
    store, api = Store(), Api()
    _, table = await built(store, api)
    store.fails = UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")
    with pytest.raises(UnicodeEncodeError):
        await table.grant(A, REACH)
    assert table.is_sure
    assert table.unsettled == {}


async def test_an_epoch_that_somebody_made_up_leaves_enough_for_those_to_come(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    store, api = Store(), Api()
    world, table = await built(store, api)
    made_up = INTENT | {"token": Epochs.token(Epochs.END - 1, 1)}
    world.job_seen(job_body("a", version=2) | {"status": {"attempts": [made_up]}})
    table.mistrust(ValueError("it forgot"))
    await turn(table)
    assert table.is_sure
    assert store.epoch < Epochs.END // 2
    assert "etl/a bears epoch 262143" in caplog.text


LEFT = StoredState(beat=9, values={A.holder: f"3 7\nrequest\n{A.to_json()}"})
"""What a leader left behind that had come to its ninth beat."""


async def test_a_lease_that_nothing_explains_goes_with_a_rebuild_if_the_api_server_told_everything(
    clock: Clock,
) -> None:
    store, api = Store(), Api()
    store.was, api.beat = LEFT, 9
    _, table = await built(store, api)
    assert table.held == []
    assert table.unexplained.leases == []


async def test_a_lease_that_nothing_explains_is_held_if_the_api_server_went_back(clock: Clock) -> None:
    """It doesn't know of the renewals that Redis remembers, so it may not know of drivers either."""
    store, api, written = Store(), Api(), Written()
    store.was, api.beat = LEFT, 8
    world, table = await built(store, api, written)
    for name in ("a", "b"):
        world.job_gone(f"uid-{name}")
    assert table.held == table.unexplained.leases == [A]
    world.take_changes()
    table.mistrust(ValueError("it forgot"))
    world.take_changes()
    await turn(table)
    assert world.take_changes() == [A.uid], (
        "also who left nothing else is looked at before anything is granted"
    )
    assert written.grants == [Grant(A, Epochs.token(3, 7))]
    assert (store.beat, api.counts) == (8, True)


async def test_an_intent_that_came_back_alone_is_held_though_redis_has_forgotten_its_lease(
    clock: Clock,
) -> None:
    """It may have been carried out and released since: carried out again it would run beside whoever was granted then."""
    store, api = Store(), Api()
    world, table = await built(store, api)
    world.job_seen(job_body("a", version=2) | {"status": {"attempts": [INTENT], "footprint": [TOUCHED]}})
    api.went_back = True
    table.mistrust(ValueError("it went back"))
    await turn(table)
    assert [lease.holder for lease in table.unexplained.leases] == ["uid-a/1"]
    assert [lease.holder for lease in table.held] == ["uid-a/1"]


HELD_BY_REDIS = {A.holder: LEFT.values[A.holder]}


@pytest.mark.parametrize(
    ("values", "epoch", "ended"),
    [
        ({}, 5, ["etl/a-1", "pod a-1-driver"]),
        (HELD_BY_REDIS, 5, []),  # it still runs
        ({}, 0, []),  # Redis has forgotten, too: nothing tells that it was released
    ],
)
async def test_an_application_that_came_back_after_its_lease_was_released_is_ended_before_the_rebuild(
    clock: Clock, values: dict[str, str], epoch: int, ended: list[str]
) -> None:
    """It gets no lease again, and counts without one until it has ended."""
    store, api = Store(), Api()
    world, table = await built(store, api)
    world.applications.seen(application("RUNNING", lease=A))
    world.pods.seen(pod(RUNNING, lease=A))
    store.epoch, store.was = epoch, StoredState(values=values)
    api.went_back = True
    rebuild = store.rebuild

    async def rebuilt(*arguments: Any, **more: Any) -> None:
        assert api.deleted == ended
        await rebuild(*arguments, **more)

    store.rebuild = rebuilt  # type: ignore[method-assign]
    table.mistrust(ValueError("it went back"))
    await turn(table)
    assert is_sure(table)
    assert [lease.holder for lease in table.held] == ([] if ended else [A.holder])
    assert table.unexplained.leases == []
    assert api.noted == (["a-1"] if ended else [])


async def test_what_came_back_with_a_proof_of_its_end_is_let_go_like_any_other(clock: Clock) -> None:
    store, api = Store(), Api()
    world, table = await built(store, api)
    world.applications.seen(application("COMPLETED", lease=A))
    world.pods.seen(pod(TERMINATED, lease=A))
    api.went_back = True
    table.mistrust(ValueError("it went back"))
    await turn(table)
    assert is_sure(table)
    assert api.deleted == []


async def test_no_application_is_ended_by_an_ordinary_rebuild(clock: Clock) -> None:
    store, api = Store(), Api()
    world, table = await built(store, api)
    world.applications.seen(application("RUNNING", lease=A))
    table.mistrust(ValueError("Redis was restarted"))
    await turn(table)
    assert is_sure(table)
    assert api.deleted == []


async def test_the_log_names_the_whole_command_that_frees_a_lease_which_nothing_explains(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store()
    store.was = LEFT
    await built(store, Api())
    assert f"say so: sluice leases revoke {A.holder} -n sluice-system --yes" in caplog.text


async def test_a_lease_that_was_taken_over_from_another_installation_is_held(clock: Clock) -> None:
    store, api = Store(), Api()
    store.was, api.beat = replace(LEFT, beat=0, adopted_from="gone/ns/sluice"), 5
    _, table = await built(store, api)
    assert table.unexplained.leases == [A]


async def test_what_is_held_stays_held_by_later_leaders_until_it_is_revoked(clock: Clock) -> None:
    store, api, written = Store(), Api(), Written()
    store.was = LEFT
    await built(store, api, written)
    later, later_api = Store(), Api()  # Redis has forgotten everything since
    _, table = await built(later, later_api, written)
    assert table.unexplained.leases == [A]
    await table.revoke(A)
    await table.send_releases()
    assert (table.held, table.unexplained.leases, written.grants) == ([], [], [])


async def test_a_world_that_went_back_makes_nothing_sure_before_the_rebuild_and_releases_nothing(
    clock: Clock,
) -> None:
    store, api = Store(), Api()
    world, table = await built(store, api)
    await table.grant(A, REACH)
    table.settled(A.uid)
    world.pods.went_back()
    assert not is_sure(table)
    assert table.is_due
    table.release(A)
    assert await table.send_releases() == []
    assert store.held == [A]
    assert world.jobs == {}
    store.was = StoredState(values=LEFT.values)
    await turn(table)
    assert table.is_sure
    assert table.unexplained.leases == [A]


async def test_that_leases_are_held_which_nothing_explains_is_a_condition_until_none_is(clock: Clock) -> None:
    store, api, written, conditions = Store(), Api(), Written(), OperatorConditions()
    store.was = LEFT
    world, table = await built(store, api, written, conditions)
    explained = OperatorConditionType.LEASES_EXPLAINED
    [told] = [one for one in conditions.all() if one.type is explained]
    assert (told.status, told.reason) == (ConditionStatus.FALSE, "Unexplained")
    command = f"sluice leases revoke {A.holder} -n sluice-system --yes"
    assert f"{command} (job {A.job} on {', '.join(A.tables)})" in told.message
    world.applications.seen(application(name="a-1", lease=A))
    clock.now += 2
    await turn(table)
    assert conditions.is_well(explained)


async def test_a_revoked_lease_is_not_told_of_any_more(clock: Clock) -> None:
    store, api, conditions = Store(), Api(), OperatorConditions()
    store.was = LEFT
    _, table = await built(store, api, conditions=conditions)
    await table.revoke(A)
    assert conditions.is_well(OperatorConditionType.LEASES_EXPLAINED)


async def test_what_an_object_explains_by_now_is_not_held_by_hand_any_more(clock: Clock) -> None:
    store, api, written = Store(), Api(), Written()
    store.was = LEFT
    world, table = await built(store, api, written)
    world.applications.seen(application(name="a-1", lease=A))
    clock.now += 2
    await turn(table)
    assert (table.unexplained.leases, written.grants) == ([], [])
    assert table.held == [A]


async def test_a_tombstone_holds_its_lease_when_its_objects_are_gone_and_through_later_leaders(
    clock: Clock,
) -> None:
    """That they are still there when it is left explains nothing: they are about to go."""
    store, api, written = Store(), Api(), Written()
    world, table = await built(store, api, written)
    await table.grant(A, REACH)
    table.settled(A.uid)
    world.applications.seen(application("RUNNING", lease=A))
    assert await table.bury(A, "its namespace is being deleted")
    assert [grant.lease for grant in written.grants] == [A]
    clock.now += 2
    await turn(table)
    assert table.unexplained.leases == [A]
    world.applications.mirrors[0].gone(application()["metadata"]["uid"])
    clock.now += 2
    await turn(table)
    assert table.held == [A]
    assert not table._has_ended(A)
    _, later = await built(Store(), Api(), written)
    assert later.held == later.unexplained.leases == [A]


async def test_a_tombstone_goes_once_the_end_of_its_driver_is_proved_after_all(clock: Clock) -> None:
    store, api, written = Store(), Api(), Written()
    world, table = await built(store, api, written)
    await table.grant(A, REACH)
    table.settled(A.uid)
    world.pods.seen(pod(RUNNING, lease=A))
    assert await table.bury(A, "its namespace is being deleted")
    world.pods.seen(pod(RUNNING, lease=A, finalizers=None, resourceVersion="6"))
    clock.now += 2
    await turn(table)
    assert table.unexplained.leases == [A]
    world.pods.seen(pod(TERMINATED, lease=A, finalizers=None, resourceVersion="7"))
    clock.now += 2
    await turn(table)
    assert (table.unexplained.leases, written.grants) == ([], [])
    assert table._has_ended(A)


async def test_what_has_no_lease_leaves_no_tombstone(clock: Clock) -> None:
    _, table = await built(Store(), Api())
    assert not await table.bury(A, "its namespace is being deleted")


async def test_what_anybody_could_let_go_explains_no_lease(clock: Clock) -> None:
    """Without our finalizer it may be gone before its end is seen."""
    store, api, written = Store(), Api(), Written()
    store.was = LEFT
    world, table = await built(store, api, written)
    world.applications.seen(application(name="a-1", lease=A, finalizers=None))
    clock.now += 2
    await turn(table)
    assert table.unexplained.leases == [A]


async def test_what_redis_says_stands_in_a_sentence_of_ours(clock: Clock) -> None:
    _, table = await built(Store(), Api())
    table.mistrust(RedisConnectionError("Connect call failed."))
    assert table.trouble == "Redis: Connect call failed"
    table.mistrust(UnfitError("it is a replica"))
    assert table.trouble == "Redis at redis:6379/0 cannot keep leases: it is a replica"
    table.mistrust(AuthenticationError("invalid username-password pair."))
    assert table.trouble.startswith(
        "Redis at redis:6379/0 refuses the default user without a password (invalid username-password pair): correct it where"
    )


NOTED = f"3 7\nrequest\n{A.to_json()}\n"


@pytest.mark.parametrize(
    ("noted", "known"),
    [
        (NOTED + REACH.to_json(), REACH),
        (NOTED + replace(REACH, edition=EDITION + 1).to_json(), None),
        (NOTED.replace("3 7", "3 6") + REACH.to_json(), None),
        (NOTED.replace('"hash":"hash"', '"hash":"other"') + REACH.to_json(), REACH),
        (NOTED + "{", None),
        (NOTED[:-1], None),
        ("", None),
    ],
)
async def test_how_far_a_holder_reaches_is_believed_of_its_very_grant(
    noted: str, known: Reach | None
) -> None:
    store, api = Store(), Api()
    world, table = await built(store, api)
    world.job_seen(job_body("a", version=2) | {"status": {"phase": "Starting", "attempts": [INTENT]}})
    world.applications.seen(application("RUNNING", lease=A))
    store.was = StoredState(values={"uid-a/1": noted})
    table.mistrust(ForgottenError("Redis was restarted"))
    await table.make_sure()
    assert [one.holder for one in table.held] == ["uid-a/1"]
    assert table.reach_of(A) == known


GOING: dict[str, Any] = {"deletionTimestamp": "2026-11-19T10:30:00Z"}
COLLECTED: dict[str, Any] = {"phase": "Failed", "reason": "NodeLost"}
"""What the collector of pods writes of one whose node is gone."""


async def lost_in_a_namespace_that_ends(
    store: Store, written: Written, state: str
) -> tuple[ClusterCache, LeaseTable]:
    """A driver that was seen running on a node that is gone. Its job goes first in such a namespace."""
    world, table = await built(store, Api(), written)
    world.job_gone(A.uid)
    await table.grant(A, REACH)
    table.settled(A.uid)
    world.applications.seen(application(state, lease=A, **GOING))
    driver = pod(RUNNING, lease=A, **GOING)
    driver["status"] |= COLLECTED
    world.pods.seen(driver)
    world.namespace_ends("etl")
    return world, table


@pytest.mark.parametrize("state", ["RUNNING", "FAILED", "SUBMITTED", ""])
async def test_a_tombstone_holds_while_its_objects_go_one_by_one(clock: Clock, state: str) -> None:
    """The pod goes first, and an application need not know that it had a driver."""
    store, written = Store(), Written()
    world, table = await lost_in_a_namespace_that_ends(store, written, state)
    assert await table.bury(A, "its namespace is being deleted")
    world.pods.gone(pod(lease=A)["metadata"]["uid"])
    clock.now += 2
    await turn(table)
    world.applications.mirrors[0].gone(application(lease=A)["metadata"]["uid"])
    assert not table._has_ended(A), "the driver may write"
    assert [grant.lease for grant in written.grants] == [A]


@pytest.mark.parametrize("state", ["RUNNING", "FAILED", "SUBMITTED", ""])
async def test_a_tombstone_holds_though_its_leader_died_between_its_objects(clock: Clock, state: str) -> None:
    store, written = Store(), Written()
    _, table = await lost_in_a_namespace_that_ends(store, written, state)
    assert await table.bury(A, "its namespace is being deleted")
    later_world, later = await built(Store(), Api(), written)
    later_world.job_gone(A.uid)
    later_world.applications.seen(application(state, lease=A, **GOING))
    later.mistrust(ValueError("a new leader has listed that"))
    await turn(later)
    assert is_sure(later)
    later_world.namespace_ends("etl")
    left = deletion.leaving(later_world.evidence(A.uid).by_application["a-1"], "etl")
    if isinstance(left, deletion.Bury):
        assert await later.bury(A, left.why)
    clock.now += 2
    await turn(later)
    later_world.applications.mirrors[0].gone(application(lease=A)["metadata"]["uid"])
    assert not later._has_ended(A), "the driver may write"
    assert [grant.lease for grant in written.grants] == [A]


async def test_what_the_leader_itself_has_granted_and_not_released_did_not_come_back(clock: Clock) -> None:
    """A Redis that went back to an older state of the same epoch, in the same outage, remembers less than its leader does."""
    store, api = Store(), Api()
    world, table = await built(store, api)
    await table.grant(A, REACH)
    table.settled(A.uid)
    world.applications.seen(application("RUNNING", lease=A))
    world.pods.seen(pod(RUNNING, lease=A))
    api.went_back, store.was = True, StoredState(values={})
    table.mistrust(ValueError("both went back"))
    await turn(table)
    assert is_sure(table)
    assert api.deleted == []


async def test_an_application_that_came_back_and_cannot_be_deleted_holds_its_own_tables_alone(
    clock: Clock,
) -> None:
    """A webhook may refuse that, or a right may be missing in one namespace; the others go on."""
    store, api = Store(), Api()
    world, table = await built(store, api)
    world.applications.seen(application("RUNNING", lease=A))

    async def refused(*_: Any) -> None:
        raise ApiError(403, "Forbidden", "a webhook says no")

    setattr(api, "delete", refused)  # noqa: B010
    api.went_back = True
    table.mistrust(ValueError("it went back"))
    for _ in range(5):
        clock.now += 60
        await turn(table)
    assert is_sure(table)
    assert [lease.holder for lease in table.held] == [A.holder]


async def test_what_came_back_is_ended_also_when_the_api_server_goes_back_once_more(clock: Clock) -> None:
    """A restore is often repeated, and brings back the application as it was before it was deleted."""
    store, api = Store(), Api()
    world, table = await built(store, api)
    for ended in (["etl/a-1"], ["etl/a-1", "etl/a-1"]):
        world.applications.mirrors[0].forget()
        world.applications.seen(application("RUNNING", lease=A))
        in_redis = {grant.lease.holder: f"3 7\nrequest\n{A.to_json()}" for grant in store.grants.values()}
        api.went_back, store.was = True, StoredState(values=in_redis)
        table.mistrust(ValueError(f"it went back {len(ended)} times"))
        clock.now += 60
        await turn(table)
        assert is_sure(table)
        assert api.deleted == ended


async def test_a_tombstone_that_was_revoked_does_not_come_back_with_what_is_left_of_its_pod(
    clock: Clock,
) -> None:
    """The pod of a silent node stays until somebody collects it: whoever revokes the lease knows that its driver is dead."""
    store, written = Store(), Written()
    world, table = await lost_in_a_namespace_that_ends(store, written, "RUNNING")
    assert await table.bury(A, "its namespace is being deleted")
    world.applications.mirrors[0].gone(application(lease=A)["metadata"]["uid"])
    let_go = pod(RUNNING, lease=A, finalizers=None, resourceVersion="6", **GOING)
    let_go["status"] |= COLLECTED
    let_go["metadata"]["annotations"] |= told_there(loss(let_go)) | declared_dead(
        loss(let_go)
    )  # as who revokes has it written there
    world.pods.seen(let_go)
    await table.revoke(A)
    await turn(table)
    left = world.evidence(A.uid).by_application["a-1"]
    assert not left.holds or not isinstance(deletion.leaving(left, "etl"), deletion.Bury), (
        "it would be buried again, and a person asked for the same word again"
    )
    assert table.held == []


async def test_a_worker_that_waits_for_the_api_server_does_not_hold_up_who_decides(clock: Clock) -> None:
    """There may be as many such workers as lost drivers of a namespace that is deleted, one after the other."""

    class Slow(Written):
        def __init__(self) -> None:
            super().__init__()
            self.answers = asyncio.Event()
            self.is_asked = asyncio.Event()

        async def write(self, records: Iterable[LeaseRecord]) -> None:
            given = list(records)
            if given:
                self.is_asked.set()
                await self.answers.wait()
            await super().write(given)

    written = Slow()
    _, table = await lost_in_a_namespace_that_ends(Store(), written, "RUNNING")
    burying = asyncio.create_task(table.bury(A, "its namespace is being deleted"))
    await written.is_asked.wait()
    clock.now += 2
    try:
        async with asyncio.timeout(0.5):
            await turn(table)
    finally:
        written.answers.set()
        assert await burying


async def test_a_tombstone_goes_also_if_the_pod_that_told_its_end_is_gone_at_once(clock: Clock) -> None:
    """A node that is back tells the end of what it ended, and has the pod removed a moment later."""
    store, written = Store(), Written()
    world, table = await lost_in_a_namespace_that_ends(store, written, "RUNNING")
    assert await table.bury(A, "its namespace is being deleted")
    world.applications.mirrors[0].gone(application(lease=A)["metadata"]["uid"])
    world.pods.seen(pod(TERMINATED, lease=A, finalizers=None, resourceVersion="6", **GOING))
    clock.now += 1
    await turn(table)
    world.pods.gone(pod(lease=A)["metadata"]["uid"])
    clock.now += 1
    await turn(table)
    assert (table.unexplained.leases, written.grants) == ([], [])
