"""Epochs in front of the API server: admission policies refuse what this operator's account writes under an older epoch than their
parameter says, so that nothing lands any more that a replaced leader sends late.

The chart installs the policies, and the operator keeps their parameter: a ConfigMap, which is only ever raised. Where no policy is
expected, writes carry their epoch all the same, and nobody compares it.
"""

import asyncio
import logging
import time

from sluice.api import names
from sluice.api.base import Json
from sluice.api.operator_status import OperatorConditionType
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.kube.client import ApiError, ConflictError, Kube
from sluice.kube.config_map import ConfigMap, Read
from sluice.kube.resources import CONFIG_MAPS
from sluice.leases import Epochs, number_in

logger = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds within which an older epoch has to be refused; API servers take up a new parameter within milliseconds, and a new policy
within seconds."""
PAUSE = 0.1
GRACE = 1.0
"""Seconds for API servers beside the one that was asked."""

IS_OVER = "is over"
"""In the policy's message on an older epoch, and in no other one of its messages."""
IS_MISSING = "has no writer epoch"
"""In the policy's message on a write without an epoch."""

_FENCED = OperatorConditionType.FORMER_LEADERS_FENCED
NOT_INSTALLED = (
    "no admission policy is expected (admissionPolicy of its configuration), so the API server takes what a replaced leader sends "
    "late: run one replica, and no more. The chart installs the policy on Kubernetes 1.30 and later"
)


class NotFencedError(Exception):
    """The API server doesn't refuse what is written under older epochs, though a policy is expected that makes it."""


