"""SparkApplications and driver pods of attempts: created, observed, and let go once their end is proved."""

import logging
from datetime import UTC, datetime
from typing import Any

from sluice.api import names
from sluice.api.job_status import Attempt
from sluice.api.tables import OptionFrom
from sluice.controller.jobs import JobView
from sluice.controller.kube import APPLICATIONS, PODS, ConflictError, Kube, NotFoundError
from sluice.controller.world import World, is_held
from sluice.engines import AttemptRun, Observation, Stage, kubeflow, observe
from sluice.engines.attempt import driver_pod_name
from sluice.engines.plan import option_variable, plan_arguments, plan_for
from sluice.leases import Lease

Json = dict[str, Any]

logger = logging.getLogger(__name__)

DRIVER_DEAD = f"{names.GROUP}/driver-is-dead"

_DRIVER_WAS_SEEN = frozenset({"RUNNING", "SUCCEEDING", "COMPLETED"})
"""Not FAILING: the spark-operator says that, too, of a driver that it has not found yet."""

PLACEHOLDER_SECONDS = 3600.0
"""Longer than any submission takes that was under way when the driver's name was taken."""


class ForeignApplicationError(Exception):
    """The attempt's name is taken by an application that is not ours."""


class Applications:
    def __init__(self, kube: Kube, world: World) -> None:
        self._kube = kube
        self._world = world

    def observe(self, job: JobView, attempt: Attempt) -> Observation:
        declared_dead = job.body["metadata"].get("annotations", {}).get(DRIVER_DEAD) == attempt.application
        application = self._world.applications.get((job.namespace, attempt.application))
        seen = observe(
            application,
            self._driver(job.namespace, attempt.application),
            driver_seen=attempt.started_at is not None or _state(application) in _DRIVER_WAS_SEEN,
        )
        if seen.stage is Stage.LOST and declared_dead:
            return Observation(Stage.ENDED, detail="declared dead by hand")
        return seen

    async def create(self, job: JobView, attempt: Attempt, lease: Lease, writer_epoch: int) -> None:
        body = kubeflow.application(_run(job, attempt, lease, writer_epoch))
        try:
            created = await self._kube.create(APPLICATIONS, job.namespace, body)
        except ConflictError:
            created = await self._kube.get(APPLICATIONS, job.namespace, attempt.application)
            token = created["metadata"].get("annotations", {}).get(names.ANNOTATION_TOKEN)
            if token != str(attempt.token):
                raise ForeignApplicationError(
                    f"SparkApplication {attempt.application} exists and is not of this attempt "
                    f"(its token is {token}, not {attempt.token}): delete it"
                ) from None
        self._world.application_seen(created)

    async def find(self, namespace: str, name: str) -> bool:
        """Whether the API server has the application, not let go, which a watch may not have shown yet."""
        try:
            body = await self._kube.get(APPLICATIONS, namespace, name)
        except NotFoundError:
            return False
        self._world.application_seen(body)
        return is_held(body)

    async def find_driver(self, namespace: str, name: str) -> bool:
        """Whether the API server has the driver's pod, which no watch has shown yet."""
        if self._driver(namespace, name) is not None:
            return False
        try:
            pod = await self._kube.get(PODS, namespace, driver_pod_name(name))
        except NotFoundError:
            return False
        self._world.pod_seen(pod)
        return True

    async def occupy_driver_name(self, namespace: str, name: str) -> None:
        """Proves that no driver can start any more, or finds the one that did."""
        application = self._world.applications.get((namespace, name))
        if application is None:
            application = await self._kube.get(APPLICATIONS, namespace, name)
        try:
            pod = await self._kube.create(PODS, namespace, kubeflow.placeholder(application))
        except ConflictError:
            pod = await self._kube.get(PODS, namespace, driver_pod_name(name))
        self._world.pod_seen(pod)

    def still_held(self, uid: str) -> list[Json]:
        """Applications of a job that carry our finalizer: none of them has been let go."""
        return [body for body in self._world.applications_of(uid) if is_held(body)]

    def held_pods(self, uid: str) -> list[Json]:
        return [body for body in self._world.pods_of(uid) if is_held(body)]

    async def retire(self, application: Json, *, outcome_written: bool) -> bool:
        """One step towards letting an application go; true once it is let go. Its job has ended, or is gone."""
        namespace, name = application["metadata"]["namespace"], application["metadata"]["name"]
        pod = self._driver(namespace, name)
        dead = outcome_written or application["metadata"].get("annotations", {}).get(DRIVER_DEAD) == name
        seen = observe(application, pod, driver_seen=_state(application) in _DRIVER_WAS_SEEN)
        if seen.stage in (Stage.ENDED, Stage.NEVER_STARTS) or (seen.stage is Stage.LOST and dead):
            if pod is not None:
                await self._drop_finalizer(PODS, pod)
            await self._drop_finalizer(APPLICATIONS, application)
            return True
        if pod is not None:
            if "deletionTimestamp" not in pod["metadata"]:
                logger.info("%s/%s: its job is gone; ending its driver", namespace, name)
                await self._kube.delete(PODS, namespace, pod["metadata"]["name"])
        elif seen.stage is Stage.NO_DRIVER:
            await self.occupy_driver_name(namespace, name)
        elif seen.stage is Stage.LOST:
            logger.warning(
                "%s/%s: its job and its driver's pod are gone, and the driver's end was not seen: its leases are held "
                "until `kubectl annotate sparkapplication -n %s %s %s=%s`",
                *(namespace, name, namespace, name, DRIVER_DEAD, name),
            )
        elif "deletionTimestamp" not in application["metadata"]:
            await self._kube.delete(APPLICATIONS, namespace, name)
        return False

    async def retire_pod(self, pod: Json) -> bool:
        """A driver pod whose application is gone, which our finalizer on that should have prevented."""
        if observe(None, pod, driver_seen=True).stage in (Stage.ENDED, Stage.NEVER_STARTS):
            await self._drop_finalizer(PODS, pod)
            return True
        if "deletionTimestamp" not in pod["metadata"]:
            namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
            logger.warning(
                "%s/%s: its job is over, and its application gone; ending this driver", namespace, name
            )
            await self._kube.delete(PODS, namespace, name)
        return False

    async def remove_old_placeholders(self, uid: str) -> None:
        for pod in self._world.pods_of(uid):
            metadata = pod["metadata"]
            if names.LABEL_PLACEHOLDER in metadata["labels"] and _age(metadata) > PLACEHOLDER_SECONDS:
                try:
                    await self._kube.delete(PODS, metadata["namespace"], metadata["name"])
                except NotFoundError:
                    self._world.pod_gone(pod)

    def _driver(self, namespace: str, application: str) -> Json | None:
        return self._world.pods.get((namespace, driver_pod_name(application)))

    async def _drop_finalizer(self, resource: Any, body: Json) -> None:
        metadata = body["metadata"]
        if not is_held(body):
            return
        others = [name for name in metadata["finalizers"] if name != names.FINALIZER_LEASE]
        patch = {"metadata": {"uid": metadata["uid"], "finalizers": others}}
        try:
            patched = await self._kube.patch(resource, metadata["namespace"], metadata["name"], patch)
        except NotFoundError:
            return
        if resource is PODS:
            self._world.pod_seen(patched)
        else:
            self._world.application_seen(patched)


