"""Events: a few a job's life, and the transitions of the operator's conditions. One of a job that cannot be written is logged,
never waited for."""

import logging
from datetime import UTC, datetime
from typing import Any
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
        about = {
            "apiVersion": names.API_VERSION,
            "kind": names.JOB_KIND,
            "namespace": job.namespace,
            "name": job.name,
            "uid": job.uid,
        }
        try:
            await self._create(about, reason, message, datetime.now(UTC), warning=warning)
        except ApiError as error:
            logger.warning("%s: event %s could not be written: %s", job.key, reason, error)

    async def tell_of_lease(
        self, lease: dict[str, Any], reason: str, message: str, *, since: datetime, warning: bool
    ) -> bool:
        """Whether nothing is left to be told: it is written, or the API server refuses it for good."""
        metadata = lease["metadata"]
        about = {
            "apiVersion": lease["apiVersion"],
            "kind": lease["kind"],
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        try:
            await self._create(about, reason, message, since, warning=warning)
        except ApiError as error:
            logger.warning("Lease %s: event %s could not be written: %s", metadata["name"], reason, error)
            return error.is_definite
        return True

    async def _create(
        self, about: dict[str, str], reason: str, message: str, when: datetime, *, warning: bool
    ) -> None:
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{about['name'][:200]}.{uuid4().hex[:16]}",
                "namespace": about["namespace"],
            },
            "involvedObject": about,
            "type": "Warning" if warning else "Normal",
            "reason": reason,
            "message": message[:1024],
            "source": {"component": "sluice"},
            "reportingComponent": "sluice.dev/operator",
            "reportingInstance": self._identity[:128],
            "action": reason,
            "eventTime": when.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "firstTimestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lastTimestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "count": 1,
        }
        await self._kube.create(EVENTS, about["namespace"], event)