class EpochPolicy:
    """Of one leader; each has one of its own."""

    def __init__(
        self,
        kube: Kube,
        conditions: OperatorConditions,
        namespace: str,
        deployment: str,
        *,
        is_expected: bool,
    ) -> None:
        self._kube = kube
        self._conditions = conditions
        self._namespace = namespace
        self._probes = {
            names.epoch_policy(namespace, deployment, judged): names.epoch_probe(deployment, judged)
            for judged in names.JUDGED_BY_EPOCH
        }
        self._parameter = ConfigMap(kube, namespace, names.epoch_parameter(deployment))
        self._is_expected = is_expected
        self.epoch: int | None = None
        """The epoch that this leader's writes carry; None before it is known. It changes only while none of them is under way, so
        that each of them carries the epoch in which its step was decided on."""
        self._enforced = 0
        self._to_enforce: int | None = None
        """An epoch that was begun, and isn't known to be in force."""
        self._is_lost = False
        """Whether the API server was seen to know no parameter."""

    @property
    def parameter(self) -> str:
        """What it is called, for people."""
        return str(self._parameter)

    @property
    def in_force(self) -> int | None:
        """The epoch below which the API server was seen to refuse every write of this account; 0 before it was; None where no
        policy is expected."""
        return self._enforced if self._is_expected else None

    @property
    def annotations(self) -> dict[str, str]:
        """By which the policy tells under which epoch an object is written."""
        return {names.ANNOTATION_WRITER_EPOCH: str(self.epoch or 0)}

    async def keep(self, known: int) -> None:
        """Keeps the parameter: the policies refuse every write where there is none. `known`: the epoch of the Lease object."""
        if self.epoch is None:
            await self._begin(known)
        elif self._is_lost:
            self._is_lost = False  # else the next write that is refused tells again
            await self._restore(self.epoch)

    async def _begin(self, known: int) -> None:
        """Finds the epoch by which this leader writes before its first rebuild, which is that of the last one. The first leader
        makes the parameter."""
        if not self._is_expected:
            self.epoch = known
            self._conditions.unknown(_FENCED, "NotFenced", NOT_INSTALLED)
            return
        try:
            self.epoch = await self._raise(known)
        except (ApiError, ValueError) as error:
            self._conditions.fails(_FENCED, "NotFenced", f"{self._parameter} cannot be kept: {error}")

    async def last(self) -> int:
        """Returns the epoch that the parameter says."""
        return _epoch_in(await self._parameter.read(), self._parameter) if self._is_expected else 0

    async def try_again(self) -> None:
        """Brings an epoch into force where that failed before: epochs are few, and none is spent on trying."""
        if self._to_enforce is not None:
            await self.enforce(self._to_enforce)

    async def enforce(self, epoch: int) -> None:
        """Has all older epochs refused. Raises NotFencedError if they are not in time."""
        self._to_enforce = epoch
        if self._is_expected:
            try:
                await self._raise_no_further_than(epoch)
                self.epoch = epoch
                await self._until_refused(epoch - 1)
            except (ApiError, NotFencedError) as error:
                self._conditions.fails(_FENCED, "NotFenced", f"{error}; nothing is granted before it does")
                raise
            self._conditions.holds(_FENCED)
            self._enforced = epoch
        self.epoch, self._to_enforce, self._is_lost = epoch, None, False

    async def _restore(self, epoch: int) -> None:
        """Makes the parameter anew that somebody deleted."""
        logger.warning("%s was lost, and is made anew with epoch %d", self._parameter, epoch)
        try:
            await self._raise(epoch)
        except (ApiError, ValueError) as error:
            self._conditions.fails(_FENCED, "NotFenced", f"{self._parameter} cannot be kept: {error}")

    def refused(self, error: ApiError) -> bool:
        """Whether it was one of the policies that refused a write."""
        return any(f"ValidatingAdmissionPolicy '{policy}'" in str(error) for policy in self._probes)

    def says_it_is_over(self, error: ApiError) -> bool:
        """Whether the policy refused a write because its epoch is over. Notes it where the parameter is lost."""
        if not self.refused(error):
            return False
        if IS_OVER in str(error):
            return True
        self._is_lost |= IS_MISSING not in str(error)
        return False

    async def _raise(self, epoch: int) -> int:
        """Raises the parameter to this epoch, or leaves a higher one; returns what it is then."""
        while True:
            read = await self._parameter.read()
            found = _epoch_in(read, self._parameter)
            if found >= epoch and not read.is_new:
                return found
            try:
                await self._parameter.write(read, {names.EPOCH_KEY: str(epoch)})
            except ConflictError:
                continue  # somebody else has raised it, or made it
            return epoch

    async def _raise_no_further_than(self, epoch: int) -> None:
        found = await self._raise(epoch)
        if found > epoch:
            self._to_enforce = None  # it never will be: the next one is begun above what was found
            raise NotFencedError(f"{self._parameter} says epoch {found}, while epoch {epoch} was begun")

    async def _until_refused(self, older: int) -> None:
        if older < 0:
            return
        began = time.monotonic()
        for policy, probe in self._probes.items():
            while (taken := await self._is_taken(older, probe)) is not None:
                if time.monotonic() - began > PATIENCE:
                    raise NotFencedError(
                        f"ValidatingAdmissionPolicy {policy} does not refuse writes of epoch {older} ({taken}): see whether it and "
                        "its binding of the same name are there and as the chart has them, and docs/operations.md on fencing"
                    )
                await asyncio.sleep(PAUSE)
        await asyncio.sleep(GRACE)

    async def _is_taken(self, older: int, probe: str) -> str | None:
        """Says what the API server would make of a write under the older epoch; None: it refuses it for that."""
        body: Json = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": probe,
                "namespace": self._namespace,
                "labels": {names.LABEL_JOB_UID: "none", names.LABEL_POLICY: "none"},
                "annotations": {names.ANNOTATION_WRITER_EPOCH: str(older)},
            },
        }
        try:
            await self._kube.create(CONFIG_MAPS, self._namespace, body, only_try=True)
        except ApiError as error:
            if self.says_it_is_over(error):
                return None
            if not error.is_definite:
                raise
            return str(error)
        return "it takes them"


def _epoch_in(read: Read, parameter: ConfigMap) -> int:
    if read.is_new:
        return 0
    found = number_in(read.data.get(names.EPOCH_KEY), most=Epochs.LAST)
    if found is None:
        raise ValueError(
            f"{parameter}: its {names.EPOCH_KEY} is {read.data.get(names.EPOCH_KEY)!r}, which is no epoch of an operator: delete "
            "it, and it is made anew"
        )
    return found
