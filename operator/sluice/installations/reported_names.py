"""Where runs reported that catalog names lead, written down in the operator's namespace: it outlives the jobs and the leader that
heard it."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from sluice.api import names
from sluice.api.tables import TableRef
from sluice.kube.client import Kube
from sluice.kube.config_map import ConfigMap, Read
from sluice.leases.model import number_in
from sluice.tables import TableKey, key_of_name
from sluice.tables.reported_names import NameReport, ReportedNames

logger = logging.getLogger(__name__)

LONGEST_NAME = 253
"""Characters: a ConfigMap takes no longer key."""

Told = tuple[TableKey, NameReport]


class ForeignConfigMapError(Exception):
    """Another leader has written it since, in a later epoch."""


class ReportedNamesMap:
    def __init__(self, kube: Kube, namespace: str, deployment: str) -> None:
        self._map = ConfigMap(kube, namespace, names.reported_names(deployment))
        self._known: Read | None = None
        """As it was when it was last read or written."""

    async def read(self, epoch: int) -> list[Told]:
        """Reads them, for a leader of this epoch. What can't be read binds nothing, which the log says. Raises NotOursError if a
        later leader has written."""
        self._known = await self._map.read()
        writer = (self._known.body["metadata"].get("annotations") or {}).get(names.ANNOTATION_WRITER_EPOCH)
        if (number_in(writer) or 0) > epoch:
            raise ForeignConfigMapError(
                f"{self._map} was written in epoch {writer}, and this is {epoch}: if no later leader is there, delete it"
            )
        return list(self._told(self._known.data))

    async def begin(self, reported: ReportedNames, epoch: int) -> None:
        """Writes them for a new epoch, also if they are the same: a former leader that has read them before can write no more."""
        await self._write(reported, {names.ANNOTATION_WRITER_EPOCH: str(epoch)})

    async def write(self, reported: ReportedNames) -> None:
        """Writes all of them in place of those that were there. Fails with ConflictError if anybody else has written since."""
        await self._write(reported, {})

    async def _write(self, reported: ReportedNames, annotations: dict[str, str]) -> None:
        wanted = {name.text: written_as(one.all) for name, one in reported.known.items()}
        known = self._known or await self._map.read()
        if annotations or known.data != wanted:
            self._known = await self._map.write(known, wanted, annotations=annotations)

    def _told(self, data: dict[str, str]) -> Iterator[Told]:
        now = datetime.now(UTC)
        for written, text in data.items():
            try:
                TableRef(name=written)
                leads = _leads(json.loads(text), now)
            except (
                AttributeError,
                KeyError,
                TypeError,
                ValueError,
                ValidationError,
                RecursionError,
            ) as error:
                logger.warning(
                    "%s: %s cannot be read and binds no name: remove it; the next run that uses the name reports it again: %r",
                    self._map,
                    written,
                    error,
                )
                continue
            yield from ((key_of_name(written), lead) for lead in leads)


def _leads(given: Any, now: datetime) -> list[NameReport]:
    if not isinstance(given, list):
        raise TypeError(f"{given!r} is no list of places")
    return [_lead(one, now) for one in given]


def _lead(given: dict[str, str], now: datetime) -> NameReport:
    location, job, at = given["table"], given["job"], datetime.fromisoformat(given["at"])
    TableRef(path=location)
    namespace, slash, name = job.partition("/")
    if not (namespace and slash and name) or at.tzinfo is None:
        raise ValueError(f"{job!r} at {at} is no job at a time in UTC")
    return NameReport(location, job, min(at, now))


def written_as(leads: tuple[NameReport, ...]) -> str:
    told = [{"table": lead.location, "job": lead.job, "at": lead.at.isoformat()} for lead in leads]
    return json.dumps(told)
