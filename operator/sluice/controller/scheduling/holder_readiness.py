"""Whether it is known who may write where, without which nothing is granted: has holders read, and says of whom it is not known."""

import logging
import time
from dataclasses import dataclass, field

from sluice.api.operator_status import OperatorConditionType
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.process.fair_queue import FairQueue
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.controller.scheduling.holders import Holders
from sluice.lifecycle.attempt.lease_evidence import Frozen

logger = logging.getLogger(__name__)

ASK_AGAIN = 1.0
"""Seconds after which tables are asked for again: what some say leads to others."""
NOT_YET_ASKED = float("-inf")


@dataclass
class HolderReadiness:
    world: ClusterCache
    holders: Holders
    conditions: OperatorConditions
    unread: FairQueue
    """Jobs whose specs have not been read yet."""
    nobody_knows: Frozen | None = None
    """Somebody who may write, and it is not known where: nothing is granted."""
    _asked_to_read: dict[str, float] = field(default_factory=dict)
    """When reading was asked for, by uid, for holders of which it is not known what they touch."""

    @property
    def is_being_read(self) -> bool:
        return bool(self._asked_to_read)

    def is_to_be_read(self) -> bool:
        """Asks to read what is not known yet of those who hold. Returns whether anything may be granted only after that: for
        some, nothing sufficient was written down at the grant."""
        to_read, unread, now = self.holders.to_read, self.holders.unread, time.monotonic()
        if to_read and not self._asked_to_read:
            logger.info(
                "reading what the %d jobs that already hold leases touch; %d of them must be read before anything is granted",
                len(to_read),
                len(unread),
            )
        elif self._asked_to_read and not to_read:
            logger.info("what every lease holder touches has been read")
        asked = {uid: self._asked_to_read.get(uid, NOT_YET_ASKED) for uid in to_read}
        for uid in [uid for uid, at in asked.items() if now - at >= ASK_AGAIN]:
            asked[uid] = now
            job = self.world.jobs.get(uid)
            if job is not None:  # else it has gone since it was looked at, and is looked at again
                self.unread.add(uid, job.namespace)
        self._asked_to_read = asked
        return bool(unread)

    def is_news(self) -> bool:
        """Whether it has changed that somebody may write anywhere."""
        frozen = self.holders.frozen
        self._say_of(frozen)
        before, self.nobody_knows = self.nobody_knows, next((one for one in frozen if not one.tables), None)
        return (before is None) != (self.nobody_knows is None)

    def _say_of(self, frozen: list[Frozen]) -> None:
        if not frozen:
            self.conditions.holds(OperatorConditionType.HOLDERS_READABLE)
            return
        first = min(frozen, key=lambda one: (bool(one.tables), one.who))
        others = f" (and {len(frozen) - 1} more)" if len(frozen) > 1 else ""
        tables = ", ".join(str(table) for table in first.tables)
        held = f"these tables are held: {tables}" if tables else "all tables are held"
        message = f"it cannot be read what {first.who}{others} may write ({first.why}); {held}"
        self.conditions.fails(OperatorConditionType.HOLDERS_READABLE, "HolderUnreadable", message)
