"""One leader at a time, by a Lease object, which also keeps the epoch: it rises by one with every takeover.

A leader that cannot renew in time stops acting before another one may start. Only this process's own clock is
used: another's Lease is over when it has not changed for its whole duration while we watched.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from sluice.api import names
from sluice.api.operator_status import OperatorConditionType
from sluice.controller.conditions import Conditions
from sluice.controller.health import Pulse
from sluice.kube.client import ApiError, ConflictError, Kube, NotFoundError
from sluice.kube.resources import LEASES
from sluice.leases import Epochs

logger = logging.getLogger(__name__)

DURATION = 10.0
RENEW_EVERY = 2.5
GIVE_UP_AFTER = 7.0


class LostLeadershipError(Exception):
    """Another process leads."""


class Leadership:
    def __init__(self, kube: Kube, conditions: Conditions, namespace: str, deployment: str) -> None:
        self._kube = kube
        self._conditions = conditions
        self._namespace = namespace
        self._name = names.leader_lease(deployment)
        self.identity = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:6]}"
        self._lease: dict[str, Any] = {}
        self._renewed = 0.0
        self._logged = ""
        self.pulse = Pulse()
        self.went_back = False
        """Whether the Lease was found as it had been before, and the lease table wasn't rebuilt since."""
        self.counts = False
        """Whether its renewals are counted: once the lease table is rebuilt. What Redis remembers of that count tells later
        whether the API server went back to an earlier state."""

    def leads(self) -> bool:
        return bool(self._lease) and time.monotonic() - self._renewed < GIVE_UP_AFTER

    @property
    def epoch(self) -> int:
        """0 if somebody wrote one that leaves none for those to come."""
        found = _number(self._lease, names.ANNOTATION_EPOCH)
        return found if found <= Epochs.LAST else 0

    @property
    def beat(self) -> int:
        return _number(self._lease, names.ANNOTATION_BEAT)

    def annotation(self, name: str) -> str | None:
        """Of the Lease object as it was last seen."""
        return _annotations(self._lease).get(name) if self._lease else None

    async def annotate(self, name: str, text: str | None, *, without: str) -> None:
        """Writes the one annotation, and takes the other one off."""
        await self._update(annotations={name: text, without: None})

    @property
    def lease(self) -> dict[str, Any]:
        """The Lease object as this process last wrote it; empty if it doesn't lead."""
        return self._lease

    async def acquire(self) -> None:
        """Returns when this process leads."""
        seen_version, seen_at = "", time.monotonic()
        while True:
            self.pulse.beat()
            try:
                lease = await self._read_or_create()
                self._was_answered()
                holder = lease["spec"].get("holderIdentity") or ""
                version = lease["metadata"]["resourceVersion"]
                if version != seen_version:
                    if holder not in ("", self.identity):
                        logger.info(
                            "%s leads; waiting until it lets go or is silent for %.0f s", holder, DURATION
                        )
                    seen_version, seen_at = version, time.monotonic()
                if holder in ("", self.identity) or time.monotonic() - seen_at > DURATION:
                    self.counts = False
                    self._conditions.take_over(_conditions_in(lease))
                    await self._write(lease, self.identity)
                    logger.info("leading as %s", self.identity)
                    return
            except ConflictError:
                continue
            except ApiError as error:
                self._cannot_ask("read or create", error)
            await asyncio.sleep(0.5)

    async def keep(self) -> None:
        """Renews until leadership is lost, then returns."""
        while self.leads():
            await asyncio.sleep(RENEW_EVERY)
            self.pulse.beat()
            try:
                await self._update()
            except LostLeadershipError as error:
                logger.warning("leadership is lost: %s", error)
                break
            except NotFoundError:
                logger.warning("leadership is lost: the Lease %s/%s is gone", self._namespace, self._name)
                break
            except ApiError as error:
                self._cannot_ask("renew", error)
            else:
                self._was_answered()
        self._lease = {}

    async def raise_epoch(self, at_least: int) -> int:
        """A new epoch, higher than every one that was ever seen."""
        return await self._update(at_least=at_least)

    async def _update(
        self, *, at_least: int | None = None, annotations: Mapping[str, str | None] | None = None
    ) -> int:
        """Renews, and raises the epoch if asked to. A conflict is our own other write, or another leader's."""
        while True:
            if not self._lease:
                raise LostLeadershipError("it was not renewed in time")
            epoch = None if at_least is None else max(at_least, self.epoch) + 1
            try:
                await self._write(self._lease, self.identity, epoch=epoch, more=annotations or {})
            except ConflictError:
                current = await self._kube.get(LEASES, self._namespace, self._name)
                if current["spec"].get("holderIdentity") != self.identity:
                    raise LostLeadershipError(f"{current['spec'].get('holderIdentity')} leads now") from None
                if _number(current, names.ANNOTATION_BEAT) < self.beat:
                    self.went_back = True
                    raise LostLeadershipError("the API server went back to an earlier state") from None
                self._lease = current
            else:
                return self.epoch

    async def release(self) -> None:
        """Nobody has to wait for its end then. It is asked for anew: the answer to a write of ours may have been lost."""
        self._lease = {}
        try:
            lease = await self._kube.get(LEASES, self._namespace, self._name)
            if lease["spec"].get("holderIdentity") == self.identity:
                await self._write(lease, "")
                logger.info("the Lease %s/%s is given up", self._namespace, self._name)
        except NotFoundError:
            pass
        except ApiError as error:
            logger.warning("cannot give up the Lease %s/%s: %s", self._namespace, self._name, error)
        self._lease = {}

    def _was_answered(self) -> None:
        self._logged = ""
        self._conditions.holds(OperatorConditionType.API_SERVER_REACHABLE)

    def _cannot_ask(self, what: str, error: ApiError) -> None:
        """It is tried again every few moments, and logged when something else is the matter."""
        if self._logged != str(error):
            logger.warning(
                "cannot %s the Lease %s/%s: %s; trying again", what, self._namespace, self._name, error
            )
        self._logged = str(error)
        reason = error.reason or "NoAnswer"
        message = f"the Lease {self._namespace}/{self._name} cannot be written: {error}"
        self._conditions.fails(OperatorConditionType.API_SERVER_REACHABLE, reason, message)

    async def _read_or_create(self) -> dict[str, Any]:
        try:
            return await self._kube.get(LEASES, self._namespace, self._name)
        except NotFoundError:
            body = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": self._name, "namespace": self._namespace},
                "spec": {"holderIdentity": "", "leaseDurationSeconds": int(DURATION)},
            }
            return await self._kube.create(LEASES, self._namespace, body)

    async def _write(
        self,
        lease: dict[str, Any],
        holder: str,
        *,
        epoch: int | None = None,
        more: Mapping[str, str | None] = MappingProxyType({}),
    ) -> None:
        annotations = {
            name: text for name, text in {**_annotations(lease), **more}.items() if text is not None
        }
        if self.counts and holder:
            annotations |= {names.ANNOTATION_BEAT: str(_number(lease, names.ANNOTATION_BEAT) + 1)}
        if epoch is not None:
            annotations = annotations | {names.ANNOTATION_EPOCH: str(epoch)}
        if self._conditions.all():
            annotations = annotations | {names.ANNOTATION_CONDITIONS: self._conditions.as_text()}
        asked = time.monotonic()
        self._lease = await self._kube.replace(
            LEASES,
            self._namespace,
            self._name,
            lease
            | {
                "metadata": lease["metadata"] | {"annotations": annotations},
                "spec": lease["spec"]
                | {
                    "holderIdentity": holder,
                    "leaseDurationSeconds": int(DURATION),
                    "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                },
            },
        )
        self._renewed = asked


def _annotations(lease: dict[str, Any]) -> dict[str, str]:
    return lease["metadata"].get("annotations") or {}


def _number(lease: dict[str, Any], name: str) -> int:
    """0 also if somebody has written anything else there: who counts on compares with what Redis remembers."""
    text = _annotations(lease).get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _conditions_in(lease: dict[str, Any]) -> str:
    return str(lease["metadata"].get("annotations", {}).get(names.ANNOTATION_CONDITIONS, ""))
