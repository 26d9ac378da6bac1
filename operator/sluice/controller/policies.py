"""The one writer of policies' statuses: it runs beside the acting loop, so that no job waits for it, and writes only what
differs.

A policy's trouble stays with that policy: whatever fails for one is logged once, and tried again.
"""

import asyncio
import logging
from datetime import UTC, datetime

from sluice.api.base import Json
from sluice.controller.leadership import Leadership
from sluice.controller.news import News
from sluice.controller.world import World
from sluice.kube.client import ApiError, ConflictError, Kube, NotFoundError
from sluice.kube.resources import POLICIES
from sluice.policies.status import patch_of, state_of

logger = logging.getLogger(__name__)

PAUSE = 1.0
AGAIN_SECONDS = 10.0


class PolicyStatuses:
    def __init__(self, kube: Kube, world: World, leadership: Leadership) -> None:
        self._kube = kube
        self._world = world
        self._leadership = leadership
        self._failing = News()

    async def run(self) -> None:
        told = 0
        while True:
            heeded = self._world.policies_heeded
            if told == heeded:
                await asyncio.sleep(PAUSE)
            elif await self.tell():
                told = heeded
            else:
                await asyncio.sleep(AGAIN_SECONDS)

    async def tell(self) -> bool:
        """Writes the statuses; returns whether each policy now has the one that it should have."""
        all_told = True
        for body in self._world.policies.values():
            if not self._leadership.leads():
                return False
            all_told &= await self._guarded(body)
        there = {body["metadata"]["uid"] for body in self._world.policies.values()}
        self._failing.forget_unless(there.__contains__)
        return all_told

    async def _guarded(self, body: Json) -> bool:
        uid = body["metadata"]["uid"]
        try:
            await self._tell(body)
        except NotFoundError:
            return True  # gone
        except ConflictError:
            pass  # changed since it was seen
        except ApiError as error:
            self._log(uid, f"policy {called(body)}: its status cannot be written: {error}; trying again")
        except Exception as error:
            if self._log(uid, f"policy {called(body)}: the operator failed on its status: {error!r}"):
                logger.exception("policy %s: the operator failed on its status; trying again", called(body))
        else:
            self._failing.forget(uid)
            return True
        return False

    async def _tell(self, body: Json) -> None:
        state = state_of(body, self._world.policies_left_out.get(called(body)))
        await self.write(body, patch_of(body, state, datetime.now(UTC)))

    async def write(self, body: Json, patch: Json) -> Json:
        """Changes these fields of the status of the policy, which is still as it was seen, and returns it. Raises ConflictError
        where it was changed since."""
        if not patch:
            return body
        metadata = body["metadata"]
        precondition = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        change = {"metadata": precondition, "status": patch}
        patched = await self._kube.patch(
            POLICIES, metadata["namespace"], metadata["name"], change, sub="status"
        )
        self._world.policy_seen(patched)
        return patched

    def _log(self, uid: str, said: str) -> bool:
        """Whether it is news."""
        is_news = self._failing.is_news(uid, said)
        if is_news:
            logger.warning("%s", said)
        return is_news


def called(body: Json) -> str:
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"
