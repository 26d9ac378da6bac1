"""Events: a few in a job's life and in a policy's, and the transitions of the operator's conditions.

Events of jobs and policies are queued and forgotten: whoever acts does not wait for them, and what they say is in the object's
status, too. One task writes them one after another, so that those of one object keep their order.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import uuid4

from sluice.api import names
from sluice.api.base import Json
from sluice.api.reasons import EventReason
from sluice.kube.client import ApiError, Kube
from sluice.kube.rate_limit import RateLimit
from sluice.kube.resources import EVENTS
from sluice.lifecycle.job.job_view import JobView

logger = logging.getLogger(__name__)

MOST_WAITING = 10_000
A_SECOND = 50.0
"""Few enough to leave nearly the whole API server, and this process, to what jobs wait for."""
AT_ONCE = 100
LAST_SECONDS = 3.0
"""Seconds for what is left to be written when the operator stops."""
MESSAGE = 1024
"""Characters that the API server takes."""
LOGGED_EACH = 1000
"""How many dropped Events one log line stands for."""


@dataclass(frozen=True, slots=True)
class _Told:
    about: dict[str, str]
    reason: str
    message: str
    when: datetime
    warning: bool


class EventWriter:
    def __init__(self, kube: Kube, identity: str, dropped: Callable[[], None] = lambda: None) -> None:
        self._kube = kube
        self._identity = identity
        self._waiting: asyncio.Queue[_Told] = asyncio.Queue(MOST_WAITING)
        self._pace = RateLimit(A_SECOND, AT_ONCE)
        self._count = dropped
        self._dropped = 0
        self._written = count(1)

    async def tell(self, job: JobView, reason: EventReason, message: str, *, warning: bool = False) -> None:
        """Queues the event and returns at once."""
        self._queue(names.JOB_KIND, job.body, reason, message, warning=warning)

    async def tell_of_policy(
        self, policy: Json, reason: EventReason, message: str, *, warning: bool = False
    ) -> None:
        """The same for a policy."""
        self._queue(names.POLICY_KIND, policy, reason, message, warning=warning)

    def _queue(self, kind: str, body: Json, reason: EventReason, message: str, *, warning: bool) -> None:
        about = {"apiVersion": names.API_VERSION, "kind": kind}
        about |= {name: str(body["metadata"][name]) for name in ("namespace", "name", "uid")}
        told = _Told(about, reason.value, message[:MESSAGE], datetime.now(UTC), warning)
        try:
            self._waiting.put_nowait(told)
        except asyncio.QueueFull:
            self._drop(told, f"{MOST_WAITING} wait to be written")

    async def run(self) -> None:
        """Writes what is queued, until it is cancelled."""
        while True:
            told = await self._waiting.get()
            await self._write(told)
            await asyncio.sleep(self._pace.reserve())

    async def finish(self) -> None:
        """Writes what is left, as far as there is time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                while not self._waiting.empty():
                    await self._write(self._waiting.get_nowait())

    async def _write(self, told: _Told) -> None:
        try:
            await self._create(told.about, told.reason, told.message, told.when, warning=told.warning)
        except ApiError as error:
            self._drop(told, str(error))
        except Exception as error:
            logger.exception("the operator failed on an Event of %s", _called(told))
            self._drop(told, repr(error))

    def _drop(self, told: _Told, why: str) -> None:
        self._count()
        if self._dropped % LOGGED_EACH == 0:
            logger.warning(
                "%s: event %s could not be written: %s (%d others before)",
                _called(told),
                told.reason,
                why,
                self._dropped,
            )
        self._dropped += 1

    async def tell_of_lease(
        self, lease: dict[str, Any], reason: str, message: str, *, since: datetime, warning: bool
    ) -> bool:
        """Returns whether nothing is left to be written: it is written, or the API server has refused it for good."""
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
                "name": f"{about['name'][:200]}.{_moment(when)}{next(self._written):06x}{uuid4().hex[:6]}",
                "namespace": about["namespace"],
            },
            "involvedObject": about,
            "type": "Warning" if warning else "Normal",
            "reason": reason,
            "message": message[:MESSAGE],
            "source": {"component": "sluice"},
            "reportingComponent": names.REPORTING_COMPONENT,
            "reportingInstance": self._identity[:128],
            "action": reason,
            "eventTime": when.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "firstTimestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lastTimestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "count": 1,
        }
        await self._kube.create(EVENTS, about["namespace"], event)


def _moment(when: datetime) -> str:
    """A name begins with it: kubectl shows what happens within one second in the order of names."""
    return f"{int(when.timestamp() * 1_000_000):014x}"


def _called(told: _Told) -> str:
    return f"{told.about['kind']} {told.about['namespace']}/{told.about['name']}"
