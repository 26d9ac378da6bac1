"""A lease goes when nothing of it is left, and nothing of it can come any more."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Attempt, Outcome
from sluice.api.reasons import Reason
from sluice.controller.applications.applications import Applications
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.execution.cleanup import Cleanup
from sluice.engines import RuntimeProfile
from sluice.engines.attempt import application_name
from sluice.kube.client import ApiError, NotFoundError
from sluice.leases import Epochs, Lease
from sluice.lifecycle.evidence.driver_losses import noted_on, word_for
from sluice.lifecycle.job.status import StatusChange
from sluice.tables import TableKey, key_of_path
from unit.controller.bodies import job_body, unfenced
from unit.lifecycle.objects import RUNNING, TERMINATED, application, loss, placeholder, pod, told_there

LEASE = Lease("uid-a", 1, "hash", "etl/a", ("file:/lake/orders",))
NAME = application_name("a", "uid-a", 1)
TOKEN = Epochs.token(3, 7)


class Api:
    """Has pods alone, as those that asked for them made them."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.deleted: list[str] = []
        self.there: dict[str, Any] = {}
        self.namespace_ends = False
        self.wants_amounts = ""

    async def get(self, _: Any, __: str, name: str) -> Any:
        if name not in self.there:
            raise NotFoundError(404, "NotFound", "not there")
        return self.there[name]

    async def delete(self, _: Any, __: str, name: str, ___: Any) -> None:
        self.deleted.append(name)

    async def patch(self, _: Any, __: str, name: str, body: dict[str, Any]) -> Any:
        before, given = self.there[name], body["metadata"]
        texts = {
            part: before["metadata"].get(part, {}) | given[part]
            for part in ("annotations", "labels")
            if part in given
        }
        metadata = before["metadata"] | given | texts | {"resourceVersion": "8"}
        self.there[name] = before | {"metadata": metadata}
        return self.there[name]

    async def create(
        self, resource: Any, namespace: str, body: dict[str, Any], *, only_try: bool = False
    ) -> Any:
        if self.namespace_ends:
            raise ApiError(403, "Forbidden", "it ends", frozenset({"NamespaceTerminating"}))
        if only_try:
            return body
        if self.wants_amounts and "resources" not in body["spec"]["containers"][0]:
            raise ApiError(403, "Forbidden", self.wants_amounts)
        self.made.append(f"{resource.plural} {namespace}/{body['metadata']['name']}")
        seen = {"uid": "pod-uid", "resourceVersion": "7", "creationTimestamp": "2999-01-01T00:00:00Z"}
        return body | {"metadata": body["metadata"] | seen}


class InForce:
    """Epochs that the API server compares."""

    def __init__(self) -> None:
        self.in_force: int | None = None
        self.annotations = unfenced().annotations
        self.mistrusted: list[str] = []

    def mistrust(self, error: Exception) -> None:
        self.mistrusted.append(str(error))


def made(
    *,
    unexplained: bool = False,
    epochs: Any = None,
    world: ClusterCache | None = None,
    changed: Callable[[tuple[TableKey, ...]], None] = lambda _: None,
) -> tuple[Api, Applications, Cleanup, list[Lease]]:
    world, released = world or ClusterCache({}), list[Lease]()

    def release(lease: Lease) -> None:
        released.append(lease)

    async def bury(lease: Lease, why: str) -> bool:
        api.made.append(f"tombstone of {lease.holder}: {why}")
        return True

    api: Any = Api()
    leases: Any = SimpleNamespace(
        is_sure=True,
        held_by=lambda _: [LEASE],
        release=release,
        unsettled={},
        unexplained={LEASE} if unexplained else set(),
        lease_of=lambda *_: LEASE,
        bury=bury,
    )
    if epochs is not None:
        leases.mistrust = epochs.mistrust
    no: Any = None
    applications = Applications(api, world, epochs or unfenced())
    return api, applications, Cleanup(world, leases, applications, no, changed=changed), released


