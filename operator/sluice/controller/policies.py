"""The one writer of policies' statuses: beside the acting loop, so that no job waits for them, and only what differs.

A policy's trouble is that policy's: whatever fails on one is logged once, and tried again.
"""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any

from sluice.controller.leadership import Leadership
from sluice.controller.world import World
from sluice.kube.client import ApiError, ConflictError, Kube, NotFoundError
from sluice.kube.resources import POLICIES
from sluice.policies.status import patch_of, state_of

logger = logging.getLogger(__name__)

Json = dict[str, Any]

PAUSE = 1.0
AGAIN_SECONDS = 10.0


class PolicyStatuses:
    def __init__(self, kube: Kube, world: World, leadership: Leadership) -> None:
        self._kube = kube
        self._world = world
        self._leadership = leadership
        self._failing: dict[str, str] = {}
        """By uid: what was last logged of it."""

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
        """Whether each has the status now that it should have."""
        all_told = True
        for body in self._world.policies.values():
            if not self._leadership.leads():
                return False
            all_told &= await self._guarded(body)
        there = {body["metadata"]["uid"] for body in self._world.policies.values()}
        self._failing = {uid: said for uid, said in self._failing.items() if uid in there}
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
            self._log(uid, f"policy {_called(body)}: its status cannot be written: {error}; trying again")
        except Exception as error:
            if self._log(uid, f"policy {_called(body)}: the operator failed on its status: {error!r}"):
                logger.exception("policy %s: the operator failed on its status; trying again", _called(body))
        else:
            self._failing.pop(uid, None)
            return True
        return False

    async def _tell(self, body: Json) -> None:
        metadata = body["metadata"]
        state = state_of(body, self._world.policies_left_out.get(_called(body)))
        patch = patch_of(body, state, datetime.now(UTC))
        if not patch:
            return
        precondition = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        change = {"metadata": precondition, "status": patch}
        patched = await self._kube.patch(
            POLICIES, metadata["namespace"], metadata["name"], change, sub="status"
        )
        self._world.policy_seen(patched)

    def _log(self, uid: str, said: str) -> bool:
        """Whether it is news."""
        is_news = self._failing.get(uid) != said
        self._failing[uid] = said
        if is_news:
            logger.warning("%s", said)
        return is_news


def _called(body: Json) -> str:
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"
