"""Everything that is not ours: the Spark operator, kubelet, garbage collector, nodes, Redis' misfortunes, users."""

from collections.abc import Iterator

from protocol.grants.evidence import is_missing, tells
from protocol.grants.state import (
    FOREIGN,
    NEW,
    Backup,
    Job,
    Key,
    Operator,
    Redis,
    Run,
    Setting,
    State,
    spend,
    with_job,
    with_run,
)
from protocol.search import Step


class Surroundings:
    def __init__(self, setting: Setting):
        self.setting = setting
        self.design = setting.design

    def steps(self, s: State) -> Iterator[Step]:
        if s.enforced < s.floor and not self.setting.lagging_policy:
            yield Step("API server", f"the last one enforces epoch {s.floor}", s._replace(enforced=s.floor))
        for run in s.runs:
            yield from self._spark_operator(s, run)
            yield from self._driver(s, run)
            yield from self._objects(s, run)
            yield from self._node(s, run)
            yield from self._meddling(s, run)
            yield from self._drivers_account(s, run)
        yield from self._redis(s)
        yield from self._api_server(s)
        yield from self._user(s)

    def _spark_operator(self, s: State, run: Run) -> Iterator[Step]:
        who = "Spark operator"
        if s.went_back or run.token == FOREIGN:
            return
        if run.app == "new" and not run.deleting and not run.submitting:
            yield Step(
                who, f"reads {run.key} and begins to submit it", with_run(s, run._replace(submitting=True))
            )
        if run.submitting and run.pod == "none":
            app = "submitted" if run.app == "new" else run.app
            ran = run._replace(submitting=False, app=app, pod="running", process="alive", succeeded=False)
            ran = ran._replace(pod_held=self.design.finalizers, told=app == "submitted", word="")
            yield Step(who, f"the driver of {run.key} is created", with_run(s, ran))
        elif run.submitting:
            app = "ended" if run.app == "new" else run.app
            ran = run._replace(submitting=False, app=app)
            yield Step(who, f"the driver's name of {run.key} is taken: submission failed", with_run(s, ran))
        looks = run.app == "submitted" and not run.deleting
        if looks and run.pod not in ("running", "gated"):
            yield Step(who, f"marks {run.key} as ended", with_run(s, run._replace(app="ended")))
        if s.budget.wrong_failures and (looks or (run.app == "new" and run.submitting)):
            after = with_run(spend(s, wrong_failures=1), run._replace(app="ended"))
            yield Step(who, f"marks {run.key} FAILED: 'driver pod not found'", after, fault=True)
        if s.budget.wrong_failures and run.app == "new" and run.submitting:
            after = with_run(spend(s, wrong_failures=1), run._replace(app="ended", submitting=False))
            yield Step(who, f"can't submit {run.key}: FAILED without a driver", after, fault=True)
        if s.budget.resubmissions and run.app == "submitted" and not run.deleting:
            after = with_run(spend(s, resubmissions=1), run._replace(app="new", told=False))
            yield Step(who, f"loses its word that it has submitted {run.key}", after, fault=True)

    def _driver(self, s: State, run: Run) -> Iterator[Step]:
        if run.process != "alive":
            return
        earlier = [
            r for r in s.runs if r.key[:2] == run.key[:2] and r.key.attempt < run.key.attempt and r.writes
        ]
        if earlier and not run.fenced and self.setting.fenceable and self.design.fence:
            after = s
            for zombie in earlier:
                after = with_run(after, zombie._replace(fenced=True))
            yield Step(f"driver {run.key}", "fences the attempts before it", after)
        elif run.pod == "running" and not run.fenced:
            after = with_run(s, run._replace(process="dead", pod="terminated", succeeded=True))
            yield Step(f"driver {run.key}", "commits, reports and ends", after)
        elif run.pod == "running":
            after = with_run(s, run._replace(process="dead", pod="terminated"))
            yield Step(f"driver {run.key}", "finds itself fenced and ends", after)
        if s.budget.driver_failures and run.pod == "running":
            after = with_run(spend(s, driver_failures=1), run._replace(process="dead", pod="terminated"))
            yield Step(f"driver {run.key}", "dies", after, fault=True)

    def _objects(self, s: State, run: Run) -> Iterator[Step]:
        job = s.jobs[run.key.job]
        if run.app != "gone" and not run.deleting and (job is None or job.uid != run.key.uid):
            after = with_run(s, run._replace(deleting=True))
            yield Step("garbage collector", f"deletes {run.key}: its job is gone", after)
        if run.deleting and not run.held and run.app != "gone":
            stays = run.pod_held or run.pod in ("gated", "running")
            gone = run._replace(app="gone", pod=run.pod if stays else "none")
            yield Step("API server", f"the application of {run.key} is gone", with_run(s, gone))
        if run.pod == "terminated" and not run.pod_held and (run.app == "gone" or run.deleting):
            after = with_run(s, run._replace(pod="none"))
            yield Step("API server", f"the driver pod of {run.key} is gone", after)
        if run.pod == "lost" and not run.pod_held and run.deleting:
            after = with_run(s, run._replace(pod="none"))
            yield Step("API server", f"the pod of the lost driver of {run.key} is gone", after)
        let_go = run.app == "gone" or not run.held
        if let_go and run.pod == "gated" and not (run.submitting and self.design.placeholder_kept):
            after = with_run(s, run._replace(pod="none"))
            yield Step("operator", f"removes the placeholder of {run.key}", after)

    def _node(self, s: State, run: Run) -> Iterator[Step]:
        if run.deleting and run.pod == "running":
            after = with_run(s, run._replace(process="dead", pod="terminated"))
            yield Step("kubelet", f"stops the deleted driver of {run.key}", after)
        orphaned = run.pod in ("none", "forged") or (run.app == "gone" and run.pod == "running")
        if orphaned and run.process == "alive" and not run.tombstone:
            left = "forged" if run.pod == "forged" else "terminated" if run.pod_held else "none"
            after = with_run(s, run._replace(process="dead", pod=left))
            yield Step("kubelet", f"stops the orphaned driver of {run.key}", after)
        if run.pod == "running" and run.process == "dead":
            after = with_run(s, run._replace(pod="terminated"))
            yield Step("kubelet", f"tells that the driver of {run.key} has ended", after)
        if s.budget.node_losses and run.pod == "running":
            after = with_run(spend(s, node_losses=1), run._replace(pod="lost", word="owed"))
            what = f"is cut off with the driver of {run.key}; PodGC marks the pod Failed"
            yield Step("node", what, after, fault=True)
        if run.pod == "lost":
            after = with_run(s, run._replace(process="dead", pod="terminated"))
            yield Step("node", f"is back, and the driver of {run.key} known terminated", after)
        if is_missing(run, self.design) and run.held and run.word == "owed":
            after = with_run(s, run._replace(process="dead", word="given"))
            yield Step("human", f"says that the driver of {run.key} is dead", after)
        if run.tombstone and run.app == "gone" and run.word:
            after = with_run(s, run._replace(process="dead", tombstone=False))
            yield Step("human", f"says that the node of {run.key} is dead", after)

    @staticmethod
    def _meddling(s: State, run: Run) -> Iterator[Step]:
        if s.budget.app_deletions and run.app != "gone" and not run.deleting:
            after = with_run(spend(s, app_deletions=1), run._replace(deleting=True))
            yield Step("user", f"deletes the application of {run.key}", after, fault=True)
        if s.budget.strips and run.pod == "running" and run.held:
            after = with_run(spend(s, strips=1), run._replace(held=False))
            yield Step("user", f"strips the application of {run.key} of its finalizer", after, fault=True)
        there = run.pod == "running" or (run.pod == "lost" and run.held)
        if s.budget.strips and there and run.pod_held:
            after = with_run(spend(s, strips=1), run._replace(pod_held=False, word="owed"))
            yield Step("user", f"strips the driver of {run.key} of its finalizer", after, fault=True)
        if s.budget.early_words and run.app != "gone" and not run.early and not run.word:
            after = with_run(spend(s, early_words=1), run._replace(early=True))
            yield Step("user", f"says in advance that the driver of {run.key} is dead", after, fault=True)
        if s.budget.pod_deletions and run.pod == "terminated" and not run.pod_held:
            after = with_run(spend(s, pod_deletions=1), run._replace(pod="none"))
            yield Step("user", f"deletes the ended driver's pod of {run.key}", after, fault=True)
        if run.token == FOREIGN:
            after = s._replace(runs=tuple(r for r in s.runs if r.key != run.key))
            yield Step("user", f"deletes the application that bears the name of {run.key}", after)

    def _drivers_account(self, s: State, run: Run) -> Iterator[Step]:
        """What the account of a driver, or an editor, may do to pods where no admission policy refuses it."""
        who = "driver's account"
        if s.budget.removals and run.pod in ("running", "lost") and run.held:
            gone = run._replace(pod="none", pod_held=False, word="owed")
            after = with_run(spend(s, removals=1), gone)
            yield Step(who, f"makes the pod of {run.key} go while its driver runs", after, fault=True)
        if s.budget.forgeries and run.pod == "none" and run.app != "gone":
            after = with_run(spend(s, forgeries=1), run._replace(pod="forged"))
            yield Step(who, f"makes a pod of the name and record of {run.key}, which ends", after, fault=True)
        if s.budget.unblocked and run.pod == "gated":
            left = run if self.design.placeholder_held else run._replace(pod="none")
            after = with_run(spend(s, unblocked=1), left)
            yield Step(who, f"deletes the placeholder of {run.key}", after, fault=True)

    def _api_server(self, s: State) -> Iterator[Step]:
        if s.budget.backups and s.budget.api_restores:
            backup = Backup(s.holder, s.lease_epoch, s.floor, s.jobs, s.runs)
            after = spend(s, backups=1)._replace(backup=backup)
            yield Step("API server", "is backed up", after, fault=True)
        if s.backup is not None and s.budget.api_restores:
            after = self._restored(spend(s, api_restores=1), s.backup)
            yield Step("API server", "goes back to its backup", after, fault=True)
        if s.went_back and self._all_is_known(s):
            yield Step("human", "starts the Spark operator again", s._replace(went_back=0))

    def _all_is_known(self, s: State) -> bool:
        """Whether the leader tells that all is known: nothing that came back is without a lease any more."""
        leader = s.operators[s.holder]
        known = {lease.token for lease in s.redis.leases}
        return (
            leader.role == "leading"
            and s.redis.epoch == leader.epoch > s.went_back
            and all(run.token in known or not tells(run, self.design) for run in s.runs)
            and all(job is None or job.phase != "granted" or job.token in known for job in s.jobs)
        )

    def _restored(self, s: State, backup: Backup) -> State:
        """What really runs goes on."""
        newest = max(s.redis.epoch, s.lease_epoch, *(operator.epoch for operator in s.operators))
        before = {run.key: run for run in backup.runs}
        runs = []
        for run in s.runs:
            was = before.get(run.key, run._replace(app="gone", pod="none", held=False, pod_held=False))
            runs.append(
                was._replace(
                    submitting=False, process=run.process, fenced=run.fenced, succeeded=run.succeeded
                )
            )
        idle = tuple(
            hand._replace(doing="idle", job=None, token=None, version=NEW) for hand in s.operators[0].hands
        )
        operators = tuple(
            operator if who == s.holder or not self.setting.dead_leaders else Operator(hands=idle)
            for who, operator in enumerate(s.operators)
        )
        return s._replace(
            operators=operators,
            holder=backup.holder,
            lease_epoch=backup.lease_epoch,
            floor=backup.floor,
            enforced=min(s.enforced, backup.floor),
            jobs=backup.jobs,
            runs=tuple(runs),
            backup=None,
            went_back=newest if self.design.api_going_back_noticed else 0,
        )

    @staticmethod
    def _redis(s: State) -> Iterator[Step]:
        if s.budget.losses:
            yield Step(
                "Redis",
                "loses everything",
                spend(s, losses=1)._replace(redis=Redis(0, NEW, frozenset())),
                fault=True,
            )
        if s.budget.saves and s.budget.restores:
            yield Step("Redis", "saves its state", spend(s, saves=1)._replace(saved=s.redis), fault=True)
        if s.saved is not None and s.budget.restores and s.saved != s.redis:
            after = spend(s, restores=1)._replace(redis=s.saved, saved=None)
            yield Step("Redis", "goes back to its saved state", after, fault=True)

    def _user(self, s: State) -> Iterator[Step]:
        for at, job in enumerate(s.jobs[:1] if self.setting.jobs_alike else s.jobs):
            if job is not None and s.budget.job_deletions:
                yield Step(
                    "user", f"deletes job{at}", with_job(spend(s, job_deletions=1), at, None), fault=True
                )
            if job is None and s.budget.creations:
                after = with_job(spend(s, creations=1), at, Job(s.uids, "a"))._replace(uids=s.uids + 1)
                yield Step("user", f"creates job{at} again", after, fault=True)
            if job is not None and s.budget.foreign_applications:
                key = Key(at, job.uid, job.attempt + (job.phase == "waiting"))
                if s.run(key) is None:
                    foreign = Run(key, FOREIGN, job.spec, app="ended", held=False, pod="terminated")
                    after = with_run(spend(s, foreign_applications=1), foreign)
                    yield Step("user", f"creates an application with the name of {key}", after, fault=True)
            if job is not None and s.budget.edits:
                edited = job._replace(spec="b" if job.spec == "a" else "a")
                yield Step(
                    "user", f"edits the spec of job{at}", with_job(spend(s, edits=1), at, edited), fault=True
                )
        if s.budget.lease_deletions:
            yield Step(
                "user",
                "deletes the Lease object",
                spend(s, lease_deletions=1)._replace(lease_epoch=0),
                fault=True,
            )