async def test_the_lease_of_which_nothing_is_left_goes() -> None:
    api, _, leftovers, released = made()
    await leftovers.retire("uid-a")
    assert released == [LEASE]
    assert api.made == []


async def test_what_a_job_that_is_gone_may_have_changed_is_told_before_its_lease_goes() -> None:
    changed = list[tuple[TableKey, ...]]()
    _, _, leftovers, released = made(changed=changed.append)
    await leftovers.retire("uid-a")
    assert changed == [(key_of_path("/lake/orders"),)]
    assert released == [LEASE]


async def test_a_lease_that_nothing_explains_stays_though_nothing_is_left_of_it() -> None:
    _, _, leftovers, released = made(unexplained=True)
    await leftovers.retire("uid-a")
    assert released == []


@pytest.mark.parametrize(
    "refusal",
    [
        "failed quota: small: must specify limits.memory for: never-starts",
        "exceeded quota: small, requested: limits.cpu=1, used: limits.cpu=4, limited: limits.cpu=4",
        "maximum memory usage per Pod is 8Gi.  No limit is specified",
    ],
)
async def test_the_drivers_name_is_taken_where_each_pod_has_to_say_what_it_needs(refusal: str) -> None:
    api, applications, _, _ = made()
    api.wants_amounts = f'pods "{NAME}-driver" is forbidden: {refusal}'
    await applications.occupy_driver_name("etl", NAME, "uid-a", 1)
    assert api.made == [f"pods etl/{NAME}-driver"]


async def test_where_a_create_was_not_answered_the_drivers_name_is_taken_before_the_lease_goes() -> None:
    api, applications, leftovers, released = made()
    applications.creates.sends("etl", NAME)
    await leftovers.retire("uid-a")
    assert released == []
    assert api.made == [f"pods etl/{NAME}-driver"]
    await leftovers.retire("uid-a")
    assert released == [LEASE]
    assert len(api.made) == 1


async def test_a_driver_that_no_watch_has_shown_keeps_the_lease_though_its_application_is_gone() -> None:
    api, _, leftovers, released = made()
    api.there[f"{NAME}-driver"] = pod(RUNNING, NAME, lease=LEASE)
    await leftovers.retire("uid-a")
    assert released == []


async def test_an_application_that_was_stripped_before_any_watch_showed_it_keeps_the_lease() -> None:
    """It may still start a driver."""
    api, _, leftovers, released = made()
    api.there[NAME] = application(name=NAME, lease=LEASE, finalizers=None)
    await leftovers.retire("uid-a")
    assert released == []


async def test_what_lost_its_label_is_no_less_there() -> None:
    """Its watch said that it is gone."""
    api, _, leftovers, released = made()
    unlabelled = application(name=NAME, lease=LEASE, labels=None)
    leftovers._world.applications.mirrors[0].gone(unlabelled["metadata"]["uid"])
    api.there[NAME] = unlabelled
    await leftovers.retire("uid-a")
    assert released == []
    assert api.there[NAME]["metadata"]["labels"] == {names.LABEL_JOB_UID: "uid-a"}


async def test_what_is_over_keeps_nothing() -> None:
    api, _, leftovers, released = made()
    api.there[NAME] = application("COMPLETED", name=NAME, lease=LEASE, finalizers=None)
    api.there[f"{NAME}-driver"] = pod(TERMINATED, NAME, lease=LEASE, finalizers=None)
    await leftovers.retire("uid-a")
    assert released == [LEASE]


@pytest.mark.parametrize("what_is_there", ["application", "pod"])
async def test_a_create_without_an_answer_is_answered_by_what_it_made(what_is_there: str) -> None:
    _, applications, leftovers, released = made()
    applications.creates.begins("etl", NAME)
    applications.creates.sends("etl", NAME)  # it lands, and its answer is lost
    world = leftovers._world
    if what_is_there == "application":
        world.applications.seen(application("COMPLETED", name=NAME, lease=LEASE, finalizers=None))
    world.pods.seen(pod(TERMINATED, NAME, lease=LEASE, finalizers=None))
    assert not world.evidence("uid-a").holds(1)
    await leftovers.retire("uid-a")
    assert released == [LEASE]


