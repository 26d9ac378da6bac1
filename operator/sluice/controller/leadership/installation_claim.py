"""This installation's own claim: it is held before the installation first acts, and as long as it acts."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata

from sluice.api import names
from sluice.api.operator_status import OperatorConditionType
from sluice.controller.process.configuration import OperatorConfig
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.installations.claims import Claim
from sluice.installations.obstacles import REGISTER
from sluice.installations.register import NotWrittenError, Register, identity_of
from sluice.kube.client import ApiError, Kube
from sluice.leases.keys import Keys

logger = logging.getLogger(__name__)

PAUSE = 2.0
CLAIMED = OperatorConditionType.INSTALLATION_CLAIMED
EVERY = 60.0
"""Seconds between looks at whether the claim is still there: somebody may delete it by hand."""


class InstallationClaim:
    def __init__(self, kube: Kube, config: OperatorConfig, conditions: OperatorConditions) -> None:
        self._kube = kube
        self._conditions = conditions
        self._logged = ""
        self._config = config
        self._register = Register(kube)

    async def check(self) -> None:
        """Raises OverlapError if this installation could not act now. A replica that would be refused says so at once, and not
        only when its turn to lead comes."""
        while True:
            try:
                await self._register.check(await self._own())
            except ApiError as error:
                await self._failed(error)
            else:
                return

    async def claim(self, leads: Callable[[], bool]) -> str | None:
        """Claims, and returns the installation's identity; None if this replica no longer leads."""
        while leads():
            try:
                own = await self._own()
                await self._register.claim(own)
            except (ApiError, NotWrittenError) as error:
                if leads():  # what a follower can't do, is not for it to tell
                    self._conditions.fails(CLAIMED, "NotWritten", _told(error))
                await self._failed(error)
            else:
                if leads():
                    self._conditions.holds(CLAIMED)
                self._logged = ""
                return str(own.identity)
        return None

    async def keep(self, leads: Callable[[], bool]) -> None:
        """Keeps the claim; ends only with OverlapError."""
        while True:
            await asyncio.sleep(EVERY)
            await self.claim(leads)

    async def _own(self) -> Claim:
        config = self._config
        return Claim(
            identity=await identity_of(self._kube, config.namespace, config.deployment),
            namespaces=tuple(sorted(set(config.watch_namespaces))),
            redis=config.redis.address,
            keys=Keys(config.deployment).prefix,
            since=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            version=_version(),
        )

    async def _failed(self, error: Exception) -> None:
        """It is tried again every few moments, and logged when the reason changes."""
        if self._logged != str(error):
            logger.warning("nothing is done until this installation has its claim: %s; trying again", error)
        self._logged = str(error)
        await asyncio.sleep(PAUSE)


def _told(error: ApiError | NotWrittenError) -> str:
    if isinstance(error, NotWrittenError):
        return str(error)
    return f"{REGISTER} cannot be asked for the claims of installations: {error}"


def _version() -> str:
    try:
        return metadata.version(names.DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "not installed as a package"
