"""Tables whose logs the operator cannot read, by what the newest job of each says: the operator's credentials are where it runs, so
that nobody else can ask their stores in its place."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from sluice.api.base import Json
from sluice.kube.client import Kube
from sluice.kube.resources import JOBS
from sluice.online.access.connection import Installation
from sluice.online.doctor.findings import Finding, ok, warn

_UNREAD = re.compile(r"the log of (?P<table>\S+) (?P<why>cannot be read: .*|did not answer .*)", re.DOTALL)
_CURE = (
    "what the message says; until its log can be read, its jobs run one after the other (docs/operations.md)"
)


async def table_findings(kube: Kube, at: Installation) -> AsyncIterator[Finding]:
    newest: dict[str, tuple[str, str | None]] = {}
    """When its newest job was made, and why that one had no facts, by table."""
    watched: list[str | None] = [*sorted(set(at.watch_namespaces))]
    for namespace in watched or [None]:
        async for page in kube.pages(JOBS, namespace):
            for job in page["items"]:
                made = str(job["metadata"].get("creationTimestamp", ""))
                for table, why in _told(job):
                    newest[table] = max(newest.get(table, ("", None)), (made, why), key=lambda one: one[0])
    unread = {table: why for table, (_, why) in sorted(newest.items()) if why is not None}
    for table, why in unread.items():
        yield warn("table", table, f"its log {why}", _CURE)
    if not unread:
        what = "the logs of all tables that jobs write were read" if newest else "no job tells of a table yet"
        yield ok("table", "", what)


def _told(job: Json) -> Iterator[tuple[str, str | None]]:
    """The tables in a job's status, each with why its log was not read."""
    status: Any = job.get("status")
    footprint = status.get("footprint") if isinstance(status, dict) else None
    for one in footprint if isinstance(footprint, list) else ():
        if not isinstance(one, dict) or not isinstance(one.get("table"), str):
            continue
        reasons = one.get("widened")
        texts = [str(text) for text in reasons] if isinstance(reasons, list) else []
        found = next((match for text in texts if (match := _UNREAD.search(text))), None)
        yield one["table"], None if found is None else found["why"]
