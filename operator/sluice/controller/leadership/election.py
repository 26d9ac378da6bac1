"""One leader at a time, by a Lease object, which also keeps the epoch; the epoch rises with every rebuild.

A leader that cannot renew in time stops acting before another one may start. Only this process's own clock is used, one that
also counts while the machine is suspended: another's Lease is over when it has not changed for its whole duration since we
first saw it. The Lease says how long that is: longer, once the API server was seen to answer slowly.

What is awaited belongs to one event loop, which may run in another thread than the one that acts. All other calls answer from
one immutable snapshot, so that any thread may make them.
"""

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import ceil
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from sluice.api import names
from sluice.api.operator_status import OperatorConditionType
from sluice.controller.process.health import TURN_EVERY, Pulse, Stillness
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.controller.process.uptime import uptime
from sluice.kube.client import ApiError, ConflictError, Kube, NotFoundError
from sluice.kube.resources import LEASES
from sluice.leases import Epochs, number_in

logger = logging.getLogger(__name__)

DURATION = 10.0
LONGEST_DURATION = 60.0
_ANSWERS = 4.0
"""How many of the slowest answers a duration allows for: two of them lie between a renewal that counts and the end of the next
one."""
_KEPT = 0.7
"""The part of its duration for which a leader acts by a Lease; the rest makes sure that nobody else does yet."""
RENEW_EVERY = 2.5
RETRY_EVERY = 1.0
GIVE_UP_AFTER = _KEPT * DURATION
HANGS_AFTER = 5.0
"""Seconds without a turn of the acting loop after which its Lease is no longer renewed."""


class LostLeadershipError(Exception):
    """Another process leads."""


@dataclass(frozen=True)
class _Seen:
    """The Lease object as this process last wrote it, and whether it leads by it."""

    lease: dict[str, Any] = field(default_factory=dict)
    renewed: float = 0.0
    is_held: bool = False
    duration: float = DURATION
    """The duration that the others wait."""


