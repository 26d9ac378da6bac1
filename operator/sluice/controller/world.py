"""What was last seen of all objects. Watches write it, the admission loop reads it and marks what it wrote itself,
so that a late event never takes back what is already known."""

import asyncio
import logging
import time
from datetime import UTC, datetime
from typing import Any

from sluice.api import names
from sluice.controller.declarations import KnownPolicies
from sluice.controller.jobs import JobView
from sluice.engines import RuntimeProfile
from sluice.tables import Declarations, TableFacts, TableKey

logger = logging.getLogger(__name__)

Json = dict[str, Any]

GONE_SECONDS = 60.0
"""Longer than an answer can be under way that was given while a deleted object was still there."""


class World:
    def __init__(self, profiles: dict[str, RuntimeProfile]) -> None:
        self._profiles = profiles
        self.jobs: dict[str, JobView] = {}
        self.applications: dict[tuple[str, str], Json] = {}
        self.pods: dict[tuple[str, str], Json] = {}
        self.policies: dict[str, Json] = {}
        self.declarations = Declarations()
        """What they say, as far as it was heeded."""
        self._known_policies = KnownPolicies()
        self._policies_differ = False
        self.facts: dict[TableKey, TableFacts] = {}
        self._gone_at: dict[str, float] = {}
        self._dirty: set[str] = set()
        self._changed = asyncio.Event()

    def job_seen(self, body: Json) -> None:
        uid = body["metadata"]["uid"]
        if uid in self._gone_at:
            return
        known = self.jobs.get(uid)
        if known is None or _is_newer(body, known.body):
            self.jobs[uid] = known.now(body, self.declarations.names) if known else self._arrived(body)
            self.mark(uid)

    def job_gone(self, uid: str) -> None:
        self._note_gone(uid)
        self.jobs.pop(uid, None)
        self.mark(uid)

    def policy_seen(self, body: Json) -> None:
        uid = body["metadata"]["uid"]
        known = self.policies.get(uid)
        if uid not in self._gone_at and (known is None or _is_newer(body, known)):
            self.policies[uid] = body
            if known is None or known["metadata"]["generation"] != body["metadata"]["generation"]:
                self._policy_differs()

    def policy_gone(self, uid: str) -> None:
        self._note_gone(uid)
        if self.policies.pop(uid, None) is not None:
            self._policy_differs()

    def heed_policies(self) -> None:
        """After their changes names may lead elsewhere: what was concluded from that is concluded again, by all at once."""
        if not self._policies_differ:
            return
        self._policies_differ = False
        before = self.declarations.names
        self.declarations, ignored = self._known_policies.declarations(self.policies.values())
        for why in ignored:
            logger.warning("%s", why)
        differing = self.declarations.names.differing(before)
        if differing:
            self.jobs = {
                uid: job.renamed(self.declarations.names, differing) for uid, job in self.jobs.items()
            }

    def table_seen(self, key: TableKey, facts: TableFacts) -> None:
        """What was concluded from other facts is concluded again: by those who wait, and of those who hold."""
        if self.facts.get(key) == facts:
            return
        self.facts[key] = facts
        for uid, job in list(self.jobs.items()):
            if job.depends_on(key):
                self.jobs[uid] = job.judged_anew()
                self.mark(uid)

    def application_seen(self, body: Json) -> None:
        self._seen(self.applications, body)

    def application_gone(self, body: Json) -> None:
        self._gone(self.applications, body)

    def pod_seen(self, body: Json) -> None:
        self._seen(self.pods, body)

    def pod_gone(self, body: Json) -> None:
        self._gone(self.pods, body)

    def jobs_listed(self, listed: Json, namespace: str | None) -> None:
        """A full list of jobs. What it does not show is gone, unless it is younger than the list."""
        bodies = sorted(listed["items"], key=_age)
        there = {body["metadata"]["uid"] for body in bodies}
        for uid, job in list(self.jobs.items()):
            if uid not in there and _was_there(job.body, listed, namespace):
                self.job_gone(uid)
        for body in bodies:
            self.job_seen(body)

    def policies_listed(self, listed: Json, namespace: str | None) -> None:
        there = {body["metadata"]["uid"] for body in listed["items"]}
        for uid, body in list(self.policies.items()):
            if uid not in there and _was_there(body, listed, namespace):
                self.policy_gone(uid)
        for body in listed["items"]:
            self.policy_seen(body)

    def replace_all(self, kind: dict[tuple[str, str], Json], listed: Json, namespace: str | None) -> None:
        """A full list of applications or pods, likewise."""
        there = {_key(body): body for body in listed["items"]}
        for key, body in list(kind.items()):
            if key not in there and _was_there(body, listed, namespace):
                self._gone(kind, body)
        for body in there.values():
            self._seen(kind, body)

    def mark(self, uid: str) -> None:
        self._dirty.add(uid)
        self._changed.set()

    def mark_all(self) -> None:
        for uid in self.all_uids():
            self.mark(uid)

    def all_uids(self) -> set[str]:
        return set(self.jobs) | self.orphan_uids()

    async def changes(self, patience: float) -> set[str]:
        """The uids of jobs about which something changed; none after `patience` seconds without a change."""
        if not self._changed.is_set():
            try:
                await asyncio.wait_for(self._changed.wait(), patience)
            except TimeoutError:
                return set()
        self._changed.clear()
        dirty, self._dirty = self._dirty, set()
        return dirty

    def applications_of(self, uid: str) -> list[Json]:
        return [body for body in self.applications.values() if _job_uid(body) == uid]

    def pods_of(self, uid: str) -> list[Json]:
        return [body for body in self.pods.values() if _job_uid(body) == uid]

    def orphan_uids(self) -> set[str]:
        """Jobs that are gone, while something of theirs is still there."""
        return {_job_uid(body) for body in (*self.applications.values(), *self.pods.values())} - set(
            self.jobs
        )

    def _policy_differs(self) -> None:
        self._policies_differ = True
        self.mark_all()

    def _arrived(self, body: Json) -> JobView:
        return JobView(body, self._profiles, datetime.now(UTC), self.facts, self.declarations.names)

    def _seen(self, kind: dict[tuple[str, str], Json], body: Json) -> None:
        if _uid(body) in self._gone_at:
            return
        known = kind.get(_key(body))
        if known is None or _uid(known) != _uid(body) or _is_newer(body, known):
            kind[_key(body)] = body
            self.mark(_job_uid(body))

    def _gone(self, kind: dict[tuple[str, str], Json], body: Json) -> None:
        self._note_gone(_uid(body))
        known = kind.get(_key(body))
        if known is not None and _uid(known) == _uid(body):
            del kind[_key(body)]
            self.mark(_job_uid(body))

    def _note_gone(self, uid: str) -> None:
        """A uid never comes back, but a list or an answer that was given before its end may still come in."""
        now = time.monotonic()
        self._gone_at.setdefault(uid, now)
        while now - next(iter(self._gone_at.values())) > GONE_SECONDS:
            del self._gone_at[next(iter(self._gone_at))]


