"""What a replaced leader sends late is refused by the API server, by the chart's own policy; nobody else's writes are."""

import json
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from devenv import kubernetes_binaries
from devenv.kubernetes_binaries import HELM
from devenv.toolchain import cache
from integration.chart.helm import Helm
from integration.leases.redis_process import RedisProcess
from integration.objects import JSON_PATCH, Objects, RefusedRequestError, Server
from integration.operator.conftest import StartOperator
from integration.operator.fenced import Fenced, fenced
from integration.operator.played import Played, append
from integration.operator.process import OperatorProcess, configuration, first_epochs, sluice
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Phase
from sluice.api.reasons import Reason
from sluice.controller.applications.applications import Applications
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.leadership.epoch_policy import EpochPolicy, NotFencedError
from sluice.controller.policy_work.policy_jobs import JobOrder, PolicyJobs
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.controller.reporting.events import EventWriter
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.engines import RuntimeProfile
from sluice.kube.client import ApiError, Kube
from sluice.kube.resources import KUBEFLOW_APPLICATIONS
from sluice.lifecycle.job.status import StatusChange

FENCED = "FormerLeadersFenced"


@pytest.fixture
def here(objects: Objects, kubeconfig: Path, tmp_path: Path) -> Iterator[Fenced]:
    helm = Helm(kubernetes_binaries.ensure(cache(), HELM) / "helm")
    with fenced(helm, objects, kubeconfig, tmp_path) as made:
        yield made


@pytest.fixture
def started(
    here: Fenced, redis: RedisProcess, tmp_path: Path, operator_logs: list[Path]
) -> Iterator[Callable[[], OperatorProcess]]:
    running: list[OperatorProcess] = []

    def start() -> OperatorProcess:
        operator = here.operator(redis, tmp_path, f"operator-{len(running)}")
        operator.start()
        running.append(operator)
        operator_logs.append(operator.log)
        return operator

    yield start
    for operator in running:
        operator.kill()


class Leader:
    """What a leader writes by, without the operator around it."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self.epochs = EpochPolicy(kube, OperatorConditions(), namespace, "sluice", is_expected=True)
        self.world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})
        self.statuses = StatusWriter(kube, self.world, self.epochs, EventWriter(kube, "leader"))
        self.applications = Applications(kube, self.world, self.epochs)
        self.jobs = PolicyJobs(kube, self.world, self.epochs)
        self._kube, self._namespace = kube, namespace

    async def tells(self, body: Json) -> None:
        self.world.job_seen(body)
        job = self.world.jobs[body["metadata"]["uid"]]
        await self.statuses.write(job, StatusChange(Phase.PENDING, Reason.BLOCKED, "told", comes_anew=True))

    async def takes_the_name(self, name: str) -> None:
        await self.applications.occupy_driver_name(self._namespace, name, "some-uid", 1)

    async def makes(self, policy: Json, name: str) -> Json:
        order = JobOrder(name, "optimize", "OPTIMIZE delta.`/lake/orders`", datetime.now(UTC))
        return await self.jobs.make(policy, order)

    async def creates(self, body: Json) -> None:
        await self._kube.create(KUBEFLOW_APPLICATIONS, self._namespace, body)

    async def lets_go(self, pod: Json) -> None:
        self.world.pods.seen(pod)
        await self.applications._drop_finalizer(self.world.pods, pod, names.FINALIZER_LEASE)

    async def puts_the_label_back(self, pod: Json) -> None:
        self.world.pods.seen(pod)
        await self.applications.put_label_back(pod)


def held_pod(cluster: Played, name: str, **labels: str) -> Json:
    """A driver's pod, as the Spark operator makes it from our template."""
    record = '{"attempt":1,"hash":"h","job":"etl/a","tables":["file:/lake/a"],"uid":"some-uid"}'
    metadata = {
        "name": f"{name}-driver",
        "labels": {names.LABEL_JOB_UID: "some-uid", names.LABEL_ATTEMPT: "1"} | labels,
        "annotations": {names.ANNOTATION_TOKEN: str(5 << 32 | 1), names.ANNOTATION_LEASE: record},
        "finalizers": [names.FINALIZER_LEASE],
    }
    spec = {"containers": [{"name": "spark-kubernetes-driver", "image": "none"}]}
    return cluster.objects.create("pod", {"metadata": metadata, "spec": spec})


