"""Asks a cluster and its Redis for all leases. Whoever may not ask for a part of it is told what is missing, and shown the rest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sluice.api import names
from sluice.api.base import Json
from sluice.engines.attempt import EXECUTOR_ROLE, LABEL_ROLE
from sluice.installations.claims import Claim, claim_key
from sluice.installations.register import Register
from sluice.installations.unexplained_leases import UnexplainedLeases
from sluice.kube.client import ApiError, KindMissingError, Kube
from sluice.kube.resources import APPLICATIONS, JOBS, PODS, Resource
from sluice.leases.keys import Keys
from sluice.leases.stored_state import StoredState, former
from sluice.lifecycle.evidence import finished_jobs
from sluice.lifecycle.job import pruned_objects
from sluice.online.access.connection import Installation, cluster, redis_of
from sluice.online.access.errors import OnlineError
from sluice.online.access.leader import lease_of
from sluice.online.leases.lease_view import LeaseView, Objects, RedisLeases, held

_FORBIDDEN = 403
_NOT_AN_EXECUTOR = f"{names.LABEL_JOB_UID},{LABEL_ROLE}!={EXECUTOR_ROLE}"
_REDIS_IS_NOT_KNOWN = "what Redis holds: say where it is, by --redis-url or --config"


@dataclass(frozen=True)
class LeaseListing:
    leases: list[LeaseView]
    not_shown: tuple[str, ...]
    """What could not be asked, and so is not shown."""
    is_redis_missing: bool
    """Whether it is known where Redis is, and it could not be asked."""


async def listed(at: Installation) -> LeaseListing:
    """Returns all leases that the cluster or its Redis tell of. Raises OnlineError where no operator has led: whoever forgets to
    name its namespace must not read that nothing is held."""
    asked = _Asked(at)
    before = await asked.redis()
    async with cluster() as kube:
        objects = await asked.objects(kube)
    after = await asked.redis() if before is not None else None
    redis = None if before is None or after is None else _of_both(before, after)
    found = held(objects, redis, datetime.now(UTC))
    return LeaseListing(found, tuple(asked.not_shown), at.redis_url is not None and redis is None)


def _of_both(before: StoredState, after: StoredState) -> RedisLeases:
    """What Redis holds, by two looks, between which the objects were listed."""
    seen = before.readable | after.readable
    throughout = before.values.keys() & after.values.keys()
    return RedisLeases(
        {holder: grant for holder, grant in seen.items() if holder in throughout},
        {holder: grant for holder, grant in seen.items() if holder not in throughout},
        {holder: _why_unreadable(holder, after.values[holder]) for holder in throughout - seen.keys()},
    )


def _why_unreadable(holder: str, line: str) -> str:
    try:
        return f"its line reads as {StoredState(values={holder: line}).grants}"
    except ValueError as error:
        return str(error)


@dataclass
class _Asked:
    at: Installation
    not_shown: list[str] = field(default_factory=list)

    async def redis(self) -> StoredState | None:
        """None where it isn't known where Redis is, or it can't be asked: the cluster can, all the same."""
        if self.at.redis_url is None:
            self.not_shown.append(_REDIS_IS_NOT_KNOWN)
            return None
        try:
            async with redis_of(self.at) as redis:
                return await former(redis, Keys(self.at.deployment))
        except (OnlineError, ValueError) as error:
            self.not_shown.append(f"what Redis holds: {error}")
            return None

    async def objects(self, kube: Kube) -> Objects:
        """Lists in the direction in which a lease's record moves, so that none is missed."""
        await lease_of(kube, self.at)
        namespaces = await self._namespaces(kube)
        jobs = await self._all(kube, namespaces, _JOBS)
        applications = await self._applications(kube, namespaces)
        pods = await self._all(kube, namespaces, _DRIVERS)
        try:
            records = await UnexplainedLeases(kube, self.at.namespace, self.at.deployment).read()
        except ValueError as error:
            raise OnlineError(str(error)) from error
        return Objects(jobs, applications, pods, [record.grant for record in records])

    async def _namespaces(self, kube: Kube) -> Sequence[str | None]:
        """Those that the installation watches, as it is configured or claims: another installation's leases are not its own."""
        if self.at.watch_namespaces:
            return self.at.watch_namespaces
        try:
            text = (await Register(kube).claims()).get(claim_key(self.at.namespace, self.at.deployment))
            return (Claim.from_json(text).namespaces if text is not None else ()) or (None,)
        except ApiError as error:
            if error.status != _FORBIDDEN:
                raise
            why = str(error)
        except (ValueError, RecursionError) as error:
            why = f"its claim cannot be read: {error}"
        self.not_shown.append(
            f"which leases are another installation's: it is not known which namespaces this one watches ({why}); --config tells it"
        )
        return (None,)

    async def _applications(self, kube: Kube, namespaces: Sequence[str | None]) -> Sequence[Json] | None:
        """None where whoever asks may not list those of a Spark operator."""
        found = [await self._all(kube, namespaces, _APPLICATIONS[engine]) for engine in self.at.engines]
        return None if None in found else [body for some in found for body in some or ()]

    async def _all(
        self, kube: Kube, namespaces: Sequence[str | None], kind: "_Kind"
    ) -> Sequence[Json] | None:
        """None where whoever asks may not list them."""
        found: list[Json] = []
        try:
            for namespace in namespaces:
                async for page in kube.pages(kind.resource, namespace, kind.selector):
                    found += map(kind.keep, page["items"])
        except KindMissingError:
            if kind not in _APPLICATIONS.values():
                raise
            return ()  # no Spark operator is installed, or no longer
        except ApiError as error:
            if error.status != _FORBIDDEN:
                raise
            self.not_shown.append(f"what {kind.resource.plural} tell: {error}")
            return None
        return found


@dataclass(frozen=True)
class _Kind:
    resource: Resource
    selector: str
    keep: Callable[[Json], Json]


_JOBS = _Kind(JOBS, "", finished_jobs.kept)
_APPLICATIONS = {
    engine: _Kind(resource, names.LABEL_JOB_UID, pruned_objects.of_application)
    for engine, resource in APPLICATIONS.items()
}
_DRIVERS = _Kind(PODS, _NOT_AN_EXECUTOR, pruned_objects.of_pod)
