"""The one writer of policies' statuses: it runs beside the acting loop, so that no job waits for it, and writes only what
differs.

A policy's trouble stays with that policy: whatever fails for one is logged once, and tried again.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial

from sluice.api.base import Json
from sluice.controller.cache.change_deduplication import ChangeDeduplication
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.cache.run_reports import Reported
from sluice.controller.leadership.election import Election
from sluice.controller.policy_work.table_observations import TableObservations
from sluice.delta.version import Version
from sluice.kube.client import ApiError, ConflictError, Kube, NotFoundError
from sluice.kube.mirror import uid_of
from sluice.kube.resources import POLICIES
from sluice.lifecycle.evidence.table_writers import writers_of
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.policies.conditions import LeftOut, Seen, spec_of, state_of
from sluice.policies.status import patch_of
from sluice.tables import key_of_name, keys_of
from sluice.tables.dialect import oss
from sluice.tables.reported_names import NameReport

logger = logging.getLogger(__name__)

PAUSE = 1.0
AGAIN_SECONDS = 10.0

_Heeded = tuple[str, LeftOut | None, NameReport | None]
"""A policy's version, whether it counts, and where runs found its name to lead: what changes of others lead to."""


class PolicyStatuses:
    def __init__(
        self,
        kube: Kube,
        world: ClusterCache,
        leadership: Election,
        *,
        looks: TableObservations,
        neighbours: VisibleBlockers,
    ) -> None:
        self._kube = kube
        self._world = world
        self._leadership = leadership
        self.looks = looks
        self._neighbours = neighbours
        self._failing = ChangeDeduplication()
        self._marked: set[str] = set()
        """Uids of policies that are to be told anew."""
        looks.listen(self.mark)
        self.written = 0
        """Statuses that were written since the beginning."""

    def mark(self, uid: str) -> None:
        """Has the status of this policy written anew, if it should say something else by now."""
        self._marked.add(uid)

    async def run(self) -> None:
        heeded, again_at = -1, 0.0
        known: dict[str, _Heeded] = {}
        failed: set[str] = set()
        while True:
            if heeded != self._world.policies_heeded:
                heeded = self._world.policies_heeded
                before, known = known, self._heeded()
                self._marked.update(uid for uid, one in known.items() if before.get(uid) != one)
            if failed and time.monotonic() >= again_at:
                self._marked |= failed
                failed = set()
            marked, self._marked = self._marked, set()
            still_failing = await self.tell(marked)
            if still_failing:
                failed |= still_failing
                again_at = time.monotonic() + AGAIN_SECONDS
            await asyncio.sleep(PAUSE)

    def _heeded(self) -> dict[str, _Heeded]:
        left_out = self._world.policies_left_out
        return {
            uid_of(body): (
                str(body["metadata"]["resourceVersion"]),
                left_out.get(called(body)),
                self._led(body),
            )
            for body in self._world.policies.values()
        }

    async def tell(self, uids: Iterable[str]) -> set[str]:
        """Writes the statuses of these policies; returns which don't have the one that they should have."""
        failed = set()
        for uid in uids:
            await asyncio.sleep(0)  # the acting loop has its turn between any two of them
            body = self._world.policies.by_uid(uid)
            if not self._leadership.leads():
                failed.add(uid)
            elif body is None:
                self._failing.forget(uid)
            elif not await self._guarded(body):
                failed.add(uid)
        return failed

    async def _guarded(self, body: Json) -> bool:
        uid = body["metadata"]["uid"]
        try:
            await self._tell(body)
        except NotFoundError:
            return True  # gone
        except ConflictError:
            self._marked.add(uid)  # changed since it was seen
            return True
        except ApiError as error:
            self._failing.warns(
                logger, uid, f"policy {called(body)}: its status cannot be written: {error}; trying again"
            )
        except Exception as error:
            if self._failing.warns(
                logger, uid, f"policy {called(body)}: the operator failed on its status: {error!r}"
            ):
                logger.exception("policy %s: the operator failed on its status; trying again", called(body))
        else:
            self._failing.forget(uid)
            return True
        return False

    async def _tell(self, body: Json) -> None:
        state = state_of(body, self._world.policies_left_out.get(called(body)), self._seen(body))
        if state is not None:
            await self._write(body, patch_of(body, state, datetime.now(UTC)))

    def _seen(self, body: Json) -> Seen:
        uid, namespace = uid_of(body), body["metadata"]["namespace"]
        key = self.looks.key_of(uid)
        ran = None if key is None else self._world.reports.newest(key.text)
        named = partial(self._neighbours.called, by=namespace)
        look = self.looks.of(uid)
        holds = look is not None and look.state.holds is not None
        return Seen(
            look=look,
            is_written=holds and any(writers_of(key, self._world.jobs.values())),
            version=self._delta_of(body),
            conflicts=0 if key is None else self._world.reports.conflicts(key.text, datetime.now(UTC)),
            ran=None if ran is None else _in_words(ran, named),
            elsewhere=self._elsewhere(body, named),
            named=named,
            profiles=self._world.profiles.keys(),
        )

    def _elsewhere(self, body: Json, named: Callable[[str], str]) -> str | None:
        """Where the newest run found the name to lead that this policy binds, if that is another place."""
        led, spec = self._led(body), spec_of(body)
        location = None if spec is None else keys_of(None, spec.table.path)[1]
        if led is None or location is None or led.table == location:
            return None
        return (
            f"{named(led.job)} reported at {led.at:%Y-%m-%dT%H:%M:%SZ} that the name leads to {led.table} in its catalog, and this "
            f"policy binds it to {location}: correct the policy's path, or the table's location in the catalog"
        )

    def _led(self, body: Json) -> NameReport | None:
        """Where the newest run found the policy's name to lead."""
        spec = body.get("spec")
        table = spec.get("table") if isinstance(spec, dict) else None
        name = table.get("name") if isinstance(table, dict) else None
        return self._world.reported_names.of_name(key_of_name(name)) if isinstance(name, str) else None

    def _delta_of(self, body: Json) -> Version | None:
        """The version of Delta that the policy's own jobs run."""
        spec = body.get("spec")
        name = spec.get("runtimeRef") if isinstance(spec, dict) else None
        profile = self._world.profiles.get(name or "default")
        return None if profile is None else oss(profile.delta_version).version

    async def write(self, body: Json, patch: Json) -> Json:
        """Changes these fields of the status of the policy, which is still as it was seen, and returns it. Raises ConflictError
        where it was changed since."""
        written = await self._write(body, patch)
        if patch:
            self._marked.add(uid_of(body))  # what is kept there may tell how it stands
        return written

    async def _write(self, body: Json, patch: Json) -> Json:
        if not patch:
            return body
        metadata = body["metadata"]
        precondition = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        change = {"metadata": precondition, "status": patch}
        patched = await self._kube.patch(
            POLICIES, metadata["namespace"], metadata["name"], change, sub="status"
        )
        self.written += 1
        self._world.policy_seen(patched)
        return patched


def _in_words(ran: Reported, named: Callable[[str], str]) -> str:
    return f"{named(ran.job)} reported at {ran.at:%Y-%m-%dT%H:%M:%SZ} that it had made version {ran.version}"


def called(body: Json) -> str:
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"