async def test_of_two_creates_without_an_answer_one_may_land_yet() -> None:
    _, applications, leftovers, released = made()
    applications.creates.begins("etl", NAME)
    for _ in range(2):
        applications.creates.sends("etl", NAME)
    leftovers._world.applications.seen(application("COMPLETED", name=NAME, lease=LEASE, finalizers=None))
    await leftovers.retire("uid-a")
    assert released == []


async def test_a_create_without_an_answer_keeps_the_lease_until_a_new_epoch_is_in_force() -> None:
    epochs = InForce()
    epochs.in_force = 7
    api, applications, leftovers, released = made(epochs=epochs)
    applications.creates.sends("etl", NAME)
    await leftovers.retire("uid-a")
    assert (released, api.made) == ([], [])
    assert epochs.mistrusted == [
        f"a create of SparkApplication {NAME} had no answer, and may land once the name is free: in a new epoch the API server "
        "refuses it"
    ]
    epochs.in_force = 8
    await leftovers.retire("uid-a")
    assert (released, api.made) == ([LEASE], [])


async def test_a_name_is_freed_only_in_an_epoch_in_which_no_create_of_it_can_land() -> None:
    """It was sent twice, and the second one was answered: the first may still be on its way."""
    epochs, world = InForce(), ClusterCache({})
    epochs.in_force = 7
    _, applications, leftovers, _ = made(epochs=epochs, world=world)
    let_go: list[str] = []

    async def counted(one: Any) -> None:
        let_go.append(one.application_name)

    applications.let_go = counted  # type: ignore[method-assign]
    world.applications.seen(application("COMPLETED", NAME, lease=LEASE))
    world.pods.seen(pod(TERMINATED, NAME, lease=LEASE))
    for _ in range(2):
        applications.creates.sends("etl", NAME)
    applications.creates.made("etl", NAME, before=False)
    await leftovers.retire("uid-a")
    assert let_go == []
    assert len(epochs.mistrusted) == 1
    epochs.in_force = 8
    await leftovers.retire("uid-a")
    assert let_go == [NAME]


async def test_where_its_namespace_is_deleted_a_lost_driver_leaves_a_tombstone_before_its_objects_go() -> (
    None
):
    """Elsewhere they stay until somebody says that it is dead."""
    world = ClusterCache({})
    api, applications, leftovers, released = made(world=world)

    async def let_go(one: Any) -> None:
        api.made.append(f"{one.application_name} let go")

    applications.let_go = let_go  # type: ignore[method-assign]
    going = {"deletionTimestamp": "2026-11-19T10:30:00Z"}
    api.there[NAME] = application("RUNNING", NAME, lease=LEASE, **going)
    world.applications.seen(api.there[NAME])
    await leftovers.retire("uid-a")
    assert api.made == []
    api.namespace_ends = True
    applications._asking.forget("etl")  # it is asked again after a while
    await leftovers.retire("uid-a")
    await leftovers.retire("uid-a")
    assert api.made == [
        f"tombstone of {LEASE.holder}: the driver's pod is gone, and its end was not seen, and its namespace is being deleted",
        f"{NAME} let go",
    ]
    assert released == []


async def test_whether_a_namespace_is_deleted_is_not_asked_at_each_look_at_a_lost_driver() -> None:
    """A job that is gone is looked at every five seconds, for as long as nobody says that its driver is dead."""
    world = ClusterCache({})
    api, _, leftovers, _ = made(world=world)
    asked, create = [], api.create

    async def counted(resource: Any, namespace: str, body: dict[str, Any], *, only_try: bool = False) -> Any:
        asked.append(namespace)
        return await create(resource, namespace, body, only_try=only_try)

    setattr(api, "create", counted)  # noqa: B010
    going = {"deletionTimestamp": "2026-11-19T10:30:00Z"}
    api.there[NAME] = application("RUNNING", NAME, lease=LEASE, **going)
    world.applications.seen(api.there[NAME])
    for _ in range(12):
        await leftovers.retire("uid-a")
    assert len(asked) <= 2


