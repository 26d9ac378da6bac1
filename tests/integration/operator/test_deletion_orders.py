"""Whatever of a job is deleted, at whatever moment and in whatever order: its lease stays as long as its driver may write, what was
deleted goes, and nothing is left.

All orders go through one operator's life at once, which is killed and started again in the middle of it. The test is Spark
operator, kubelet and user; garbage and namespaces are collected by the real controllers.
"""

import http
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

import pytest
from kubernetes import client

from devenv import kubernetes_binaries
from devenv.kubernetes_binaries import HELM
from devenv.toolchain import cache
from integration.chart.helm import Helm
from integration.conftest import Kubectl
from integration.leases.redis_process import RedisProcess
from integration.objects import KINDS, NoSuchObjectError, Objects
from integration.operator.deletions import Deletion, Moment, Operator, Order, all_orders, orders
from integration.operator.fenced import fenced
from integration.operator.played import Driver, Played, rewrite
from integration.operator.process import OperatorProcess
from integration.terminal import Terminal
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

PAUSE = 0.5
NO_APPLICATION = {"count/sparkapplications.sparkoperator.k8s.io": "0"}
HOW_TO_FREE = re.compile(r"says? so: ((?:kubectl|sluice) .*)$")
REBUILT = "the lease table was rebuilt"
OF_PODS = frozenset({Deletion.POD, Deletion.POD_BY_FORCE, Deletion.POD_WITHOUT_PROOF})

Place = tuple[str, str]
"""A namespace and a name."""


@dataclass
class Story:
    """What becomes of one job. Another one, which waits elsewhere, conflicts with it."""

    order: Order
    cluster: Played
    rivals_place: str
    uid: str = ""
    application: str = ""
    rival: str = ""
    """The uid of the one that conflicts."""
    waits_for: Driver | None = None

    @property
    def name(self) -> str:
        return self.order.name

    @property
    def table(self) -> str:
        return f"/lake/{self.name}"

    @property
    def place(self) -> str:
        return self.cluster.namespace

    @property
    def driver(self) -> Driver:
        return self.cluster.driver_named(self.application)

    def delete(self, what: Deletion) -> None:
        with _that_may_be_gone():
            match what:
                case Deletion.JOB:
                    self.cluster.delete(self.name)
                case Deletion.APPLICATION:
                    self.cluster.delete_application(self.application)
                case Deletion.POD:
                    self.cluster.objects.delete("pod", self.driver.pod)
                case Deletion.POD_BY_FORCE:
                    self.cluster.delete_pod(self.driver.pod)
                case Deletion.POD_WITHOUT_PROOF:
                    self.driver.vanishes()
                case Deletion.NAMESPACE:
                    self.cluster.objects.server.ask("DELETE", f"/api/v1/namespaces/{self.place}")
                case _:
                    assert_never(what)


@dataclass(frozen=True)
class Seen:
    """What the API server and Redis hold, in all namespaces of the test."""

    jobs: dict[Place, Json]
    applications: dict[Place, Json]
    pods: dict[Place, Json]
    namespaces: set[str]
    ending: set[str]
    """Namespaces that are being deleted."""
    holders: set[str]
    told: list[str]
    """What the operator told of how leases are freed."""

    @staticmethod
    def now(cluster: Played, spaces: Sequence[Objects], operator: OperatorProcess) -> "Seen":
        places = {one.namespace for one in spaces}
        server = cluster.objects.server

        def every(kind: str) -> dict[Place, Json]:
            """One list of the whole cluster, where there would be one for each namespace."""
            listed = server.ask("GET", "/{}/{}".format(*KINDS[kind])) or {"items": []}
            found = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in listed["items"]}
            return {place: body for place, body in found.items() if place[0] in places}

        namespaces = (server.ask("GET", "/api/v1/namespaces") or {"items": []})["items"]
        there = [one for one in namespaces if one["metadata"]["name"] in places]
        return Seen(
            every("deltawritejob"),
            every("sparkapplication"),
            every("pod"),
            {one["metadata"]["name"] for one in there},
            {one["metadata"]["name"] for one in there if _is_going(one)},
            cluster.holders(),
            [one["message"] for one in operator.entries() if HOW_TO_FREE.search(one["message"])],
        )

    def job(self, story: Story) -> Json | None:
        return self.jobs.get((story.place, story.name))

    def application(self, story: Story) -> Json | None:
        return self.applications.get((story.place, story.application))

    def pod(self, story: Story) -> Json | None:
        return self.pods.get((story.place, story.driver.pod))

    def status(self, story: Story) -> Json:
        return (self.job(story) or {}).get("status") or {}

    def has_begun(self, uid: str) -> bool:
        """Whether the job with this uid may write."""
        return any(_uid_of_job(body) == uid for body in self.applications.values())


