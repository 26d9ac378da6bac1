"""Binds catalog names by what runs report. What a run reports is written down before it counts, and what counts no more is written
down afterwards: so the next leader knows each place to which anybody was led.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sluice.controller.cache.change_deduplication import ChangeDeduplication
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.installations.reported_names import ForeignConfigMapError, ReportedNamesMap, Told
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from sluice.tables import TableKey
from sluice.tables.owners import Owners
from sluice.tables.reported_names import MOST_BYTES, Held, ReportedLocations, ReportedNames

logger = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds between looks at what is to be written, or to end."""
SIZE_A_PAUSE = 64 * 1024
"""Bytes for which that is long enough: all are written each time, and the API server keeps each version for minutes."""
AGAIN = 10.0
"""Seconds after a write that failed."""
TOLD_AGAIN = timedelta(days=1)
"""How much older than what is known the time may be that is written down, at which a name was last told of."""
HEARD_LATE = timedelta(minutes=5)
"""So long before a leader begins a run may have ended that tells it of a name of which nothing is written down: the leader before
may not have come to that. Names of which only older runs tell were taken out by a person, or had to go."""
_ALL = "all"


class NameBindings:
    def __init__(
        self,
        written_down: ReportedNamesMap,
        world: ClusterCache,
        owners: Owners,
        *,
        pause: float = PAUSE,
        again: float = AGAIN,
        heard_late: timedelta = HEARD_LATE,
    ) -> None:
        self._map = written_down
        self._world = world
        self._owners = owners
        self._pause = pause
        self._again = again
        self._heard_late = heard_late
        self._forgotten_until = datetime.min.replace(tzinfo=UTC)
        """Runs that ended before tell of no other name than those that are known."""
        self._epoch = 0
        self._is_read = False
        self._counts = ReportedNames()
        """What is judged by."""
        self._written = ReportedNames()
        self._heard: list[Told] = []
        """What is not written down yet, or only changes when a name was last told of."""
        self._unwritten: set[TableKey] = set()
        """Names that may be written down otherwise than they count."""
        self._are_held: Held | None = None
        """By whom the names that count as several places were all found to be held."""
        self._writing: asyncio.Task[None] | None = None
        self._due = 0.0
        self._failing = ChangeDeduplication()

    @property
    def seconds_left(self) -> float | None:
        """Seconds until something is to be done here; None: nothing is."""
        if self._writing is not None:
            return None
        is_anything = self._heard or self._unwritten or not self._is_read or self._world.heard_names
        return max(0.0, self._due - time.monotonic()) if is_anything else None

    async def begin(self, epoch: int) -> None:
        """Reads what the leader before has written down. Where that fails, such names are bound to nothing until it was read."""
        if self._is_read:
            return
        self._epoch = epoch
        self._forgotten_until = datetime.now(UTC) - self._heard_late
        try:
            await self._read()
        except (ApiError, ForeignConfigMapError) as error:
            self._fails(error)
            self._count(ReportedNames())

    def close(self) -> None:
        if self._writing is not None:
            self._writing.cancel()

    def end_what_nobody_holds(self, is_held: Callable[[], Held | None]) -> bool:
        """Leaves the newest place alone to names none of whose places anybody holds; returns whether any was left fewer. `is_held`
        gives None while nobody can tell who holds."""
        if self._writing is not None or not self._counts.ambiguous or (held := is_held()) is None:
            return False
        if self._are_held is held:
            return False
        left = self._counts.unless_held(held)
        if left is self._counts:
            self._are_held = held
            return False
        ended = {name for name, one in left.known.items() if one is not self._counts.known[name]}
        for name in ended:
            place = left.known[name].last.location
            logger.info("name %s: it leads to %s alone: nobody holds another of its places", name, place)
        self._unwritten |= ended
        self._count(left)
        return True

    def turn(self, is_held: Callable[[], Held | None]) -> None:
        """Has written down what was heard, and what has ended. As long as that fails nothing more is taken in: what is heard
        meanwhile is kept within bounds."""
        if self._writing is not None or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + self._pause
        if self._is_read and not self._heard:
            self._heard = [one for one in self._world.heard_names.take() if not self._is_forgotten(one)]
        if not self._is_read or self._has_news():
            self._writing = asyncio.create_task(self._write(is_held), name="reported names")

    def _is_forgotten(self, told: Told) -> bool:
        name, lead = told
        return lead.at <= self._forgotten_until and name not in self._counts.known

    def _has_news(self) -> bool:
        """Whether anything is to be written down. When a name was last told of is for a later write, unless it is long ago."""
        names = {name for name, _ in self._heard} | self._unwritten
        if not names:
            return False
        wanted = self._counts.heard(self._heard, self._owners)
        if any(_differ(wanted.known.get(name), self._written.known.get(name)) for name in names):
            return True
        self._counts, self._are_held = wanted, None
        self._heard, self._unwritten = [], set()
        return False

    async def _write(self, is_held: Callable[[], Held | None]) -> None:
        try:
            if self._is_read:
                await self._write_heard(is_held() or _anything_is_held)
            else:
                await self._read()
        except ForeignConfigMapError as error:
            self._is_read = False
            self._fails(error)
            self._count(ReportedNames())
        except ApiError as error:
            self._fails(error)
        except Exception:
            logger.exception("the operator failed on the names that runs reported; trying again")
            self._due = time.monotonic() + self._again
        else:
            self._failing.forget(_ALL)
        finally:
            self._writing = None
            self._world.wake()

    async def _write_heard(self, is_held: Held) -> None:
        wanted = self._counts.heard(self._heard, self._owners).within(MOST_BYTES, is_held)
        self._tell_of_new(wanted)
        try:
            await self._map.write(wanted)
        except (ConflictError, NotFoundError):  # a person has written, or deleted it: that counts
            await self._read()
            self._forgotten_until = datetime.now(UTC)
            return
        self._written, self._heard, self._unwritten = wanted, [], set()
        self._due = time.monotonic() + self._pause * max(1.0, wanted.size / SIZE_A_PAUSE)
        self._count(wanted)

    async def _read(self) -> None:
        self._written = ReportedNames.of(await self._map.read(self._epoch), self._owners)
        await self._map.begin(self._written, self._epoch)
        self._is_read = True
        self._count(self._written)

    def _count(self, names: ReportedNames) -> None:
        self._counts, self._are_held = names, None
        self._world.names_reported(names)

    def _tell_of_new(self, wanted: ReportedNames) -> None:
        for name in {name for name, _ in self._heard}:
            now, before = wanted.known.get(name), self._counts.known.get(name)
            if now is None:
                logger.warning(
                    "name %s: there is no room to note where it leads: it is bound to nothing", name
                )
            elif _places(now) != _places(before):
                logger.info("name %s: it leads to %s, as %s reported", name, _words(now), now.last.job)

    def _fails(self, error: Exception) -> None:
        self._due = time.monotonic() + self._again
        if self._failing.is_news(_ALL, str(error)):
            logger.warning(
                "what runs report of catalog names cannot be kept, and binds none meanwhile: %s; trying again",
                error,
            )


def _anything_is_held(_: TableKey) -> bool:
    return True


def _differ(one: ReportedLocations | None, other: ReportedLocations | None) -> bool:
    if one is None or other is None:
        return one is not other
    return _places(one) != _places(other) or one.last_seen - other.last_seen > TOLD_AGAIN


def _places(one: ReportedLocations | None) -> tuple[tuple[TableKey, ...], tuple[TableKey, ...]]:
    if one is None:
        return (), ()
    return tuple(lead.table for lead in one.leads), tuple(lead.table for lead in one.claims)


def _words(one: ReportedLocations) -> str:
    return " or ".join(lead.location for lead in one.all)
