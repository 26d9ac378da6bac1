"""Goes round the policies, beside the acting loop and on the leader alone: each is visited when something of it, of its jobs or of
what was seen of its table has changed, and when it is due again.

A policy's trouble stays with that policy: it is logged once, and tried again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from sluice.api.base import Json
from sluice.controller.cache.change_deduplication import ChangeDeduplication
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.leadership.election import Election
from sluice.controller.policy_work.policy_status import called
from sluice.controller.policy_work.table_observations import TableObservations
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from sluice.kube.mirror import uid_of
from sluice.policies.conditions import LeftOut

logger = logging.getLogger(__name__)

PAUSE = 1.0
AT_MOST = timedelta(seconds=30)
"""So long it lasts until a policy is visited again of which nothing seems to have changed."""

Visit = Callable[[Json, datetime], Awaitable[datetime | None]]
"""Does what is to be done for a policy now; returns when there is something to be done again, if that is known."""


@dataclass(frozen=True)
class _Seen:
    """What a policy was last visited by, and when it is visited again though none of it differs."""

    version: str
    left_out: LeftOut | None
    jobs: int
    look: datetime | None
    until: datetime


class PolicyReconciler:
    def __init__(
        self,
        visit: Visit,
        what: str,
        *,
        world: ClusterCache,
        looks: TableObservations,
        leadership: Election,
        has_listed: Callable[[], bool],
    ) -> None:
        """`what`: is done, for people. `has_listed`: whether it is known which jobs there are."""
        self._visit = visit
        self._what = what
        self._world = world
        self._looks = looks
        self._leadership = leadership
        self._has_listed = has_listed
        self._seen: dict[str, _Seen] = {}
        self._failing = ChangeDeduplication()

    async def run(self) -> None:
        while True:
            await self.turn(datetime.now(UTC))
            await asyncio.sleep(PAUSE)

    async def turn(self, now: datetime) -> None:
        uids = dict.fromkeys(uid_of(body) for body in self._world.policies.values())
        for uid in uids:
            if not self._leadership.leads() or not self._has_listed() or self._world.is_of_the_past:
                return
            body, seen = self._world.policies.by_uid(uid), self._seen.get(uid)
            if body is None:
                continue
            if seen is None or now >= seen.until or seen != self._sight(body, seen.until):
                await self._guarded(body, now)
                await asyncio.sleep(0)  # the acting loop has its turn between any two of them
        self._seen = {uid: seen for uid, seen in self._seen.items() if uid in uids}
        self._failing.forget_unless(uids.__contains__)

    def _sight(self, body: Json, until: datetime) -> _Seen:
        look = self._looks.of(uid_of(body))
        return _Seen(
            str(body["metadata"]["resourceVersion"]),
            self._world.policies_left_out.get(called(body)),
            self._world.of_policies.changes(body),
            None if look is None else look.at,
            until,
        )

    async def _guarded(self, body: Json, now: datetime) -> None:
        uid = uid_of(body)
        sight, until = self._sight(body, now), now + AT_MOST
        try:
            due = await self._visit(body, now)
            until = until if due is None else min(until, due)
        except (NotFoundError, ConflictError):
            return  # it is gone, or was changed since it was seen, and is seen again
        except ApiError as error:
            self._failing.warns(
                logger, uid, f"policy {called(body)}: {self._what} cannot go on: {error}; trying again"
            )
        except Exception as error:
            if self._failing.warns(
                logger, uid, f"policy {called(body)}: the operator failed on {self._what}: {error!r}"
            ):
                logger.exception("policy %s: the operator failed on %s", called(body), self._what)
        else:
            self._failing.forget(uid)
        self._seen[uid] = replace(sight, until=until)