@dataclass
class Stage:
    cluster: Played
    operator: OperatorProcess
    stories: list[Story]
    spaces: list[Objects]
    """The first one is the operator's own."""

    def seen(self) -> Seen:
        return Seen.now(self.cluster, self.spaces, self.operator)

    def at(self, *moments: Moment) -> list[Story]:
        return [story for story in self.stories if story.order.moment in moments]

    def not_at(self, moment: Moment) -> list[Story]:
        return [story for story in self.stories if story.order.moment is not moment]

    def delete(self, step: int, meanwhile: Operator) -> None:
        for story in self.stories:
            if story.order.operator is meanwhile and step < len(story.order.deletions):
                story.delete(story.order.deletions[step])

    def carry_on(self, seen: Seen, *, drivers_end: bool) -> None:
        """Does what Spark operator and kubelet do about what was deleted."""
        for story in self.stories:
            application, pod = seen.application(story), seen.pod(story)
            with _that_may_be_gone():
                if application is not None and not _is_going(application):
                    _follow_the_driver(story, application, pod, may_start=story.place not in seen.ending)
                if pod is None:
                    continue
                if application is not None and _is_going(application) and not _is_going(pod):
                    story.cluster.objects.delete("pod", story.driver.pod)
                if _is_going(pod) and "nodeName" in pod["spec"]:
                    _end_on_its_node(story, pod, may_end=drivers_end)


@pytest.fixture
def terminal(kubectl: Kubectl, namespace: str, tmp_path: Path) -> Terminal:
    return Terminal.opened(kubectl, namespace, tmp_path, tmp_path / "home")


@pytest.fixture
def stage_for(
    cluster: Played, redis: RedisProcess, kubeconfig: Path, tmp_path: Path, operator_logs: list[Path]
) -> Callable[[Sequence[Order]], AbstractContextManager[Stage]]:
    """Makes an installation as the chart does, whose own namespace stays: there is what conflicts."""

    @contextmanager
    def made(chosen: Sequence[Order]) -> Iterator[Stage]:
        objects = cluster.objects
        part = uuid.uuid4().hex[:6]
        spaces = {
            place: Objects(objects.server, f"{place}-{part}") for place in {order.place for order in chosen}
        }
        for space in spaces.values():
            space.create_namespace()
        stories = [
            Story(order, replace(cluster, objects=spaces[order.place]), cluster.namespace) for order in chosen
        ]
        helm = Helm(kubernetes_binaries.ensure(cache(), HELM) / "helm")
        beside = tuple(space.namespace for space in spaces.values())
        with fenced(helm, objects, kubeconfig, tmp_path, beside=beside) as installation:
            installation.install()
            operator = installation.operator(redis, tmp_path)
            operator.start()
            operator_logs.append(operator.log)
            try:
                operator.says(REBUILT)
                yield Stage(cluster, operator, stories, [objects, *spaces.values()])
            finally:
                operator.kill()

    return made


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param([*orders(1), *orders(2, [Moment.RUNNING])], id="each-and-pairs-of-a-running-one"),
        *(
            pytest.param([*all_orders(2, one)], id=f"all-pairs-{one}", marks=pytest.mark.long(minutes=6))
            for one in Operator
        ),
        *(
            pytest.param([*orders(3, [moment])], id=f"triples-{moment}", marks=pytest.mark.long(minutes=6))
            for moment in Moment
        ),
    ],
)
def test_whatever_is_deleted_goes_and_leases_go_once_their_drivers_are_dead(
    stage_for: Callable[[Sequence[Order]], AbstractContextManager[Stage]],
    terminal: Terminal,
    chosen: list[Order],
) -> None:
    with stage_for(chosen) as stage:
        _bring_all_to_their_moments(stage)
        _delete_all(stage)
        _what_may_write_holds(stage)
        _all_goes_once_drivers_are_dead(stage, terminal)
        assert stage.operator.running
        assert all("exception" not in entry for entry in stage.operator.entries())