def application(name: str, epoch: int | None) -> Json:
    annotations = {} if epoch is None else {names.ANNOTATION_WRITER_EPOCH: str(epoch)}
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {
            "name": name,
            "labels": {names.LABEL_JOB_UID: "some-uid"},
            "annotations": annotations,
        },
        "spec": {
            "type": "Python",
            "sparkVersion": "4.2.0",
            "mainApplicationFile": "local:///x.py",
            "driver": {},
            "executor": {},
        },
    }


def _of_policy(name: str) -> Json:
    metadata = {"name": name, "labels": {names.LABEL_POLICY: "orders"}}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.JOB_KIND,
        "metadata": metadata,
        "spec": append("/lake/orders"),
    }


async def over(doing: Awaitable[object]) -> bool:
    """Whether the write is refused for its epoch."""
    with pytest.raises(ApiError, match="is over: another leader has begun epoch 9001") as refusal:
        await doing
    return refusal.value.status == 422


async def test_each_late_write_of_a_former_leader_is_refused_once_the_next_epoch_is_in_force(
    here: Fenced, cluster: Played
) -> None:
    cluster.apply("told", append("/lake/told"))
    cluster.declare("orders", {"table": {"path": "/lake/orders"}})
    policy = cluster.policy("orders")
    pod, other = held_pod(cluster, "held"), held_pod(cluster, "strayed", **{names.LABEL_JOB_UID: "another"})
    here.install()
    job: Any = cluster.job("told")
    kube = await Kube.connect(str(here.kubeconfig))
    try:
        former, leader = Leader(kube, here.objects.namespace), Leader(kube, here.objects.namespace)
        await former.epochs.enforce(9000)
        await former.tells(job)
        job = cluster.job("told")
        await leader.epochs.enforce(9001)
        assert await over(former.tells(job)), "a status"
        assert await over(former.creates(application("late", 9000))), "an application"
        assert await over(former.makes(policy, "late")), "a policy's job"
        assert await over(former.takes_the_name("taken")), "a placeholder"
        assert await over(former.lets_go(pod)), "a finalizer"
        assert await over(former.puts_the_label_back(other)), "a label"
        with pytest.raises(NotFencedError, match="says epoch 9001, while epoch 9000 was begun"):
            await former.epochs.enforce(9000)
        assert here.epoch == 9001, "the parameter is never lowered"
        await leader.tells(job)
        await leader.creates(application("late", 9001))
        made = await leader.makes(policy, "late")
        await leader.takes_the_name("taken")
        await leader.puts_the_label_back(other)
        await leader.lets_go(pod)
    finally:
        await kube.close()
    assert cluster.status("told")["writerEpoch"] == 9001
    assert made["metadata"]["annotations"][names.ANNOTATION_WRITER_EPOCH] == "9001"
    placeholder = cluster.pod("taken-driver")
    assert placeholder is not None
    assert placeholder["metadata"]["annotations"] == {names.ANNOTATION_WRITER_EPOCH: "9001"}
    let_go = cluster.pod("held-driver")
    assert let_go is not None
    assert not let_go["metadata"].get("finalizers")