async def test_what_cannot_be_buried_because_it_has_no_lease_says_why_its_namespace_stays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It came late, or somebody brought it back: until the next rebuild no lease is known of it."""
    world = ClusterCache({})
    api, _, leftovers, _ = made(world=world)
    leftovers._leases.lease_of = lambda *_: None  # type: ignore[method-assign]
    api.namespace_ends = True
    going = {"deletionTimestamp": "2026-11-19T10:30:00Z"}
    api.there[NAME] = application("RUNNING", NAME, lease=LEASE, **going)
    world.applications.seen(api.there[NAME])
    for _ in range(3):
        await leftovers.retire("uid-a")
    assert f"kubectl annotate --overwrite sparkapplication.sparkoperator.k8s.io -n etl {NAME} " in caplog.text
    told = noted_on(api.there[NAME])
    assert told is not None
    assert caplog.text.rstrip().endswith(f"{names.ANNOTATION_DRIVER_DEAD}={word_for(told, NAME)}")


async def test_what_is_left_of_a_lost_driver_says_when_it_was_lost_and_goes_by_a_word_on_that_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = ClusterCache({})
    api, applications, leftovers, _ = made(world=world)
    let_go: list[str] = []

    async def lets_go(one: Any) -> None:
        let_go.append(one.application_name)

    applications.let_go = lets_go  # type: ignore[method-assign]
    early = application("RUNNING", NAME, lease=LEASE)
    early["metadata"]["annotations"] |= {names.ANNOTATION_DRIVER_DEAD: NAME}
    api.there[NAME] = early
    world.applications.seen(early)
    for _ in range(3):
        await leftovers.retire("uid-a")
    told = noted_on(api.there[NAME])
    assert told is not None
    assert let_go == []
    assert f"={NAME} names no loss that was told, and frees nothing; " in caplog.text
    word = {names.ANNOTATION_DRIVER_DEAD: word_for(told, NAME)}
    said = api.there[NAME]["metadata"]
    metadata = said | {"annotations": said["annotations"] | word, "resourceVersion": "9"}
    world.applications.seen(api.there[NAME] | {"metadata": metadata})
    await leftovers.retire("uid-a")
    assert let_go == [NAME]


async def test_a_node_has_a_while_to_say_what_became_of_a_driver_that_is_being_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where it says so in time, which is as good as always, nothing is written."""
    world = ClusterCache({})
    api, _, leftovers, _ = made(world=world)
    going = {"deletionTimestamp": "2026-11-19T10:30:00Z"}
    api.there[NAME] = application("SUBMITTED", NAME, lease=LEASE, **going)
    world.applications.seen(api.there[NAME])
    world.pods.seen(pod(None, NAME, lease=LEASE, **going))
    for second, is_told in ((29, False), (30, True)):
        now = datetime(2026, 11, 19, 10, 30, second, tzinfo=UTC)
        monkeypatch.setattr("sluice.controller.process.clock.now", lambda now=now: now)
        await leftovers.retire("uid-a")
        assert (noted_on(api.there[NAME]) is not None) == is_told


async def test_a_driver_is_looked_for_before_it_is_buried() -> None:
    """Its watch may be behind; and a pod that lost our label is shown by none, and keeps its namespace by our finalizer."""
    world = ClusterCache({})
    api, applications, leftovers, _ = made(world=world)

    async def let_go(one: Any) -> None:
        api.made.append(f"{one.application_name} let go")

    applications.let_go = let_go  # type: ignore[method-assign]
    api.namespace_ends = True
    going = {"deletionTimestamp": "2026-11-19T10:30:00Z"}
    world.applications.seen(application("RUNNING", NAME, lease=LEASE, **going))
    api.there[f"{NAME}-driver"] = pod(TERMINATED, NAME, lease=LEASE, labels={}, **going)
    await leftovers.retire("uid-a")  # finds that its namespace ends
    await leftovers.retire("uid-a")
    assert not [made for made in api.made if made.startswith("tombstone")]
    assert world.pods.get("etl", f"{NAME}-driver") is not None


