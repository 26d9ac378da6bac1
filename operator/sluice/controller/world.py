"""What was last seen of all objects. Watches write it, the admission loop reads it and marks what it wrote itself,
so that a late event never takes back what is already known."""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any

from sluice.controller.declarations import KnownPolicies
from sluice.controller.objects import Gone, Objects, is_newer, was_there
from sluice.engines import RuntimeProfile
from sluice.lifecycle.evidence import JobEvidence, evidence_of
from sluice.lifecycle.job import JobView
from sluice.tables import Declarations, TableFacts, TableKey

logger = logging.getLogger(__name__)

Json = dict[str, Any]


class World:
    def __init__(self, profiles: dict[str, RuntimeProfile]) -> None:
        self._profiles = profiles
        self.jobs: dict[str, JobView] = {}
        self._gone = Gone()
        self.applications = Objects(self._gone, self.mark)
        self.pods = Objects(self._gone, self.mark)
        self.policies: dict[str, Json] = {}
        self.declarations = Declarations()
        """What they say, as far as it was heeded."""
        self._known_policies = KnownPolicies()
        self._policies_differ = False
        self.facts: dict[TableKey, TableFacts] = {}
        self._ending_namespaces: set[str] = set()
        self._evidence: dict[str, JobEvidence] = {}
        """As long as nothing changed of the job and of what is its own."""
        self._dirty: set[str] = set()
        self._changed = asyncio.Event()

    def job_seen(self, body: Json) -> None:
        uid = body["metadata"]["uid"]
        if uid in self._gone:
            return
        known = self.jobs.get(uid)
        if known is None or is_newer(body, known.body):
            if known is None and "deletionTimestamp" not in body["metadata"]:
                self._ending_namespaces.discard(body["metadata"]["namespace"])  # another one of that name
            self.jobs[uid] = known.now(body, self.declarations.names) if known else self._arrived(body)
            self.mark(uid)

    def job_gone(self, uid: str) -> None:
        self._gone.note(uid)
        self.jobs.pop(uid, None)
        self.mark(uid)

    def policy_seen(self, body: Json) -> None:
        uid = body["metadata"]["uid"]
        known = self.policies.get(uid)
        if uid not in self._gone and (known is None or is_newer(body, known)):
            self.policies[uid] = body
            if known is None or known["metadata"]["generation"] != body["metadata"]["generation"]:
                self._policy_differs()

    def policy_gone(self, uid: str) -> None:
        self._gone.note(uid)
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

    def namespace_ends(self, namespace: str) -> None:
        """The API server refuses to create anything there."""
        self._ending_namespaces.add(namespace)
        self.mark_all()

    def jobs_listed(self, listed: Json, namespace: str | None) -> None:
        """A full list of jobs. What it does not show is gone, unless it is younger than the list."""
        bodies = sorted(listed["items"], key=_age)
        there = {body["metadata"]["uid"] for body in bodies}
        for uid, job in list(self.jobs.items()):
            if uid not in there and was_there(job.body, listed, namespace):
                self.job_gone(uid)
        for body in bodies:
            self.job_seen(body)

    def policies_listed(self, listed: Json, namespace: str | None) -> None:
        there = {body["metadata"]["uid"] for body in listed["items"]}
        for uid, body in list(self.policies.items()):
            if uid not in there and was_there(body, listed, namespace):
                self.policy_gone(uid)
        for body in listed["items"]:
            self.policy_seen(body)

    def mark(self, uid: str) -> None:
        """Something of this job, or of what is its own, is otherwise than before."""
        self._evidence.pop(uid, None)
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

    def evidence(self, uid: str) -> JobEvidence:
        """All that stands for attempts of the job with this uid."""
        known = self._evidence.get(uid)
        if known is None:
            job, applications, pods = self.jobs.get(uid), self.applications.of(uid), self.pods.of(uid)
            ending = self._ending_namespaces
            known = evidence_of(uid, job, applications, pods, ending_namespaces=ending)
            if job is not None or applications or pods:
                self._evidence[uid] = known
        return known

    def orphan_uids(self) -> set[str]:
        """Jobs that are gone, while something of theirs is still there."""
        return (self.applications.uids | self.pods.uids) - set(self.jobs)

    def _policy_differs(self) -> None:
        self._policies_differ = True
        self.mark_all()

    def _arrived(self, body: Json) -> JobView:
        return JobView(body, self._profiles, datetime.now(UTC), self.facts, self.declarations.names)


def _age(body: Json) -> tuple[str, int]:
    """Jobs created within one second keep the order of their first writes, as far as it can still be told."""
    metadata = body["metadata"]
    return metadata["creationTimestamp"], int(metadata["resourceVersion"])