def _bring_all_to_their_moments(stage: Stage) -> None:
    for story in stage.at(Moment.WAITING):
        stage.cluster.apply(f"before-{story.name}", rewrite(story.table))
        story.waits_for = stage.cluster.start(f"before-{story.name}")
    for story in stage.not_at(Moment.GRANTED):
        story.uid = story.cluster.apply(story.name, rewrite(story.table))
    for story in stage.at(Moment.PENDING):
        story.cluster.submitted(story.name)
    for story in stage.at(Moment.RUNNING, Moment.ENDED, Moment.FINISHED):
        driver = story.cluster.start(story.name)
        if story.order.moment is Moment.FINISHED:
            driver.succeeds(story.table)
    _wait_for(stage, stage.not_at(Moment.GRANTED), _not_at_its_moment)
    for space in stage.spaces[1:]:
        _no_application_fits(stage.cluster.api, space.namespace)
    for story in stage.at(Moment.GRANTED):
        story.uid = story.cluster.apply(story.name, rewrite(story.table))
    _wait_for(stage, stage.at(Moment.GRANTED), _not_at_its_moment)
    seen = stage.seen()
    for story in stage.stories:
        story.application = next((one["application"] for one in seen.status(story).get("attempts", ())), "")
    for story in stage.not_at(Moment.FINISHED):
        story.rival = stage.cluster.apply(f"after-{story.name}", rewrite(story.table))
    _wait_for(stage, stage.not_at(Moment.FINISHED), _rival_does_not_wait)


def _delete_all(stage: Stage) -> None:
    longest = max(len(story.order.deletions) for story in stage.stories)
    for step in range(longest):
        stage.delete(step, Operator.LIVES)
        stage.carry_on(stage.seen(), drivers_end=False)
    stage.delete(0, Operator.RESTARTS)
    stage.operator.kill()
    for story in stage.at(Moment.ENDED):
        story.driver.succeeds(story.table)
    for step in range(longest):
        stage.delete(step, Operator.AWAY)
    rebuilds = stage.operator.told().count(REBUILT)
    stage.operator.start()
    stage.operator.says(REBUILT, times=rebuilds + 1)
    for step in range(1, longest):
        stage.carry_on(stage.seen(), drivers_end=False)
        stage.delete(step, Operator.RESTARTS)


def _what_may_write_holds(stage: Stage) -> None:
    """Until all is done that can be done without the word of a node or a person, and then."""

    def waits_for(story: Story, seen: Seen) -> str | None:
        if story.order.is_held:
            assert f"{story.uid}/1" in seen.holders, f"the lease of {story.name} is gone"
            assert not seen.has_begun(story.rival), (
                f"while the driver of {story.name} may write, another job may, too"
            )
        if story.order.proof_is_lost:
            return None if _command(story, seen) else "nobody says what frees its lease"
        if story.order.is_held:
            pod = seen.pod(story)
            return None if pod is not None and _is_going(pod) else "its driver isn't told to end"
        return _not_free(story, seen)

    _wait_for(stage, stage.not_at(Moment.FINISHED), waits_for, drivers_end=False)


def _all_goes_once_drivers_are_dead(stage: Stage, terminal: Terminal) -> None:
    for story in stage.stories:
        if story.waits_for is not None:
            story.waits_for.succeeds(story.table)
        if story.order.proof_is_lost:
            _say_that_it_is_dead(story, stage, terminal)
    _wait_for(stage, stage.stories, _left, drivers_end=True)


def _say_that_it_is_dead(story: Story, stage: Stage, terminal: Terminal) -> None:
    """A namespace that is deleted takes the object away that a command names: the operator's next message names what is left."""

    def is_said() -> bool:
        command = _command(story, stage.seen())
        try:
            terminal.run(command)
        except AssertionError as error:
            if "(NotFound)" not in str(error):
                raise
            return False
        return True

    eventually(is_said, f"the driver of {story.name} is declared dead", pause=PAUSE)


def _wait_for(
    stage: Stage,
    stories: Sequence[Story],
    lacks: Callable[[Story, Seen], str | None],
    *,
    drivers_end: bool | None = None,
) -> None:
    """Until none of these stories lacks anything; `drivers_end`: whether nodes end drivers that are to end, or else None."""

    def lacking() -> list[str]:
        seen = stage.seen()
        if drivers_end is not None:
            stage.carry_on(seen, drivers_end=drivers_end)
        told = ((story.name, lacks(story, seen)) for story in stories)
        return [f"{name}: {what}" for name, what in told if what is not None]

    eventually(lambda: not lacking(), "nothing is lacking", pause=PAUSE, show=lambda: "; ".join(lacking()))


def _not_at_its_moment(story: Story, seen: Seen) -> str | None:
    status = seen.status(story)
    said = (status.get("phase"), status.get("reason"))
    match story.order.moment:
        case Moment.WAITING:
            is_there = said[0] == "Waiting"
        case Moment.GRANTED:
            is_there = said == ("Starting", "ApplicationRefused")
        case Moment.CREATED | Moment.PENDING:
            is_there = seen.has_begun(story.uid)
        case Moment.RUNNING | Moment.ENDED:
            is_there = said[0] == "Running"
        case Moment.FINISHED:
            is_there = said[0] == "Succeeded" and f"{story.uid}/1" not in seen.holders
        case _:
            assert_never(story.order.moment)
    return None if is_there else f"is {said}"


