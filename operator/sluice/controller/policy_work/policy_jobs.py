"""Makes the jobs of policies, and takes them away: ordinary jobs, which queue like all others, in the policy's namespace."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sluice.api import names
from sluice.api.base import Json
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.leadership.epoch_policy import EpochPolicy
from sluice.kube.client import ApiError, ConflictError, Kube, NotFoundError
from sluice.kube.mirror import uid_of
from sluice.kube.resources import JOBS
from sluice.lifecycle.job.pruned_objects import policy_of
from sluice.policies.changes import listed
from sluice.policies.job_name import label_of

logger = logging.getLogger(__name__)

KEPT_SECONDS = 7 * 24 * 3600
"""How long one stays after its end, at most: long enough for a person to read after a holiday why it failed."""
RETRIES = 3


class NameTakenError(Exception):
    """Somebody else's job has the name that a policy's job would have."""


@dataclass(frozen=True)
class JobOrder:
    """A job that is to be made for a policy."""

    name: str
    """The same for whoever works it out, so that two leaders make one job."""
    kind: str
    """What it is for, in one word."""
    sql: str
    at: datetime
    """The time of which it is the run."""
    asked: str = ""
    """The word by which somebody asked for it."""
    changes: tuple[str, ...] = ()
    """The policy's fields that it carries out."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    retries: int = RETRIES
    priority: int = 0
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    """Settings beside those of its profile."""
    yields_for: timedelta = timedelta()
    """How long it leaves others ahead of it in the queue."""


class PolicyJobs:
    """Of one leader; what it creates carries its epoch."""

    def __init__(
        self,
        kube: Kube,
        world: ClusterCache,
        epochs: EpochPolicy,
        *,
        refused: Callable[[ApiError], None] = lambda _: None,
    ) -> None:
        """`refused`: is told of each create that the API server didn't carry out."""
        self._kube = kube
        self._world = world
        self._epochs = epochs
        self._refused = refused

    async def make(self, policy: Json, order: JobOrder) -> Json:
        """Makes the job, and returns it; the one that is there already, if it is this policy's. Raises SquattedError where it is
        somebody else's."""
        namespace = policy["metadata"]["namespace"]
        try:
            job = await self._create(policy, order)
        except ConflictError:
            job = await self._kube.get(JOBS, namespace, order.name)
            if policy_of(job) != uid_of(policy):
                raise NameTakenError(
                    f"DeltaWriteJob {namespace}/{order.name} is in the way: it is not of this policy, which would make one of that "
                    "name. Delete it, or copy it to another name"
                ) from None
        except ApiError as error:
            self._refused(error)
            raise
        else:
            logger.info("%s/%s: made for policy %s", namespace, order.name, policy["metadata"]["name"])
        self._world.job_seen(job)
        return job

    async def _create(self, policy: Json, order: JobOrder) -> Json:
        """A rebuild does not wait for it: what is refused because this leader has begun another epoch meanwhile is sent again."""
        namespace, epoch = policy["metadata"]["namespace"], self._epochs.epoch
        try:
            return await self._kube.create(JOBS, namespace, self._body(policy, order))
        except ApiError:
            if self._epochs.epoch == epoch:
                raise
        return await self._kube.create(JOBS, namespace, self._body(policy, order))

    async def remove(self, job: Json) -> None:
        """Deletes the job as it was seen, and no other: one that has begun meanwhile stays."""
        metadata = job["metadata"]
        seen = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        try:
            await self._kube.delete(JOBS, metadata["namespace"], metadata["name"], {"preconditions": seen})
        except NotFoundError:
            self._world.job_gone(metadata["uid"])

    def _body(self, policy: Json, order: JobOrder) -> Json:
        metadata, spec = policy["metadata"], policy["spec"]
        annotations = {
            names.ANNOTATION_RUN_AT: order.at.isoformat(),
            names.ANNOTATION_ASKED: order.asked,
            names.ANNOTATION_CHANGES: listed(order.changes),
            names.ANNOTATION_AGE_AFTER: f"{seconds}s"
            if (seconds := int(order.yields_for.total_seconds()))
            else "",
        }
        runtime = {"runtimeRef": spec["runtimeRef"]} if spec.get("runtimeRef") else {}
        parameters = {"parameters": dict(order.parameters)} if order.parameters else {}
        return {
            "apiVersion": names.API_VERSION,
            "kind": names.JOB_KIND,
            "metadata": {
                "name": order.name,
                "namespace": metadata["namespace"],
                "labels": {
                    names.LABEL_POLICY: label_of(metadata["name"]),
                    names.LABEL_POLICY_KIND: order.kind,
                },
                "annotations": {name: text for name, text in annotations.items() if text}
                | self._epochs.annotations,
                "ownerReferences": [
                    {
                        "apiVersion": names.API_VERSION,
                        "kind": names.POLICY_KIND,
                        "name": metadata["name"],
                        "uid": metadata["uid"],
                        "controller": True,
                        "blockOwnerDeletion": False,
                    }
                ],
            },
            "spec": {
                "sql": order.sql,
                "retry": {"limit": order.retries},
                "ttlSecondsAfterFinished": KEPT_SECONDS,
                **({"priority": order.priority} if order.priority else {}),
                **runtime,
                **parameters,
                **({"runtime": {"sparkConf": dict(order.spark_conf)}} if order.spark_conf else {}),
            },
        }