def test_the_operators_writes_without_an_epoch_are_refused_and_nobody_elses_are_looked_at(
    here: Fenced, cluster: Played
) -> None:
    here.install()
    own = Objects(Server.of(here.kubeconfig), here.objects.namespace)
    cluster.apply("some", append("/lake/some"))
    spec = {"containers": [{"name": "c", "image": "none"}]}
    pod: Json = {"metadata": {"name": "some", "labels": {names.LABEL_JOB_UID: "some-uid"}}, "spec": spec}

    def creates(kind: str, body: Json) -> Callable[[], object]:
        return lambda: own.create(kind, body, dry_run=True)

    def refused(words: str, what: str, writes: Callable[[], object]) -> None:
        """Waits for the API server, which learns of each policy by itself."""

        def answer() -> str:
            try:
                writes()
            except RefusedRequestError as error:
                return str(error)
            return "it takes it"

        eventually(lambda: words in answer(), what, seconds=30, show=answer)

    refused("no params found", "a missing parameter refuses the operator's writes", creates("pod", pod))
    cluster.objects.create("pod", {"metadata": {"name": "of-no-job"}, "spec": spec})
    here.objects.create("configmap", {"metadata": {"name": "sluice-epoch"}, "data": {"epoch": "9000"}})
    without = "has no writer epoch"
    refused(without, "a pod", creates("pod", pod))
    refused(without, "an application", creates("sparkapplication", application("without", None)))
    refused(without, "a job of a policy", creates("deltawritejob", _of_policy("without")))
    told, old = {"status": {"reason": "Told"}}, {"status": {"writerEpoch": 7}}
    refused(without, "a status", lambda: own.patch("deltawritejob", "some", told, sub="status"))
    with pytest.raises(RefusedRequestError, match="epoch 7 is over"):
        own.patch("deltawritejob", "some", old, sub="status")
    own.create("configmap", {"metadata": {"name": "sluice-unexplained-leases"}})

    cluster.objects.patch("deltawritejob", "some", told, sub="status")
    cluster.objects.create("pod", pod)
    cluster.objects.create("sparkapplication", application("anothers", None))
    held_pod(cluster, "held")
    off = [{"op": "remove", "path": "/metadata/finalizers/0"}]
    cluster.objects.patch("pod", "held-driver", off, content=JSON_PATCH)
    here.objects.patch("configmap", "sluice-epoch", {"data": {"epoch": "x"}})
    pod["metadata"]["annotations"] = {names.ANNOTATION_WRITER_EPOCH: "9999"}
    refused("resulted in error", "what is no epoch refuses everything", creates("pod", pod))


def test_a_job_runs_to_its_end_under_the_policy(
    here: Fenced, cluster: Played, started: Callable[[], OperatorProcess]
) -> None:
    here.install()
    operator = started()
    operator.says("the lease table was rebuilt")
    assert here.epoch in first_epochs()
    uid = cluster.apply("under", append("/lake/under"))
    driver = cluster.start("under")
    assert cluster.reaches("under", "Running")["writerEpoch"] == here.epoch
    driver.succeeds("file:/lake/under")
    cluster.reaches("under", "Succeeded")
    eventually(lambda: not cluster.holders(), f"the lease of {uid} is released")
    assert cluster.operator_tells(FENCED, "True")["reason"] == "Fenced"
    assert operator.metric("sluice_epoch") == here.epoch


def test_a_new_leaders_epoch_is_above_that_of_the_parameter(
    here: Fenced, cluster: Played, started: Callable[[], OperatorProcess]
) -> None:
    here.install()
    here.objects.create("configmap", {"metadata": {"name": "sluice-epoch"}, "data": {"epoch": "20000"}})
    operator = started()
    operator.says("epoch 20001: the lease table was rebuilt")
    assert here.epoch == 20001


def test_a_policy_that_should_be_there_and_is_not_keeps_everything_from_being_granted(
    here: Fenced, cluster: Played, started: Callable[[], OperatorProcess]
) -> None:
    operator = started()
    operator.says("does not refuse writes of epoch")
    began = here.epoch
    uid = cluster.apply("patient", append("/lake/patient"))
    told = eventually(
        lambda: (status := cluster.status("patient")).get("reason") == "LeasesUnavailable" and status,
        "the job says why it is not granted",
    )
    assert "does not refuse writes of epoch" in told["message"]
    time.sleep(12)  # more than one try
    assert cluster.operator_tells(FENCED, "False")["reason"] == "NotFenced"
    assert cluster.applications_of(uid) == []
    here.install()
    cluster.start("patient").succeeds("file:/lake/patient")
    cluster.reaches("patient", "Succeeded")
    assert here.epoch <= began + 1, "no epochs are spent on trying"


def test_a_parameter_that_somebody_deletes_is_made_anew(
    here: Fenced, cluster: Played, started: Callable[[], OperatorProcess]
) -> None:
    here.install()
    operator = started()
    operator.says("the lease table was rebuilt")
    before = here.epoch
    here.objects.delete("configmap", "sluice-epoch")
    cluster.apply("later", append("/lake/later"))
    cluster.start("later").succeeds("file:/lake/later")
    cluster.reaches("later", "Succeeded")
    assert here.epoch == before


