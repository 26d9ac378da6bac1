"""Has policies' maintenance done: looks at each policy when something of it changed and when its next run is due, and writes into
its status what was decided.

It runs beside the acting loop, on the leader alone, and `policies/` decides. A job has its name from its run, so that two leaders
make one; what is decided is written once the job is there, so that no run is forgotten between the two.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pydantic import ValidationError

from sluice.api import names
from sluice.api.base import Json
from sluice.api.maintenance_status import MaintenanceState, MaintenanceStates
from sluice.api.policy import DeltaTablePolicySpec
from sluice.api.reasons import EventReason
from sluice.controller.events import EventWriter
from sluice.controller.leadership import Leadership
from sluice.controller.maintenance_runs import Due, MaintenanceRuns
from sluice.controller.news import News
from sluice.controller.policies import PolicyStatuses, called
from sluice.controller.policy_jobs import PolicyJobs
from sluice.controller.policy_looks import PolicyLooks
from sluice.controller.world import World
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from sluice.kube.mirror import uid_of
from sluice.lifecycle.neighbours import Neighbours
from sluice.policies.by_hand import Asked, NotAsked, asked_for
from sluice.policies.kept import kept_in, known_of, patch_of_maintenance, state_after
from sluice.policies.maintenance import planned
from sluice.policies.upkeep import Upkeeps, upkeeps_of

logger = logging.getLogger(__name__)

PAUSE = 1.0
AT_MOST = timedelta(seconds=30)
"""So long it lasts until a policy is looked at again of which nothing seems to have changed: writers end, and clocks are set."""


@dataclass(frozen=True)
class _Seen:
    """What was last decided from, and when it is to be decided again though none of it differs."""

    version: str
    jobs: int
    look: datetime | None
    until: datetime


@dataclass(frozen=True)
class _Wanted:
    generation: int
    spec: DeltaTablePolicySpec | None
    """None: it is not understood, and does not count."""
    upkeeps: Upkeeps


class MaintenanceOfPolicies:
    def __init__(
        self,
        *,
        world: World,
        looks: PolicyLooks,
        jobs: PolicyJobs,
        statuses: PolicyStatuses,
        events: EventWriter,
        leadership: Leadership,
        neighbours: Neighbours,
        has_listed: Callable[[], bool],
    ) -> None:
        self._world = world
        self._looks = looks
        self._jobs = jobs
        self._runs = MaintenanceRuns(
            world=world, looks=looks, jobs=jobs, events=events, neighbours=neighbours
        )
        self._statuses = statuses
        self._events = events
        self._leadership = leadership
        self._has_listed = has_listed
        """Whether it is known which jobs there are."""
        self._wanted: dict[str, _Wanted] = {}
        self._seen: dict[str, _Seen] = {}
        self._failing = News()

    async def run(self) -> None:
        while True:
            await self.turn(datetime.now(UTC))
            await asyncio.sleep(PAUSE)

    async def turn(self, now: datetime) -> None:
        bodies = list(self._world.policies.values())
        for body in bodies:
            if not self._leadership.leads() or not self._has_listed() or self._world.is_of_the_past:
                return
            if self._is_to_be_looked_at(body, now):
                await self._guarded(body, now)
        self._forget_unless({uid_of(body) for body in bodies})

    def _is_to_be_looked_at(self, body: Json, now: datetime) -> bool:
        seen = self._seen.get(uid_of(body))
        return seen is None or now >= seen.until or seen != self._sight(body, seen.until)

    def _sight(self, body: Json, until: datetime) -> _Seen:
        uid = uid_of(body)
        look = self._looks.of(uid)
        version = str(body["metadata"]["resourceVersion"])
        return _Seen(version, self._world.of_policies.changes(uid), None if look is None else look.at, until)

    async def _guarded(self, body: Json, now: datetime) -> None:
        """A policy's trouble stays with that policy: it is logged once, and tried again."""
        uid = uid_of(body)
        sight, until = self._sight(body, now), now + AT_MOST
        try:
            until = min(until, *await self._keep(body, now))
        except NotFoundError:
            pass  # it is gone
        except ConflictError:
            return  # it was changed since it was seen
        except ApiError as error:
            self._log(uid, f"policy {called(body)}: its maintenance cannot go on: {error}; trying again")
        except Exception as error:
            if self._log(uid, f"policy {called(body)}: the operator failed on its maintenance: {error!r}"):
                logger.exception("policy %s: the operator failed on its maintenance", called(body))
        else:
            self._failing.forget(uid)
        self._seen[uid] = replace(sight, until=until)

    async def _keep(self, body: Json, now: datetime) -> tuple[datetime, ...]:
        """Does what is due now; returns when there is something due again."""
        wanted = self._as_wanted(body)
        if wanted.spec is None or called(body) in self._world.policies_left_out:
            return ()
        before = kept_in(body)
        said = (body["metadata"].get("annotations") or {}).get(names.ANNOTATION_RUN)
        asked = asked_for(said, before.asked, wanted.upkeeps.by_kind)
        heeded, left_out, gone, again = before.asked, list[str](), list[str](), list[datetime]()
        if isinstance(asked, NotAsked):
            heeded = asked.word
            left_out.append(asked.why)
        states: dict[str, MaintenanceState] = {}
        for kind, upkeep in wanted.upkeeps.by_kind.items():
            state = getattr(before, kind)
            word = asked.word if isinstance(asked, Asked) and asked.kind is kind else None
            known = known_of(body, kind, state, self._world.of_policies.of(uid_of(body)), word)
            plan = planned(upkeep, known, now)
            came = await self._runs.come(body, wanted.spec, Due(upkeep, plan, word), now)
            states[kind] = state_after(state, known, plan, came)
            if plan.heeded and came.is_settled:
                heeded = word
            if came.left_out is not None:
                left_out.append(f"no {kind} is run: {came.left_out}")
            gone += plan.goes
            again += [plan.look_again] if plan.look_again is not None else []
        after = MaintenanceStates(**states, asked=heeded)
        await self._statuses.write(body, patch_of_maintenance(body, after))
        for why in left_out:
            await self._events.tell_of_policy(body, EventReason.MAINTENANCE_LEFT_OUT, why)
        await self._remove(body, gone)
        return tuple(again)

    async def _remove(self, policy: Json, gone: list[str]) -> None:
        for job in self._world.of_policies.of(uid_of(policy)):
            if job["metadata"]["name"] in gone and "deletionTimestamp" not in job["metadata"]:
                await self._jobs.remove(job)

    def _as_wanted(self, body: Json) -> _Wanted:
        """The spec, which is read once per generation."""
        uid, generation = uid_of(body), body["metadata"]["generation"]
        known = self._wanted.get(uid)
        if known is None or known.generation != generation:
            spec = _spec_of(body)
            upkeeps = upkeeps_of(spec.maintenance if spec is not None else None)
            known = self._wanted[uid] = _Wanted(generation, spec, upkeeps)
        return known

    def _forget_unless(self, uids: set[str]) -> None:
        self._wanted = {uid: wanted for uid, wanted in self._wanted.items() if uid in uids}
        self._seen = {uid: seen for uid, seen in self._seen.items() if uid in uids}
        self._runs.forget_unless(uids)
        self._failing.forget_unless(uids.__contains__)

    def _log(self, uid: str, said: str) -> bool:
        """Whether it is news."""
        is_news = self._failing.is_news(uid, said)
        if is_news:
            logger.warning("%s", said)
        return is_news


def _spec_of(body: Json) -> DeltaTablePolicySpec | None:
    try:
        return DeltaTablePolicySpec.as_stored(body.get("spec"))
    except ValidationError:
        return None  # as its status says