class Election:
    def __init__(
        self,
        kube: Kube,
        conditions: OperatorConditions,
        namespace: str,
        deployment: str,
        *,
        turns: Callable[[], int],
        now: Callable[[], float] = uptime,
    ) -> None:
        """`turns` counts those of the loop that acts: a process whose loop stands still does not lead."""
        self._kube = kube
        self._conditions = conditions
        self._namespace = namespace
        self._name = names.leader_lease(deployment)
        self.identity = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:6]}"
        self._turns = turns
        self._now = now
        self._seen = _Seen()
        self._slowest_answer = 0.0
        """The duration since it asked for the lead. A Lease is never made shorter while it is held: whoever knows only the
        shorter duration would be ahead of a leader that acts by the longer one."""
        self._losing = threading.Lock()
        self._logged = ""
        self.pulse = Pulse()
        self.went_back = False
        """Whether the Lease was found as it had been before, and the lease table has not been rebuilt since."""
        self._counts = False

    def leads(self) -> bool:
        seen = self._seen
        return seen.is_held and self._now() - seen.renewed < _KEPT * seen.duration

    def rebuilt(self) -> None:
        """Notes that the lease table has been rebuilt: renewals are counted from now on. What Redis remembers of that count
        shows later whether the API server went back to an earlier state."""
        with self._losing:
            if (
                self._seen.is_held
            ):  # else what ended it came after the rebuild had begun, and isn't heeded yet
                self.went_back, self._counts = False, True

    @property
    def epoch(self) -> int:
        """The epoch; 0 if somebody wrote one that leaves none for later leaders."""
        return _epoch_in(self._seen.lease)

    @property
    def beat(self) -> int:
        return _number(self._seen.lease, names.ANNOTATION_BEAT)

    def annotation(self, name: str) -> str | None:
        """An annotation of the Lease object as it was last seen."""
        seen = self._seen
        return _annotations(seen.lease).get(name) if seen.is_held else None

    async def annotate(self, annotations: Mapping[str, str | None]) -> None:
        """Writes them, and removes those without a text, in one request."""
        await self._update(annotations=annotations)

    @property
    def lease(self) -> dict[str, Any]:
        """The Lease object as this process last wrote it; empty if it never has."""
        return self._seen.lease

    async def acquire(self) -> None:
        """Returns when this process leads."""
        seen_version, seen_at = "", self._now()
        whose, longest = "", 0.0
        while True:
            self.pulse.beat()
            try:
                asked = self._now()
                lease = await self._read_or_create()
                self._slowest_answer = self._now() - asked
                self._was_answered()
                holder = lease["spec"].get("holderIdentity") or ""
                version = lease["metadata"]["resourceVersion"]
                # Somebody may have written a shorter duration over the one by which the holder still acts.
                longest = max(longest if holder == whose else 0.0, _duration_of(lease))
                whose = holder
                if version != seen_version:
                    if holder not in ("", self.identity):
                        logger.info(
                            "%s leads; waiting until it lets go or is silent for %.0f s",
                            holder,
                            longest,
                        )
                    seen_version, seen_at = version, self._now()
                if holder in ("", self.identity) or self._now() - seen_at > longest:
                    self._counts = False
                    self._conditions.take_over(_conditions_in(lease))
                    self._seen = await self._write(lease, self.identity)
                    logger.info("leading as %s", self.identity)
                    return
            except ConflictError:
                continue
            except ApiError as error:
                self._cannot_ask("read or create", error)
            await asyncio.sleep(0.5)

    async def keep(self) -> None:
        """Renews until leadership is lost, then returns."""
        acting = Stillness(self._turns)
        due = self._seen.renewed + RENEW_EVERY
        try:
            while self.leads():
                await asyncio.sleep(TURN_EVERY)
                self.pulse.beat()
                still = acting.look()
                if still >= HANGS_AFTER:
                    self._lose()  # before it is said: if the other thread hangs in writing its log, so would this one
                    self._say_it_is_lost(f"the acting loop has not turned for {still:.0f} s")
                elif self._now() >= due:
                    asked = self._now()
                    due = asked + (RENEW_EVERY if await self._renew() else RETRY_EVERY)
        finally:
            self._lose()

    async def _renew(self) -> bool:
        """Renews; returns whether it need not be tried again soon."""
        try:
            await self._update()
        except LostLeadershipError as error:
            self._lose()
            self._say_it_is_lost(str(error))
        except NotFoundError:
            self._lose()
            self._say_it_is_lost("it is gone")
        except ApiError as error:
            self._cannot_ask("renew", error)
            return False
        else:
            self._was_answered()
        return True

    def _lose(self, *, went_back: bool = False) -> None:
        with self._losing:
            self._seen = replace(self._seen, is_held=False)
            self.went_back |= went_back

    def _say_it_is_lost(self, why: str) -> None:
        logger.warning(
            "leadership is lost: %s; the Lease %s/%s is no longer renewed", why, self._namespace, self._name
        )

    async def raise_epoch(self, at_least: int) -> int:
        """Returns a new epoch, higher than any that was ever seen."""
        return await self._update(at_least=at_least)

    async def _update(
        self, *, at_least: int | None = None, annotations: Mapping[str, str | None] | None = None
    ) -> int:
        """Renews, and raises the epoch if asked to. A conflict is another write of our own, or another leader's."""
        lease = self._seen.lease
        while True:
            if not self._seen.is_held:
                raise LostLeadershipError("it was not renewed in time")
            epoch = None if at_least is None else max(at_least, self.epoch, _epoch_in(lease)) + 1
            try:
                written = await self._write(lease, self.identity, epoch=epoch, more=annotations or {})
            except ConflictError:
                known = self.beat  # now: another write of ours may be answered before this question is
                lease = await self._kube.get(LEASES, self._namespace, self._name)
                holder = lease["spec"].get("holderIdentity")
                if holder != self.identity:
                    raise LostLeadershipError(f"{holder or 'nobody'} leads now") from None
                if _number(lease, names.ANNOTATION_BEAT) < known:
                    self._lose(went_back=True)
                    raise LostLeadershipError("the API server went back to an earlier state") from None
            else:
                if self._seen.is_held:  # else it was lost while this was under way
                    self._seen = max(self._seen, written, key=lambda seen: seen.renewed)
                    return self.epoch

    async def release(self) -> None:
        """Gives the Lease up, so that nobody has to wait for it to run out. It is read again first: the answer to one of our
        writes may have been lost."""
        self._lose()
        try:
            lease = await self._kube.get(LEASES, self._namespace, self._name)
            if lease["spec"].get("holderIdentity") == self.identity:
                await self._write(lease, "")
                logger.info("the Lease %s/%s was given up", self._namespace, self._name)
        except NotFoundError:
            pass
        except ApiError as error:
            logger.warning("cannot give up the Lease %s/%s: %s", self._namespace, self._name, error)

    def _was_answered(self) -> None:
        self._logged = ""
        self._conditions.holds(OperatorConditionType.API_SERVER_REACHABLE)

    def _cannot_ask(self, what: str, error: ApiError) -> None:
        """Handles a request that failed: it is tried again every few moments, and logged when the reason changes."""
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
                "apiVersion": LEASES.api_version,
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
    ) -> _Seen:
        annotations = {
            name: text for name, text in {**_annotations(lease), **more}.items() if text is not None
        }
        if self._counts and holder:
            annotations |= {names.ANNOTATION_BEAT: str(_number(lease, names.ANNOTATION_BEAT) + 1)}
        if epoch is not None:
            annotations = annotations | {names.ANNOTATION_EPOCH: str(epoch)}
        if self._conditions.all():
            annotations = annotations | {names.ANNOTATION_CONDITIONS: self._conditions.as_text()}
        asked, duration = self._now(), self._duration()
        written = await self._kube.replace(
            LEASES,
            self._namespace,
            self._name,
            lease
            | {
                "metadata": lease["metadata"] | {"annotations": annotations},
                "spec": lease["spec"]
                | {
                    "holderIdentity": holder,
                    "leaseDurationSeconds": duration,
                    "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                },
            },
        )
        self._slowest_answer = max(self._slowest_answer, self._now() - asked)
        return _Seen(written, asked, is_held=True, duration=duration)

    def _duration(self) -> int:
        """The duration that allows for answers as slow as the slowest one so far."""
        return ceil(min(max(DURATION, _ANSWERS * self._slowest_answer), LONGEST_DURATION))


def _duration_of(lease: dict[str, Any]) -> float:
    """The duration that its holder wrote; the holder acts by no shorter one than the usual, and by no longer one than the
    longest."""
    given = lease["spec"].get("leaseDurationSeconds")
    return min(max(DURATION, given), LONGEST_DURATION) if type(given) is int else LONGEST_DURATION


def _annotations(lease: dict[str, Any]) -> dict[str, str]:
    return (lease.get("metadata") or {}).get("annotations") or {}


def _epoch_in(lease: dict[str, Any]) -> int:
    return _number(lease, names.ANNOTATION_EPOCH, most=Epochs.LAST)


def _number(lease: dict[str, Any], name: str, **most: int) -> int:
    """The number; 0 if somebody has written anything else there: whoever counts on from it compares with what Redis remembers."""
    return number_in(_annotations(lease).get(name), **most) or 0


def _conditions_in(lease: dict[str, Any]) -> str:
    return str(lease["metadata"].get("annotations", {}).get(names.ANNOTATION_CONDITIONS, ""))