def test_a_leader_that_is_told_that_its_epoch_is_over_begins_anew_above_it(
    here: Fenced, cluster: Played, started: Callable[[], OperatorProcess]
) -> None:
    here.install()
    operator = started()
    operator.says("the lease table was rebuilt")
    above = here.epoch + 5
    here.objects.patch("configmap", "sluice-epoch", {"data": {"epoch": str(above)}})
    cluster.apply("later", append("/lake/later"))
    operator.says(f"epoch {above + 1}: the lease table was rebuilt")
    cluster.start("later").succeeds("file:/lake/later")
    assert cluster.reaches("later", "Succeeded")["writerEpoch"] == above + 1


def test_without_a_policy_the_operator_says_so(cluster: Played, operators: StartOperator) -> None:
    operator = operators()
    operator.says("FormerLeadersFenced is Unknown: no admission policy is expected")
    operator.says("the lease table was rebuilt")
    assert cluster.operator_tells(FENCED, "Unknown")["reason"] == "NotFenced"


def _found(here: Fenced, admin: Path, config: Path) -> list[tuple[str, str]]:
    told = sluice(admin, "doctor", "--config", str(config), "-o", "json")
    findings = json.loads(told.stdout)["checks"]
    return [(one["level"], one["message"]) for one in findings if one["check"] == "admission policy"]


def test_doctor_tells_whether_the_policy_is_there_and_bound_to_the_installation(
    here: Fenced, kubeconfig: Path, redis: RedisProcess, tmp_path: Path
) -> None:
    def configured(name: str, **more: bool) -> Path:
        file = tmp_path / f"{name}.yaml"
        file.write_text(yaml.safe_dump(configuration([here.objects.namespace], redis.url, **more)))
        return file

    expecting, not_expecting = configured("expecting", admissionPolicy=True), configured("not-expecting")
    assert [level for level, _ in _found(here, kubeconfig, not_expecting)] == ["warn"]
    missing = _found(here, kubeconfig, expecting)
    assert [level for level, _ in missing] == ["fail"] * 6
    assert all("is not there, and nothing is granted without it" in message for _, message in missing)
    here.install()
    assert [level for level, _ in _found(here, kubeconfig, expecting)] == ["fail"]
    here.objects.create("configmap", {"metadata": {"name": "sluice-epoch"}, "data": {"epoch": "9000"}})
    [(level, message)] = _found(here, kubeconfig, expecting)
    assert level == "ok"
    assert message.endswith("/sluice-epoch says that epoch 9000 is in force")
    assert [level for level, _ in _found(here, kubeconfig, not_expecting)] == ["fail", "fail", "fail", "ok"]
    here.loosen({"validationActions": ["Audit"]})
    assert ("fail", "its binding refuses nothing (validationActions)") in _found(here, kubeconfig, expecting)


def test_doctor_names_the_accounts_of_drivers_that_no_policy_judges(
    here: Fenced, kubeconfig: Path, redis: RedisProcess, tmp_path: Path
) -> None:
    """The chart makes the account spark, and its policy judges that one."""
    namespace = here.objects.namespace
    accounts = {"default": "spark", "etl": "etl"}
    runtimes = {
        name: {"sparkVersion": "4.2.0", "serviceAccount": account} for name, account in accounts.items()
    }
    file = tmp_path / "sluice.yaml"

    def told(*, expected: bool) -> list[tuple[str, str]]:
        config = configuration([namespace], redis.url, runtimes=runtimes, admissionPolicy=expected)
        file.write_text(yaml.safe_dump(config))
        done = sluice(kubeconfig, "doctor", "--config", str(file), "-o", "json")
        assert done.stdout, done.stderr
        checks = json.loads(done.stdout)["checks"]
        return sorted((one["subject"], one["cure"]) for one in checks if one["check"] == "driver account")

    unjudged = [
        (
            f"{namespace}:{name}",
            f"add *:{name}, or {namespace}:{name}, to admissionPolicy.driverAccounts of the chart",
        )
        for name in ("etl", "spark")
    ]
    assert told(expected=True) == unjudged
    here.install("drivers.")
    assert told(expected=True) == unjudged[:1]
    assert told(expected=False) == []