def _rival_does_not_wait(story: Story, seen: Seen) -> str | None:
    status = (seen.jobs[story.rivals_place, f"after-{story.name}"]).get("status") or {}
    return None if status.get("phase") == "Waiting" else f"its rival is {status.get('phase')}"


def _not_free(story: Story, seen: Seen) -> str | None:
    """Whether what it wrote to is free for others."""
    if story.order.moment is Moment.FINISHED or story.waits_for is not None:
        return None
    return None if seen.has_begun(story.rival) else "its rival waits"


def _left(story: Story, seen: Seen) -> str | None:
    order, job = story.order, seen.job(story)
    application, pod = seen.application(story), seen.pod(story)
    application_goes = order.job_goes or Deletion.APPLICATION in order.deletions
    pod_goes = application_goes or not OF_PODS.isdisjoint(order.deletions)
    left = {
        "its namespace": Deletion.NAMESPACE in order.deletions and story.place in seen.namespaces,
        "its job": job is not None
        and (order.job_goes or seen.status(story).get("phase") not in ("Succeeded", "Failed")),
        "its application": application is not None and (application_goes or _is_marked(application)),
        "its driver": pod is not None and not _is_placeholder(pod) and (pod_goes or _is_marked(pod)),
        "its lease": any(holder.startswith(story.uid) for holder in seen.holders),
        "whoever waits for it": order.moment is not Moment.FINISHED and not seen.has_begun(story.rival),
    }
    return ", ".join(what for what, is_there in left.items() if is_there) or None


def _command(story: Story, seen: Seen) -> str:
    """What frees the lease of a driver whose end can't be proved: as the operator's log tells of what is left of it; or, as long as
    there is nothing of that, as its job tells."""
    where = (f"lease {story.uid}/1 of job ", f"{story.place}/{story.application}: ")
    told = [one for one in seen.told if one.startswith(where)]
    found = HOW_TO_FREE.search(told[-1] if told else seen.status(story).get("message", ""))
    return found[1] if found is not None else ""


def _end_on_its_node(story: Story, pod: Json, *, may_end: bool) -> None:
    if not _has_ended(pod) and may_end:
        story.driver.container_ends(143)
    if (_has_ended(pod) or may_end) and pod["metadata"]["deletionGracePeriodSeconds"] != 0:
        story.cluster.delete_pod(story.driver.pod)


def _follow_the_driver(story: Story, application: Json, pod: Json | None, *, may_start: bool) -> None:
    """What the Spark operator says of the driver of an application that isn't being deleted."""
    said = application.get("status", {}).get("applicationState", {}).get("state")
    if said in {"COMPLETED", "FAILED"} or (pod is not None and not _has_ended(pod)):
        return
    if pod is not None:
        story.cluster.application_is(
            story.application, "COMPLETED" if pod["status"]["phase"] == "Succeeded" else "FAILED"
        )
    elif said is not None:
        story.cluster.application_is(story.application, "FAILED", "driver pod not found")
    elif not may_start:
        story.cluster.application_is(
            story.application, "FAILED", "failed to submit: the namespace is being terminated"
        )


def _no_application_fits(api: client.ApiClient, namespace: str) -> None:
    core = client.CoreV1Api(api)
    quota = client.V1ResourceQuota(
        metadata=client.V1ObjectMeta(name="none"), spec=client.V1ResourceQuotaSpec(hard=NO_APPLICATION)
    )
    core.create_namespaced_resource_quota(namespace, quota)
    # What is used is written by a controller elsewhere.
    status = {"hard": NO_APPLICATION, "used": NO_APPLICATION}
    core.patch_namespaced_resource_quota_status("none", namespace, {"status": status})


@contextmanager
def _that_may_be_gone() -> Iterator[None]:
    """What an earlier deletion has taken along can't be deleted any more."""
    try:
        yield
    except NoSuchObjectError:
        return
    except client.ApiException as error:
        if error.status != http.HTTPStatus.NOT_FOUND:
            raise


def _uid_of_job(application: Json) -> str:
    return str(application["metadata"].get("labels", {}).get(names.LABEL_JOB_UID))


def _is_going(body: Json) -> bool:
    return "deletionTimestamp" in body["metadata"]


def _has_ended(pod: Json) -> bool:
    return pod["status"]["phase"] in {"Succeeded", "Failed"}


def _is_marked(body: Json) -> bool:
    return names.FINALIZER_LEASE in body["metadata"].get("finalizers", ())


def _is_placeholder(pod: Json) -> bool:
    return names.LABEL_PLACEHOLDER in pod["metadata"].get("labels", {})
