"""Events: a few a job's life, for `kubectl describe`. One that cannot be written is logged, never waited for."""

import logging
from datetime import UTC, datetime
from uuid import uuid4

from sluice.api import names
from sluice.kube.client import ApiError, Kube
from sluice.kube.resources import EVENTS
from sluice.lifecycle.job import JobView

logger = logging.getLogger(__name__)


class EventWriter:
    def __init__(self, kube: Kube, identity: str) -> None:
        self._kube = kube
        self._identity = identity

    async def tell(self, job: JobView, reason: str, message: str, *, warning: bool = False) -> None:
        now = datetime.now(UTC)
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{job.name[:200]}.{uuid4().hex[:16]}", "namespace": job.namespace},
            "involvedObject": {
                "apiVersion": names.API_VERSION,
                "kind": names.JOB_KIND,
                "namespace": job.namespace,
                "name": job.name,
                "uid": job.uid,
            },
            "type": "Warning" if warning else "Normal",
            "reason": reason,
            "message": message[:1024],
            "source": {"component": "sluice"},
            "reportingComponent": "sluice.dev/operator",
            "reportingInstance": self._identity[:128],
            "action": reason,
            "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "firstTimestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lastTimestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "count": 1,
        }
        try:
            await self._kube.create(EVENTS, job.namespace, event)
        except ApiError as error:
            logger.warning("%s: event %s could not be written: %s", job.key, reason, error)
