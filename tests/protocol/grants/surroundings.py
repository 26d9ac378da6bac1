"""Everything that is not ours: the Spark operator, kubelet, garbage collector, nodes, Redis' misfortunes, users."""

from collections.abc import Iterator

from protocol.grants.state import NEW, Job, Redis, Run, Setting, State, spend, with_job, with_run
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
            yield from self._cluster(s, run)
        yield from self._redis(s)
        yield from self._user(s)

    def _spark_operator(self, s: State, run: Run) -> Iterator[Step]:
        who = "Spark operator"
        if run.app == "new" and not run.deleting and not run.submitting and run.pod == "none":
            yield Step(
                who, f"reads {run.key} and begins to submit it", with_run(s, run._replace(submitting=True))
            )
        if run.submitting and run.pod == "none":
            app = "submitted" if run.app == "new" else run.app
            ran = run._replace(submitting=False, app=app, pod="running", process="alive")
            yield Step(who, f"the driver of {run.key} is created", with_run(s, ran))
        elif run.submitting:
            app = "ended" if run.app == "new" else run.app
            ran = run._replace(submitting=False, app=app)
            yield Step(who, f"the driver's name of {run.key} is taken: submission failed", with_run(s, ran))
        if run.app == "submitted" and run.pod in ("terminated", "lost"):
            yield Step(who, f"marks {run.key} as ended", with_run(s, run._replace(app="ended")))
        if s.budget.wrong_failures and (run.app == "submitted" or (run.app == "new" and run.submitting)):
            after = with_run(spend(s, wrong_failures=1), run._replace(app="ended"))
            yield Step(who, f"marks {run.key} FAILED: 'driver pod not found'", after, fault=True)

        if s.budget.wrong_failures and run.app == "new" and run.submitting:
            after = with_run(spend(s, wrong_failures=1), run._replace(app="ended", submitting=False))
            yield Step(who, f"can't submit {run.key}: FAILED without a driver", after, fault=True)

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

    def _cluster(self, s: State, run: Run) -> Iterator[Step]:
        job = s.jobs[run.key.job]
        if run.app != "gone" and not run.deleting and (job is None or job.uid != run.key.uid):
            yield Step(
                "garbage collector",
                f"deletes {run.key}: its job is gone",
                with_run(s, run._replace(deleting=True)),
            )
        if run.deleting and not run.held and run.app != "gone":
            pod = run.pod if run.pod == "gated" else "none"
            yield Step(
                "API server",
                f"the application of {run.key} is gone",
                with_run(s, run._replace(app="gone", pod=pod)),
            )
        if run.deleting and run.pod == "running":
            after = with_run(s, run._replace(process="dead", pod="terminated"))
            yield Step("kubelet", f"stops the deleted driver of {run.key}", after)
        if (
            run.app == "gone"
            and run.pod == "gated"
            and (not run.submitting or not self.design.placeholder_kept)
        ):
            yield Step(
                "operator", f"removes the placeholder of {run.key}", with_run(s, run._replace(pod="none"))
            )
        if run.app == "gone" and run.process == "alive" and not run.tombstone:
            after = with_run(s, run._replace(process="dead", pod="none"))
            yield Step("kubelet", f"stops the orphaned driver of {run.key}", after)
        if s.budget.node_losses and run.pod == "running":
            after = with_run(spend(s, node_losses=1), run._replace(pod="lost"))
            yield Step(
                "node",
                f"is cut off with the driver of {run.key}; PodGC marks the pod Failed",
                after,
                fault=True,
            )
        if run.pod == "lost":
            after = with_run(s, run._replace(process="dead", pod="terminated"))
            yield Step("node", f"is back, and the driver of {run.key} known terminated", after)
        if run.tombstone and run.app == "gone":
            after = with_run(s, run._replace(process="dead", tombstone=False))
            yield Step("human", f"says that the node of {run.key} is dead", after)
        if s.budget.app_deletions and run.app != "gone" and not run.deleting:
            after = with_run(spend(s, app_deletions=1), run._replace(deleting=True))
            yield Step("user", f"deletes the application of {run.key}", after, fault=True)

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