def _state(application: Json | None) -> str:
    return str((application or {}).get("status", {}).get("applicationState", {}).get("state", ""))


def _age(metadata: Json) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(metadata["creationTimestamp"])).total_seconds()


def _run(job: JobView, attempt: Attempt, lease: Lease, writer_epoch: int) -> AttemptRun:
    plan = plan_for(
        job.identity,
        job.spec,
        run_key=job.run_key,
        spec_hash=attempt.hash,
        attempt=attempt.number,
        token=attempt.token,
    )
    return AttemptRun(
        namespace=job.namespace,
        job=job.name,
        job_uid=job.uid,
        number=attempt.number,
        token=attempt.token,
        writer_epoch=writer_epoch,
        lease=lease.to_json(),
        profile=job.profile,
        arguments=tuple(plan_arguments(plan)),
        environment=tuple(_secret(index, ref) for index, ref in enumerate(_secret_options(job))),
    )


def _secret_options(job: JobView) -> tuple[OptionFrom, ...]:
    return (job.spec.write.source.options_from or ()) if job.spec.write is not None else ()


def _secret(index: int, ref: OptionFrom) -> Json:
    secret = {"name": ref.secret_key_ref.name, "key": ref.secret_key_ref.key}
    return {"name": option_variable(index), "valueFrom": {"secretKeyRef": secret}}
