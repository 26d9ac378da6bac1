"""Tells of tables whose logs have ended two readers, keeps them on the operator's Lease, and lifts what a person removes there.

It runs beside the acting loop, and is made anew for each time that this replica leads.
"""

import asyncio
import logging
from dataclasses import dataclass

from sluice.api import names
from sluice.api.reasons import EventReason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.leadership.election import Election, LostLeadershipError
from sluice.controller.readers.table_processes import READ_AGAIN_SECONDS, TableProcesses
from sluice.controller.readers.table_reader import TableReader
from sluice.controller.reporting.events import EventWriter
from sluice.installations.quarantined_tables import QuarantinedTable, read, written
from sluice.kube.client import ApiError
from sluice.tables import TableKey

logger = logging.getLogger(__name__)

PAUSE = 1.0
MOST_JOBS = 10
"""Jobs of one table that get an Event: thousands may wait for it, and the status of each says why."""


@dataclass(kw_only=True)
class Quarantine:
    processes: TableProcesses
    leadership: Election
    world: ClusterCache
    tables: TableReader
    events: EventWriter
    _kept: dict[tuple[str, str], QuarantinedTable] | None = None
    """What the Lease says. None: it was not read yet."""

    async def run(self) -> None:
        """Runs as long as this replica leads. What the leader before wrote down counts before anything is read."""
        while True:
            try:
                await self.heed()
            except (ApiError, LostLeadershipError) as error:
                logger.warning("the tables in quarantine could not be written down: %s; trying again", error)
            except Exception:
                logger.exception("the operator failed on the tables in quarantine; trying again")
            await asyncio.sleep(PAUSE)

    async def heed(self) -> None:
        text = self.leadership.annotation(names.ANNOTATION_QUARANTINE)
        there = {one.place: one for one in read(text)}
        if self._kept is None:
            for one in there.values():
                self.processes.quarantine(one)
            self._kept = there
        for place, one in self._kept.items():
            if place not in there:
                self._lift(one)
        wanted = written(self.processes.quarantined())
        if wanted != text:
            await self.leadership.annotate({names.ANNOTATION_QUARANTINE: wanted})
        now = {one.place: one for one in read(wanted)}
        for place in now.keys() - self._kept.keys():
            await self._tell(now[place])
        self._kept = now

    def _lift(self, one: QuarantinedTable) -> None:
        if not self.processes.read_again(one):
            return
        logger.info("%s: its log is read again, because a person removed it from the Lease", one.table)
        key = TableKey.parse(one.table)
        self.tables.changed((key,))
        for uid in self.world.resting.on(key):
            self.world.mark(uid)

    async def _tell(self, one: QuarantinedTable) -> None:
        key = TableKey.parse(one.table)
        message = (
            f"the log of {one.table} is in quarantine: its reader {one.why}, twice. Sluice reads it again after "
            f"{READ_AGAIN_SECONDS / 60:.0f} minutes, or at once if you remove it from the annotation "
            f"{names.ANNOTATION_QUARANTINE} of the operator's Lease"
        )
        logger.warning("%s", message)
        for called, table in self.world.declarations.tables.items():
            policy = self.world.policies.get(*called.split("/")) if table == key else None
            if policy is not None:
                await self.events.tell_of_policy(policy, EventReason.TABLE_QUARANTINED, message, warning=True)
        for uid in self.world.resting.on(key)[:MOST_JOBS]:
            job = self.world.jobs.get(uid)
            if job is not None and job.open_attempt is None:
                await self.events.tell(job, EventReason.TABLE_QUARANTINED, message, warning=True)