@pytest.mark.parametrize(
    "refused",
    [
        ApiError(403, "Forbidden", "it ends", frozenset({"NamespaceTerminating"})),
        NotFoundError(404, "NotFound", 'namespaces "etl" not found'),
    ],
)
async def test_in_a_namespace_that_takes_nothing_more_no_unanswered_create_holds_a_lease(
    refused: ApiError,
) -> None:
    """There the driver's name cannot be taken, and needs not be."""
    api, applications, leftovers, released = made()

    async def create(*_: Any, **__: Any) -> Any:
        raise refused

    setattr(api, "create", create)  # noqa: B010
    applications.creates.sends("etl", NAME)
    for _ in range(3):
        with suppress(ApiError):
            await leftovers.retire("uid-a")
    assert set(released) == {LEASE}


async def test_a_placeholder_is_looked_at_again_when_its_hour_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing else would have its job looked at, and the job stays for as long as it is there."""
    up = _up(monkeypatch)
    _, applications, _, _ = made()
    assert applications.seconds_of_placeholders("uid-a") is None
    applications._world.pods.seen(placeholder(NAME))
    assert applications.seconds_of_placeholders("uid-a") == 3600
    up.now += 3540
    assert applications.seconds_of_placeholders("uid-a") == 60
    up.now += 3600
    assert applications.seconds_of_placeholders("uid-a") == 1


@pytest.mark.parametrize("ahead", [timedelta(hours=-2), timedelta(0), timedelta(hours=2)])
async def test_a_placeholder_keeps_its_name_taken_for_an_hour_under_any_clock(
    monkeypatch: pytest.MonkeyPatch, ahead: timedelta
) -> None:
    """A submission that was under way when the driver's name was taken would find the name free, and its lease is released."""
    up = _up(monkeypatch)
    api, applications, leftovers, _ = made()
    taken = placeholder(NAME)
    taken["metadata"] |= {"creationTimestamp": (datetime.now(UTC) - ahead).isoformat()}
    applications._world.pods.seen(taken)
    api.there[taken["metadata"]["name"]] = taken
    for seconds, deleted in ((0, []), (3599, []), (2, [taken["metadata"]["name"]])):
        up.now += seconds
        await leftovers.retire("uid-a")
        assert api.deleted == deleted


class Up:
    """How long this machine is up."""

    now = 7_000.0


def _up(monkeypatch: pytest.MonkeyPatch) -> Up:
    up = Up()
    monkeypatch.setattr("sluice.controller.applications.applications.uptime", lambda: up.now)
    return up


@pytest.mark.parametrize(
    ("age", "is_going", "namespace_ends", "done"),
    [
        (59, True, False, []),
        (59, False, True, []),
        (59, True, True, ["let go"]),
        (61, True, False, ["let go"]),
        (61, False, False, ["let go", "deleted"]),
    ],
)
async def test_a_deleted_placeholder_keeps_the_drivers_name_for_its_hour_or_until_its_namespace_ends(
    monkeypatch: pytest.MonkeyPatch, age: int, is_going: bool, namespace_ends: bool, done: list[str]
) -> None:
    up = _up(monkeypatch)
    api, applications, leftovers, _ = made()
    taken, did = placeholder(NAME), list[str]()
    taken["metadata"] |= {"deletionTimestamp": "2026-11-19T10:30:00Z"} if is_going else {}
    applications._world.pods.seen(taken)
    applications.seconds_of_placeholders("uid-a")
    up.now += age * 60
    api.namespace_ends = namespace_ends

    async def patch(_: Any, __: str, ___: str, body: Json) -> Any:
        assert body["metadata"]["finalizers"] == []
        did.append("let go")
        return taken

    async def delete(*_: Any, **__: Any) -> None:
        did.append("deleted")

    setattr(api, "patch", patch)  # noqa: B010
    setattr(api, "delete", delete)  # noqa: B010
    await leftovers.retire("uid-a")
    assert did == done


