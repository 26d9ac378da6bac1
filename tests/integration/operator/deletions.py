"""Orders of deletions of what belongs to one job, at each moment of its life, and what the operator does meanwhile."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import cycle, permutations


class Moment(StrEnum):
    """What has come of the job before the first deletion."""

    WAITING = "waiting"
    GRANTED = "granted"
    """Its intent is written, and its application isn't there yet."""
    CREATED = "created"
    """Its application is there, and its driver isn't yet."""
    PENDING = "pending"
    """Its driver has no node."""
    RUNNING = "running"
    ENDED = "ended"
    """Its driver has ended, and no operator has seen it."""
    FINISHED = "finished"


class Deletion(StrEnum):
    JOB = "job"
    APPLICATION = "app"
    POD = "pod"
    POD_BY_FORCE = "force"
    POD_WITHOUT_PROOF = "strip"
    """By force, with the finalizer taken off by hand: nothing tells any more how the driver ended."""
    NAMESPACE = "space"


class Operator(StrEnum):
    LIVES = "lives"
    RESTARTS = "restarts"
    """It is killed after the first deletion, and started before the next one."""
    AWAY = "away"
    """It is killed before the first deletion, and started after the last one."""


OF_THE_JOB = (Deletion.JOB, Deletion.NAMESPACE)
OF_THE_APPLICATION = (*OF_THE_JOB, Deletion.APPLICATION)
OF_A_POD = (*OF_THE_APPLICATION, Deletion.POD, Deletion.POD_BY_FORCE)
OF_A_DRIVER = (*OF_A_POD, Deletion.POD_WITHOUT_PROOF)
THERE = {
    Moment.WAITING: OF_THE_JOB,
    Moment.GRANTED: OF_THE_JOB,
    Moment.CREATED: OF_THE_APPLICATION,
    Moment.PENDING: OF_A_POD,
    Moment.RUNNING: OF_A_DRIVER,
    Moment.ENDED: OF_A_DRIVER,
    Moment.FINISHED: OF_A_DRIVER,
}
"""What can be deleted."""


@dataclass(frozen=True)
class Order:
    """`deletions`: in this order."""

    moment: Moment
    deletions: tuple[Deletion, ...]
    operator: Operator

    @property
    def name(self) -> str:
        return "-".join((self.moment, *self.deletions, self.operator))

    @property
    def place(self) -> str:
        """The same for all orders whose namespace is deleted at the same time, if it is."""
        if Deletion.NAMESPACE not in self.deletions:
            return "stays"
        return f"{self.operator}-{self.deletions.index(Deletion.NAMESPACE)}"

    @property
    def is_held(self) -> bool:
        """Whether it must hold its lease until its driver's node or a person says that the driver has ended."""
        return self.moment is Moment.RUNNING or self.proof_is_lost

    @property
    def proof_is_lost(self) -> bool:
        return self.moment in (Moment.RUNNING, Moment.ENDED) and Deletion.POD_WITHOUT_PROOF in self.deletions

    @property
    def job_goes(self) -> bool:
        return Deletion.JOB in self.deletions or Deletion.NAMESPACE in self.deletions


def orders(length: int, moments: Iterable[Moment] = tuple(Moment)) -> Iterator[Order]:
    """Every order of so many deletions at these moments, each with one of what the operator may do meanwhile."""
    for moment in moments:
        meanwhile = cycle(_meanwhile(moment))
        for deletions in permutations(THERE[moment], min(length, len(THERE[moment]))):
            yield Order(moment, deletions, next(meanwhile))


def all_orders(length: int, meanwhile: Operator) -> Iterator[Order]:
    """Every order of so many deletions at every moment, while the operator does this."""
    for moment, there in THERE.items():
        if meanwhile in _meanwhile(moment):
            for deletions in permutations(there, min(length, len(there))):
                yield Order(moment, deletions, meanwhile)


def _meanwhile(moment: Moment) -> Sequence[Operator]:
    return [Operator.AWAY] if moment is Moment.ENDED else list(Operator)
