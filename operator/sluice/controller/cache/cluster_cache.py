"""Keeps what was last seen of all objects. Watches write it; the acting loop reads it and marks what it wrote itself, so that a
late event never takes back what is already known."""

import asyncio
import logging
import time
from collections.abc import Collection, Iterable
from contextlib import suppress

from sluice.api.base import Json
from sluice.api.engine_kind import EngineKind
from sluice.controller.cache.job_counts import JobCounts
from sluice.controller.cache.jobs_by_checkpoint import JobsByCheckpoint
from sluice.controller.cache.jobs_by_policy import JobsByPolicy
from sluice.controller.cache.jobs_by_slot import JobsBySlot
from sluice.controller.cache.owned_objects import OwnedApplications, OwnedObjects
from sluice.controller.cache.paused_streams import PausedStreams
from sluice.controller.cache.policy_declarations import PolicyDeclarations, table_of, with_reports
from sluice.controller.cache.reported_name_intake import ReportedNameIntake
from sluice.controller.cache.run_reports import RunReports
from sluice.controller.process import clock
from sluice.engines import RuntimeProfile
from sluice.kube.mirror import Mirror, uid_of
from sluice.kube.resources import JOBS, PODS, POLICIES
from sluice.lifecycle.evidence import finished_jobs
from sluice.lifecycle.evidence.attempt_evidence import JobEvidence, evidence_of
from sluice.lifecycle.job import pruned_objects
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.parsed_statuses import ParsedStatuses
from sluice.lifecycle.job.table_dependents import TableDependents
from sluice.lifecycle.spec.compiled_spec import CompiledSpecs
from sluice.lifecycle.spec.footprint_violations import FootprintViolations
from sluice.policies.conditions import LeftOut
from sluice.tables import Declarations, TableFacts, TableKey
from sluice.tables.names import Names, spelled
from sluice.tables.owners import NOBODY, Owners
from sluice.tables.reported_names import ReportedNames
from sluice.tables.table_copies import TableCopies

logger = logging.getLogger(__name__)


