"""What an installation needs around it besides Redis: the Spark operator, our resources as this version knows them, rights.

What is missing keeps jobs from being started, and is told as a condition and by each of those jobs; once it is there they go on,
and nothing has to be restarted.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Set
from dataclasses import dataclass

from sluice.api.engine_kind import EngineKind
from sluice.api.operator_status import OperatorConditionType
from sluice.api.reasons import Reason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.process.configuration import OperatorConfig
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.engines import ENGINES
from sluice.footprint import NotUnderstoodError
from sluice.kube.client import ApiError, Kube
from sluice.kube.definitions import DefinitionDifference, look_at_definitions
from sluice.kube.resources import APPLICATIONS
from sluice.kube.rights import AccessQuestion, asks, may_i, rights_of
from sluice.kube.version import TooOldError, too_old, version_of
from sluice.lifecycle.job.job_view import JobView

logger = logging.getLogger(__name__)

PAUSE = 2.0
EVERY = 60.0
"""Seconds between looks while all is well."""
ALL_RIGHTS_EVERY = 300.0
SOON = 3.0
"""Seconds between looks while something is missing."""
REFUSALS_EVERY = 30.0
"""Seconds between looks because something was refused: an admission rule may refuse things all the time, with all rights there."""
_MOST_NAMED = 5
_FORBIDDEN = 403


@dataclass(frozen=True)
class MissingPrerequisite:
    """Why no job is started now, though nothing is wrong with it."""

    reason: Reason
    message: str


class Refusals:
    """What the API server has refused as forbidden since the last look, by verb and kind: a right may have gone."""

    def __init__(self) -> None:
        self._heard: set[tuple[str, str]] = set()

    def asked(self, verb: str, plural: str, code: int, _seconds: float) -> None:
        """Told of each request of this process, in any thread."""
        if code == _FORBIDDEN:
            self._heard.add((verb, plural))

    def take(self) -> set[tuple[str, str]]:
        heard, self._heard = self._heard, set()
        return heard


class Prerequisites:
    def __init__(
        self, kube: Kube, world: ClusterCache, config: OperatorConfig, refusals: Refusals | None = None
    ) -> None:
        self._kube = kube
        self._world = world
        self._refusals = refusals or Refusals()
        self._heeded_at = -REFUSALS_EVERY
        rights = rights_of(config.deployment, config.engines)
        self._rights = tuple(asks(rights, config.namespace, config.watch_namespaces))
        self._differences: tuple[DefinitionDifference, ...] = ()
        self._unasked: ApiError | None = None
        """Why it is not known which definitions are served."""
        self._lacking: tuple[AccessQuestion, ...] = ()
        self._asked_at: float | None = None
        """When all rights were last asked for."""
        self._told: tuple[MissingPrerequisite | None, tuple[EngineKind, ...]] = (None, ())

    async def begin(self) -> None:
        """Looks for the first time; raises TooOldError if Kubernetes is too old."""
        while True:
            try:
                version = await version_of(self._kube)
            except ApiError as error:
                logger.warning("it is not known which Kubernetes this is: %s; asking again", error)
                await asyncio.sleep(PAUSE)
                continue
            why = too_old(version)
            if why is not None:
                raise TooOldError(why)
            await self._look_at_definitions()
            return

    async def run(self) -> None:
        """Looks again and again: what is missing may come, and what is there may go. Rights are first asked for here, beside
        what leads: there is a request for each, in each namespace."""
        looked_at = time.monotonic()
        while True:
            await asyncio.sleep(SOON)
            doubted = self._doubted()
            is_due = self._asked_at is None or time.monotonic() - looked_at >= EVERY
            if doubted or is_due or self._is_anything_wrong:
                await self._look(doubted)
                looked_at = time.monotonic()
                self._world.wake()

    def _doubted(self) -> set[AccessQuestion]:
        """The rights without which something may have been refused."""
        if time.monotonic() - self._heeded_at < REFUSALS_EVERY:
            return set()
        refused = self._refusals.take()
        doubted = {ask for ask in self._rights if (ask.verb, ask.right.resource.plural) in refused}
        if doubted:
            self._heeded_at = time.monotonic()
        return doubted

    async def _look(self, doubted: Set[AccessQuestion]) -> None:
        await self._look_at_definitions()
        await self._look_at_rights(doubted)

    async def _look_at_definitions(self) -> None:
        try:
            self._differences = await look_at_definitions(self._kube)
        except ApiError as error:
            self._unasked = error
        else:
            self._unasked = None

    async def _look_at_rights(self, doubted: Set[AccessQuestion]) -> None:
        """Asks for all rights from time to time, and for those that are doubted or lacking each time: there is a request for
        each."""
        is_due = self._asked_at is None or time.monotonic() - self._asked_at >= ALL_RIGHTS_EVERY
        again = {*doubted, *self._lacking}
        wanted = [ask for ask in self._rights if is_due or ask in again]
        try:
            self._lacking = tuple([ask for ask in wanted if not await may_i(self._kube, ask)])
        except ApiError as error:
            logger.warning("it is not known what this operator is allowed: %s; asking again", error)
        else:
            self._asked_at = time.monotonic() if is_due else self._asked_at

    @property
    def _is_anything_wrong(self) -> bool:
        is_missing = any(mirror.is_served is False for mirror in self._world.mirrors)
        return bool(self._lacking or self._unasked or self._older or is_missing)

    @property
    def _older(self) -> str | None:
        return next((str(one) for one in self._differences if one.is_older), None)

    @property
    def has_engine(self) -> bool:
        """Whether the API server serves any of the kinds of objects by which jobs are run, as far as it was asked."""
        applications = self._world.applications
        return len(applications.missing) < len(applications.kinds)

    @property
    def serves_all(self) -> bool:
        """Whether all kinds can be listed, as far as the API server was asked: of one without a definition there are no objects."""
        return all(mirror.is_served is not False or mirror.is_undefined for mirror in self._world.mirrors)

    @property
    def obstacle(self) -> MissingPrerequisite | None:
        """What keeps every job from being started."""
        if self._older is not None:
            return MissingPrerequisite(Reason.DEFINITIONS_OUTDATED, self._older)
        if not self.has_engine:
            return MissingPrerequisite(
                Reason.SPARK_OPERATOR_MISSING, _missing(self._world.applications.missing)
            )
        return None

    def obstacle_for(self, job: JobView) -> MissingPrerequisite | None:
        """What keeps this job from being started."""
        return self.obstacle or self.obstacle_of_its_own(job)

    def obstacle_of_its_own(self, job: JobView) -> MissingPrerequisite | None:
        """What keeps it from being started while others may be."""
        if self.obstacle is not None:
            return None
        try:
            engine = job.engine
        except NotUnderstoodError:
            return None  # which is told elsewhere
        if engine not in self._world.applications.kinds:
            message = f"this operator makes no applications of {engine}: add it to engines of the operator's configuration"
            return MissingPrerequisite(Reason.SPARK_OPERATOR_MISSING, message)
        if engine in self._world.applications.missing:
            return MissingPrerequisite(Reason.SPARK_OPERATOR_MISSING, _missing((engine,)))
        return None

    def not_ready(self) -> list[str]:
        """Why this replica cannot do its work."""
        obstacle = self.obstacle
        return [] if obstacle is None else [obstacle.message]

    def tell(self, conditions: OperatorConditions) -> bool:
        """Tells what is missing, and returns whether jobs are kept from being started by something else than before."""
        self._tell_of_the_engine(conditions)
        self._tell_of_definitions(conditions)
        self._tell_of_rights(conditions)
        before, self._told = self._told, (self.obstacle, self._world.applications.missing)
        return before != self._told

    def _tell_of_the_engine(self, conditions: OperatorConditions) -> None:
        type_ = OperatorConditionType.SPARK_OPERATOR_INSTALLED
        missing = self._world.applications.missing
        if self._world.applications.are_served:
            conditions.holds(type_)
        elif missing:
            what = "that runs on it" if self.has_engine else ""
            message = " ".join(f"{_missing(missing)}; until then nothing is granted {what}".split())
            conditions.fails(type_, "KindMissing", message)

    def _tell_of_definitions(self, conditions: OperatorConditions) -> None:
        type_ = OperatorConditionType.DEFINITIONS_CURRENT
        if self._older is not None:
            conditions.fails(type_, "Outdated", f"{self._older}; until then nothing is granted")
        elif self._unasked is not None:
            message = f"the API server could not be asked which definitions it serves: {self._unasked}; it is asked again"
            conditions.unknown(type_, self._unasked.reason or "NoAnswer", message)
        else:
            conditions.holds(type_)

    def _tell_of_rights(self, conditions: OperatorConditions) -> None:
        type_ = OperatorConditionType.RIGHTS_GRANTED
        if self._asked_at is None:
            return
        if not self._lacking:
            conditions.holds(type_)
            return
        named = "; ".join(str(ask) for ask in self._lacking[:_MOST_NAMED])
        more = f"; and {len(self._lacking) - _MOST_NAMED} more" if len(self._lacking) > _MOST_NAMED else ""
        message = (
            f"the operator's service account may not {named}{more}: add it to the operator's roles; `sluice doctor` "
            "lists all that is missing"
        )
        conditions.fails(type_, "RightsMissing", message)


def _missing(engines: Iterable[EngineKind]) -> str:
    """What is not there, and what to do about it."""
    return "; ".join(
        f"the API server serves no {APPLICATIONS[engine].plural} of {APPLICATIONS[engine].api_version}: {ENGINES[engine].cure}"
        for engine in engines
    )