def is_held(body: Json) -> bool:
    """Whether our finalizer keeps an application or a pod, as long as it stands for leases."""
    return names.FINALIZER_LEASE in body["metadata"].get("finalizers", [])


def _key(body: Json) -> tuple[str, str]:
    return body["metadata"]["namespace"], body["metadata"]["name"]


def _uid(body: Json) -> str:
    return str(body["metadata"]["uid"])


def _job_uid(body: Json) -> str:
    return str(body["metadata"].get("labels", {}).get(names.LABEL_JOB_UID, ""))


def _was_there(body: Json, listed: Json, namespace: str | None) -> bool:
    """Whether a list of the namespace (None: of all) would show the object if it still existed."""
    if namespace is not None and body["metadata"]["namespace"] != namespace:
        return False
    return int(body["metadata"]["resourceVersion"]) <= int(listed["metadata"]["resourceVersion"])


def _age(body: Json) -> tuple[str, int]:
    """Jobs created within one second keep the order of their first writes, as far as it can still be told."""
    metadata = body["metadata"]
    return metadata["creationTimestamp"], int(metadata["resourceVersion"])


def _is_newer(body: Json, known: Json) -> bool:
    return int(body["metadata"]["resourceVersion"]) > int(known["metadata"]["resourceVersion"])