@pytest.mark.parametrize("is_over", [False, True])
async def test_a_job_that_backs_off_goes_on_saying_so_while_its_last_attempt_is_let_go(is_over: bool) -> None:
    """Else it would queue again at once. When its pause is over, what is left keeps it, and it says that."""
    since = datetime.now(UTC) - timedelta(days=1 if is_over else 0)
    left = application(
        "SUBMITTED", NAME, lease=LEASE, annotations=_record(), deletionTimestamp="2026-11-19T10:30:00Z"
    )
    api, written = await _blocked(since, left)
    assert api.made == [f"pods etl/{NAME}-driver"], "its driver's name is taken"
    assert {change.reason for change in written} == ({Reason.EARLIER_ATTEMPT} if is_over else set())


async def test_a_job_that_waits_for_a_lost_driver_of_its_earlier_attempt_says_how_to_declare_it_dead() -> (
    None
):
    lost = application("RUNNING", NAME, lease=LEASE, annotations=_record() | told_there())
    _, [change] = await _blocked(datetime.now(UTC) - timedelta(days=1), lost)
    assert change.message == (
        f"SparkApplication {NAME} of an earlier attempt is still there; it is being ended first; the driver's pod is gone, and its "
        "end was not seen; its leases are held; once you know that it is dead, say so: kubectl annotate --overwrite "
        f"sparkapplication.sparkoperator.k8s.io -n etl {NAME} {names.ANNOTATION_DRIVER_DEAD}={word_for(loss(), NAME)}"
    )


async def _blocked(since: datetime, left: Json) -> tuple[Api, list[StatusChange]]:
    """A job that backs off since then is looked at, and this is left of its attempt, which was taken back."""
    world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})
    attempt = Attempt(
        number=1,
        token=TOKEN,
        hash="h",
        application=NAME,
        granted_at=since,
        outcome=Outcome.WITHDRAWN,
        ended_at=since,
    )
    known = {"attempts": [attempt.model_dump(mode="json", by_alias=True, exclude_none=True)]}
    status = known | {"phase": "BackingOff", "since": since.isoformat(), "reason": "WaitingForCompute"}
    world.job_seen(job_body("a") | {"status": status})
    world.applications.seen(left)
    api, applications, _, _ = made(world=world)
    written: list[StatusChange] = []

    async def write(_: Any, change: StatusChange) -> None:
        written.append(change)

    nothing: Any = SimpleNamespace(of=lambda _: ())
    leases: Any = SimpleNamespace(unsettled={}, unexplained=nothing, held_by=lambda _: [LEASE])
    statuses: Any = SimpleNamespace(write=write)
    job = world.jobs["uid-a"]
    assert await Cleanup(world, leases, applications, statuses).block(job)
    return api, written


def _record() -> dict[str, str]:
    return {names.ANNOTATION_LEASE: LEASE.to_json(), names.ANNOTATION_TOKEN: str(TOKEN)}


async def test_a_driver_that_a_list_has_shown_is_no_news_to_whoever_reads_it_anew() -> None:
    """A list shows pods without their kind. Who took that for a change waited for a watch to show it, for ever."""
    api, applications, _, _ = made(world=(world := ClusterCache({})))
    known = pod(RUNNING, name=NAME, lease=LEASE, annotations=_record())
    world.pods.seen(known)
    there = known | {"apiVersion": "v1", "kind": "Pod"}
    api.there[f"{NAME}-driver"] = there
    assert not await applications.find_driver("etl", NAME)
    assert not await applications.have_changed("etl", NAME)
    api.there[f"{NAME}-driver"] = there | {"metadata": there["metadata"] | {"resourceVersion": "9"}}
    assert await applications.have_changed("etl", NAME)
    assert not await applications.have_changed("etl", NAME), "it is known by then"
