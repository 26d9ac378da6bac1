"""The operator's own conditions as this process knows them.

Whoever finds that one holds or fails says so here, as often as it likes; a change is written with the next renewal of the
Lease, and reported by an Event. To add one, name it in OperatorConditionType, and add below what is said when all is well.

Two threads report and ask: the acting one, and the Lease's. Each call is atomic under a lock, which nobody holds while waiting
or logging.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

from sluice.api.conditions import ConditionStatus
from sluice.api.operator_status import OperatorCondition, OperatorConditionType, read, written
from sluice.api.strings import without_surrogates

logger = logging.getLogger(__name__)

WELL: dict[OperatorConditionType, tuple[str, str]] = {
    OperatorConditionType.API_SERVER_REACHABLE: ("Answers", "the API server answers"),
    OperatorConditionType.INSTALLATION_CLAIMED: (
        "Claimed",
        "its namespaces and its place in Redis are claimed",
    ),
    OperatorConditionType.LEASE_TABLE_USABLE: ("Usable", "leases are granted and released"),
    OperatorConditionType.LISTS_COMPLETE: ("Listed", "all objects have been listed"),
    OperatorConditionType.HOLDERS_READABLE: (
        "AllReadable",
        "the tables of every job that may write are known",
    ),
    OperatorConditionType.LEASES_EXPLAINED: ("AllExplained", "an object explains each lease"),
    OperatorConditionType.SPARK_OPERATOR_INSTALLED: ("Served", "the API server serves SparkApplications"),
    OperatorConditionType.DEFINITIONS_CURRENT: (
        "Current",
        "the definitions of Sluice's resources are those of this version, or later ones",
    ),
    OperatorConditionType.RIGHTS_GRANTED: ("Granted", "the operator has all the rights that it needs"),
    OperatorConditionType.FORMER_LEADERS_FENCED: (
        "Fenced",
        "the API server refuses what a replaced leader sends late",
    ),
    OperatorConditionType.TABLE_IDS_UNIQUE: (
        "Unique",
        "no table's log is a copy of one that tableOwners gives to other namespaces",
    ),
}

OF_ANY_PROCESS = frozenset({OperatorConditionType.API_SERVER_REACHABLE})
"""The conditions that this process knows of itself; the others are the leader's to tell."""

_MOST_UNTOLD = 32
_LONGEST_REASON = 63
_LONGEST_MESSAGE = 1024


def _utc_now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


class OperatorConditions:
    def __init__(self, now: Callable[[], datetime] = _utc_now) -> None:
        self._now = now
        self._changing = threading.Lock()
        self._known: dict[OperatorConditionType, OperatorCondition] = {}
        self._said: set[OperatorConditionType] = set()
        self._untold: deque[OperatorCondition] = deque(maxlen=_MOST_UNTOLD)

    def holds(self, type_: OperatorConditionType) -> None:
        self._say(type_, ConditionStatus.TRUE, *WELL[type_])

    def fails(self, type_: OperatorConditionType, reason: str, message: str) -> None:
        self._say_not(type_, ConditionStatus.FALSE, reason, message)

    def unknown(self, type_: OperatorConditionType, reason: str, message: str) -> None:
        """Says that nobody can tell, though nothing is known to be wrong."""
        self._say_not(type_, ConditionStatus.UNKNOWN, reason, message)

    def _say_not(
        self, type_: OperatorConditionType, status: ConditionStatus, reason: str, message: str
    ) -> None:
        self._say(
            type_,
            status,
            reason[:_LONGEST_REASON],
            without_surrogates(message[:_LONGEST_MESSAGE]),
        )

    def is_well(self, type_: OperatorConditionType) -> bool:
        """Whether all is well as this process itself knows, not as the leader before it said."""
        with self._changing:
            return type_ in self._said and self._known[type_].status is ConditionStatus.TRUE

    def failing(self, type_: OperatorConditionType, reason: str) -> str | None:
        """The message, if this process found that the condition fails for this reason."""
        with self._changing:
            known = self._known.get(type_) if type_ in self._said else None
        is_so = known is not None and known.status is ConditionStatus.FALSE and known.reason == reason
        return known.message if known is not None and is_so else None

    def all(self) -> tuple[OperatorCondition, ...]:
        with self._changing:
            return tuple(self._known[type_] for type_ in OperatorConditionType if type_ in self._known)

    def as_text(self) -> str:
        return written(self.all())

    def take_over(self, text: str) -> None:
        """Takes over what the previous leader said, so that what stays as it was is no transition."""
        told = read(text)
        with self._changing:
            for condition in told:
                self._known.setdefault(condition.type, condition)

    def leads_no_more(self) -> None:
        with self._changing:
            self._known = {type_: one for type_, one in self._known.items() if type_ in OF_ANY_PROCESS}
            self._said &= OF_ANY_PROCESS

    def next_untold(self) -> OperatorCondition | None:
        with self._changing:
            return self._untold[0] if self._untold else None

    def told(self, condition: OperatorCondition) -> None:
        with self._changing:
            if self._untold and self._untold[0] is condition:
                self._untold.popleft()

    def _say(self, type_: OperatorConditionType, status: ConditionStatus, reason: str, message: str) -> None:
        if self._is_told(type_, status, reason, message):
            is_well = status is ConditionStatus.TRUE
            logger.log(logging.INFO if is_well else logging.WARNING, "%s is %s: %s", type_, status, message)

    def _is_told(
        self, type_: OperatorConditionType, status: ConditionStatus, reason: str, message: str
    ) -> bool:
        """Whether this is a transition, which is reported."""
        with self._changing:
            self._said.add(type_)
            known = self._known.get(type_)
            stays = known is not None and known.status is status
            now = known.last_transition_time if known is not None and stays else self._now()
            said = OperatorCondition(
                type=type_, status=status, last_transition_time=now, reason=reason, message=message
            )
            if said == known:
                return False
            self._known[type_] = said
            is_first_and_well = known is None and status is ConditionStatus.TRUE
            is_transition = not stays and not is_first_and_well
            if is_transition:
                self._untold.append(said)
            return is_transition