class ClusterCache:
    def __init__(
        self,
        profiles: dict[str, RuntimeProfile],
        engines: Collection[EngineKind] = (EngineKind.KUBEFLOW,),
        owners: Owners = NOBODY,
    ) -> None:
        self.profiles = profiles
        self._works = CompiledSpecs()
        self._statuses = ParsedStatuses()
        self._strayed = FootprintViolations()
        self.resting = TableDependents()
        """Jobs that are judged anew when a table turns out to be different."""
        self.settled: set[str] = set()
        """Jobs that rest on tables, and that have finished or are gone since somebody last took them out."""
        self.jobs: dict[str, JobView] = {}
        self.policies = Mirror(POLICIES, self._policy_changed)
        self.reports = RunReports()
        self.heard_names = ReportedNameIntake()
        self._job_bodies = Mirror(JOBS, self._job_changed, keep=self._kept)
        self.applications = OwnedApplications(engines, self.mark, pruned_objects.of_application)
        self.pods = OwnedObjects(PODS, self.mark, pruned_objects.of_pod)
        self.mirrors = (self.policies, self._job_bodies, *self.applications.mirrors, self.pods)
        """The kinds in the order in which they are to be listed: a lease's record moves from jobs to applications to pods, and
        must not be missed."""
        for mirror in self.mirrors:
            mirror.went_back = self._went_back
        self.returns = 0
        """How often the API server went back to an earlier state."""
        self.returns_heeded = 0
        self.declarations = Declarations()
        """What policies say, as far as it was heeded, and where runs reported that names lead."""
        self._by_policies: tuple[Declarations, tuple[LeftOut, ...]] = Declarations(), ()
        self._owners = owners
        self._known_policies = PolicyDeclarations(owners)
        self._spoken_of: set[TableKey] | None = None
        """Tables of policies that changed since policies were last heeded, as they were before and as they are now. None: no policy
        did."""
        self.reported_names = ReportedNames()
        self._names_differ = False
        self.policies_heeded = 0
        """How often a change of policies had consequences."""
        self.policies_left_out: dict[str, LeftOut] = {}
        """Policies by namespace and name."""
        self.facts: dict[TableKey, TableFacts] = {}
        self.copies = TableCopies(owners)
        self._ending_namespaces: set[str] = set()
        self._evidence: dict[str, JobEvidence] = {}
        """Kept as long as nothing changed of the job and of what belongs to it."""
        self._dirty: dict[str, None] = {}
        """Uids in the order in which they were marked."""
        self.tally = JobCounts()
        self.slots = JobsBySlot()
        self.of_policies = JobsByPolicy()
        self.paused, self.checkpoints = PausedStreams(), JobsByCheckpoint()
        self._changed, self.forgotten = asyncio.Event(), asyncio.Event()
        """Set when what was seen no longer counts: whoever follows from there begins anew."""
        self._marked_at: float | None = None
        self.seconds_waited = 0.0
        """When the first of the changes that were last taken was marked."""

    def job_seen(self, body: Json) -> None:
        self._job_bodies.seen(body)

    def job_gone(self, uid: str) -> None:
        self._job_bodies.gone(uid)

    def policy_seen(self, body: Json) -> None:
        self.policies.seen(body)

    def policy_gone(self, uid: str) -> None:
        self.policies.gone(uid)

    def forget(self) -> None:
        """Forgets everything that was seen, for an API server that went back to an earlier time. Until all is listed again,
        nothing may be concluded from what is missing here."""
        for mirror in self.mirrors:
            mirror.forget()
        self._ending_namespaces.clear()
        self.forgotten.set()

    @property
    def is_of_the_past(self) -> bool:
        """Whether the API server went back to an earlier state, and it isn't clear yet what it no longer knows."""
        return self.returns > self.returns_heeded

    def _went_back(self) -> None:
        self.returns += 1
        self.forget()
        self._changed.set()

    def leaves_alone(self, policy: str) -> bool:
        """Whether nothing is done for the table of this policy, which is called by namespace and name."""
        left_out = self.policies_left_out.get(policy)
        return left_out is not None and not left_out.goes_on

    def heed_policies(self) -> None:
        """Takes in changed policies, and what runs reported of names: these may lead elsewhere, so what was concluded from that is
        concluded again, for all at once."""
        if self._spoken_of is not None:
            self._by_policies = self._known_policies.declarations(self.policies.values())
        elif not self._names_differ:
            return
        spoken_of, self._spoken_of, self._names_differ = self._spoken_of or set(), None, False
        declared_before, before = self.declarations, self.declarations.names
        declared, left_out = self._by_policies
        self.declarations, by_reports = with_reports(declared, self.reported_names, self._owners)
        self._heed_left_out((*left_out, *by_reports))
        self.policies_heeded += 1
        spoken_of |= self.declarations.differing(declared_before)
        self.mark_these(self._resting_on(spoken_of, before, self.declarations.names))
        differing = self.declarations.names.differing(before)
        for uid, job in list(self.jobs.items()) if differing else ():
            is_concerned = job.concludes_from(differing)
            self.jobs[uid] = job.renamed(self.declarations.names, is_concerned=is_concerned)
            if is_concerned:
                self.mark(uid)

    def _resting_on(self, tables: Iterable[TableKey], *names: Names) -> set[str]:
        """The jobs that rest on these tables, by each name and location under which they may know them."""
        keys = {one.key_of(table) for one in names for table in tables}.union(tables)
        others = {TableKey.parse(text) for key in keys for text in key.bound}
        known_as = {name for key in keys | others if key.is_name for name in spelled(key)}
        return {uid for key in keys | others | known_as for uid in self.resting.on(key)}

    def _heed_left_out(self, left_out: tuple[LeftOut, ...]) -> None:
        known, self.policies_left_out = self.policies_left_out, {one.policy: one for one in left_out}
        for one in self.policies_left_out.values():
            before = known.get(one.policy)
            # Not where only the words differ: those of hundreds may differ with each change of one.
            if before is None or before.reason is not one.reason:
                logger.warning("policy %s: %s", one.policy, one.why)

    def names_reported(self, names: ReportedNames) -> None:
        """Takes in where names lead by the word of runs."""
        before, self.reported_names = self.reported_names, names
        if before.leads != names.leads or before.claims != names.claims:
            self._names_differ = True
            self._changed.set()

    def table_seen(self, key: TableKey, facts: TableFacts) -> None:
        """Takes in other facts of a table: what was concluded from them is concluded again for jobs that wait and jobs that
        hold."""
        if self.facts.get(key) == facts:
            return
        self.facts[key] = facts
        self.copies.seen(key, facts.table_id)
        for uid in self.resting.on(key):
            job = self.jobs.get(uid)
            if job is not None and job.depends_on(key):
                self.jobs[uid] = job.judged_anew()
                self.mark(uid)

    def rests_on_nothing(self, uid: str) -> None:
        """Notes that nothing tells this job of changes now: what was understood of it is understood anew if it is asked for
        once more."""
        job = self.jobs.get(uid)
        if job is not None:
            self.jobs[uid] = job.as_it_came()
        self.resting.forget(uid)

    def namespace_ends(self, namespace: str) -> None:
        """Notes that the API server refuses to create anything in the namespace because it is being deleted."""
        if (
            namespace not in self._ending_namespaces
        ):  # else whoever finds it again and again would have all looked at
            self._ending_namespaces.add(namespace)
            self.mark_all()

    def is_ending(self, namespace: str) -> bool:
        """Whether nothing can be created there any more, as was seen."""
        return namespace in self._ending_namespaces

    def mark(self, uid: str) -> None:
        """Marks that something of this job, or of what belongs to it, differs from before."""
        self._evidence.pop(uid, None)
        self._dirty[uid] = None
        self._changed.set()
        if self._marked_at is None:
            self._marked_at = time.monotonic()

    def look_at_all(self) -> None:
        """Has all looked at, though nothing of them differs from before."""
        self._dirty.update(dict.fromkeys(self.all_uids()))
        self._changed.set()

    def mark_all(self) -> None:
        for uid in self.all_uids():
            self.mark(uid)

    def mark_these(self, uids: Iterable[str]) -> None:
        for uid in uids:
            self.mark(uid)

    def all_uids(self) -> set[str]:
        return set(self.jobs) | self.orphan_uids()

    def is_there(self, uid: str) -> bool:
        """Whether the job is there, or anything that belongs to it."""
        return uid in self.jobs or bool(self.applications.of(uid) or self.pods.of(uid))

    def is_done_with(self, uid: str) -> bool:
        """Whether the job is over, and nothing that is left of it may write. Placeholders are still to be put away."""
        job = self.jobs.get(uid)
        try:
            return job is not None and finished_jobs.is_done_with(
                job.body, self.applications.of(uid), self.pods.of(uid)
            )
        except Exception:  # noqa: BLE001 - told where all that there is of it is put together
            return False

    def holds_nothing(self, uid: str) -> bool:
        """Whether the job holds nothing, as far as can be told without putting together all that stands for its attempts."""
        if self.is_done_with(uid):
            return True
        job = self.jobs.get(uid)
        is_new = job is None or (job.unreadable is None and not job.status.attempts)
        return is_new and not self.applications.of(uid) and not self.pods.of(uid)

    def pausing_for(self, uid: str) -> list[JobView]:
        """The streams that pause for this job, or were asked to."""
        return [self.jobs[stream] for stream in self.paused.of(uid) if stream in self.jobs]

    def awake_uids(self) -> list[str]:
        """The jobs of which anything may hold."""
        return [uid for uid in self.all_uids() if not self.is_done_with(uid)]

    def wake(self) -> None:
        """Wakes the loop: there is something to do, though nothing changed."""
        self._changed.set()

    async def wait_for_change(self, patience: float) -> None:
        """Waits for a change, or for this many seconds."""
        if not self._changed.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._changed.wait()

    def take_changes(self) -> list[str]:
        """Takes the uids of jobs about which something changed since this was last called."""
        self._changed.clear()
        dirty, self._dirty = list(self._dirty), {}
        waited = 0.0 if self._marked_at is None else time.monotonic() - self._marked_at
        self.seconds_waited, self._marked_at = waited, None
        return dirty

    def evidence(self, uid: str) -> JobEvidence:
        """Returns all that stands for attempts of the job with this uid."""
        known = self._evidence.get(uid)
        if known is None:
            job, applications, pods = self.jobs.get(uid), self.applications.of(uid), self.pods.of(uid)
            try:
                known = evidence_of(uid, job, applications, pods, ending_namespaces=self._ending_namespaces)
            except Exception as error:
                logger.exception(
                    "job %s: the operator failed on its evidence: all that it may hold is held", uid
                )
                known = JobEvidence(failure=f"the operator failed on it: {error!r}"[:1024])
            if job is not None or applications or pods:
                self._evidence[uid] = known
        return known

    def orphan_uids(self) -> set[str]:
        """Jobs that are gone, while something of theirs is still there."""
        return (self.applications.uids | self.pods.uids) - set(self.jobs)

    def _kept(self, body: Json) -> Json:
        self.reports.seen(body)
        self.heard_names.seen(body)
        return finished_jobs.kept(body)

    def _job_changed(self, before: Json | None, now: Json | None) -> None:
        if now is not None:
            uid = uid_of(now)
            known = self.jobs.get(uid)
            if known is None and "deletionTimestamp" not in now["metadata"]:
                self._ending_namespaces.discard(now["metadata"]["namespace"])  # another one of that name
            job = known.now(now, self.declarations.names) if known else self._arrived(now)
            self.jobs[uid] = job
            self._heed_strayed(self._strayed.seen(uid, now))
            if uid in self.resting and finished_jobs.is_over(now):
                self.settled.add(uid)
            self.mark(uid)
        elif before is not None:
            del self.jobs[uid_of(before)]
            self._strayed.gone(uid_of(before))
            if uid_of(before) in self.resting:
                self.settled.add(uid_of(before))
            self.mark(uid_of(before))
        self.tally.follow(before, now)
        self.slots.follow(before, now)
        self.of_policies.follow(before, now)
        for other in (*self.paused.follow(before, now), *self.checkpoints.follow(before, now)):
            self._dirty[other] = None

    def judge_by_today(self, job: JobView) -> None:
        """Judges a job anew that has waited so long that it will run on other days than those that it was judged by."""
        self.jobs[job.uid] = job.judged_on(clock.now())
        self.mark(job.uid)

    def _heed_strayed(self, hashes: frozenset[str]) -> None:
        """Judges jobs anew whose spec has just turned out to be understood wrongly."""
        if not hashes:
            return
        for uid, job in self.jobs.items():
            if job.has_spec(hashes):
                self.jobs[uid] = job.judged_anew()
                self.mark(uid)

    def _policy_changed(self, before: Json | None, now: Json | None) -> None:
        if before is None or now is None or before["metadata"]["generation"] != now["metadata"]["generation"]:
            self._spoken_of = self._spoken_of or set()
            self._changed.set()
            for body in (one for one in (before, now) if one is not None):
                self._spoken_of.update(key for key in table_of(body) if key is not None)
                self.mark_these(map(uid_of, self.of_policies.of(body)))
        self.tally.follow_policy(before, now)

    def _arrived(self, body: Json) -> JobView:
        names = self.declarations.names
        return JobView(
            body=body,
            profiles=self.profiles,
            arrived_at=clock.now(),
            facts=self.facts,
            names=names,
            works=self._works,
            statuses=self._statuses,
            strayed=self._strayed,
            resting=self.resting,
        )
