"""Who starts drivers, and who else touches the tables: the operator (as far as the grant model lets it), the Spark
operator, the user, a foreign writer, and time, which cleans up logs."""

from collections.abc import Iterator
from itertools import product

from protocol.runs.delta import cleaned_up
from protocol.runs.state import Driver, Job, Setting, State, spend, with_job, with_table
from protocol.search import Step


class Surroundings:
    def __init__(self, setting: Setting):
        self.design = setting.design
        self.programs = setting.programs
        self.attempts = setting.attempts
        self.durable = setting.durable
        self.keyed = setting.keyed

    def steps(self, s: State) -> Iterator[Step]:
        for at, job in enumerate(s.jobs):
            yield from self._attempts(s, at, job)
        yield from self._user(s)
        if s.budget.foreign:
            for at, table in enumerate(s.tables):
                if not table.exists:
                    continue
                grown = table._replace(matching=1, changes=table.changes + 1)
                yield Step(
                    "foreign writer",
                    f"adds a row to table {at}",
                    with_table(spend(s, foreign=1), at, grown),
                    fault=True,
                )
        if s.budget.cleanups:
            yield from self._clean_up(spend(s, cleanups=1))
        if s.budget.backups:
            tokens = s.tokens if self.design.tokens_survive_backup else 1
            yield Step(
                "operator",
                "is restored from an old backup",
                spend(s, backups=1)._replace(tokens=tokens),
                fault=True,
            )
        if s.budget.resubmissions:
            for d in s.drivers:
                twin = Driver(d.job, d.uid, d.attempt, d.token, d.app)
                after = spend(s, resubmissions=1)._replace(drivers=(*s.drivers, twin))
                yield Step(
                    "Spark operator", f"starts uid{d.uid}/attempt{d.attempt} once more", after, fault=True
                )

    def _clean_up(self, s: State) -> Iterator[Step]:
        """Each log from its beginning to anywhere."""
        for keeps in product(*(range(len(table.log) + 1) for table in s.tables)):
            kept = self.design.set_transactions_kept
            tables = tuple(cleaned_up(t, k, kept) for t, k in zip(s.tables, keeps, strict=True))
            what = f"passes the logs' retention: they are cleaned up but for {' and '.join(map(str, keeps))}"
            yield Step("time", what, s._replace(tables=tables), fault=True)

    def _attempts(self, s: State, at: int, job: Job) -> Iterator[Step]:
        if job.outcome or not self._free(s, job):
            return
        alive = any(d.alive for d in s.drivers if d.uid == job.uid)
        if job.attempts >= self.attempts:
            if not alive:
                yield Step(
                    "operator",
                    f"has no attempt left for uid{job.uid}",
                    with_job(s, at, job._replace(outcome="Failed")),
                )
        elif not alive:
            yield Step(
                "operator", f"starts attempt {job.attempts + 1} of uid{job.uid}", self._started(s, at, job)
            )
        elif s.budget.suspicions and (self._fenceable(s, job) or not self.design.missing_table_unfenceable):
            after = self._started(spend(s, suspicions=1), at, job)
            yield Step(
                "operator",
                f"thinks uid{job.uid}/attempt{job.attempts} lost, starts the next",
                after,
                fault=True,
            )

    def _fenceable(self, s: State, job: Job) -> bool:
        """A fence on a table that isn't there would create it: the next attempt waits for proof of death instead."""
        return all(s.tables[table].exists for _, table in self.programs[job.spec])

    def _free(self, s: State, job: Job) -> bool:
        """The lease of the run key, or of the slot, passes on when its holder is dead or fenced, never before."""
        if not self.design.successor_waits:
            return True
        for d in s.drivers:
            if d.uid != job.uid and d.alive:
                fenced = any(o.uid == d.uid and o.attempt > d.attempt and o.succeeded for o in s.drivers)
                if not fenced:
                    return False
        return True

    def _started(self, s: State, at: int, job: Job) -> State:
        app = job.run_key
        if not self.durable:
            app = "slot" if self.design.retry_keeps_slot or not job.attempts else "another slot"
        driver = Driver(at, job.uid, job.attempts + 1, s.tokens, app)
        s = with_job(s, at, job._replace(attempts=job.attempts + 1, first_token=job.first_token or s.tokens))
        return s._replace(drivers=(*s.drivers, driver), tokens=s.tokens + 1)

    def _user(self, s: State) -> Iterator[Step]:
        """Re-creates the last job: it may have ended, or be in the middle of its work."""
        last = s.jobs[-1]
        if not s.budget.creations:
            return
        for spec in range(len(self.programs)):
            if spec != last.spec and not s.budget.respecs:
                continue
            after = spend(s, creations=1, respecs=int(spec != last.spec))
            if not last.outcome:
                after = with_job(after, len(s.jobs) - 1, last._replace(outcome="Deleted"))
            key = last.run_key if self.keyed else f"uid{last.uid + 1}"
            after = after._replace(jobs=(*after.jobs, Job(last.uid + 1, key, spec)))
            what = "re-creates the job" if self.keyed else "creates another job"
            yield Step("user", f"{what} with spec {spec}", after, fault=True)
