"""The runner in its driver: fence, read the logs, run what isn't done, close, report. Between any two steps it may be
paused for as long as the search likes, or die."""

from collections.abc import Iterator

from protocol.runs.delta import commit, matches_nothing, skips
from protocol.runs.invariants import reported
from protocol.runs.state import (
    CLOSING,
    FENCE,
    Driver,
    Job,
    Setting,
    State,
    Table,
    Version,
    spend,
    with_driver,
    with_job,
)
from protocol.search import Step


class Drivers:
    def __init__(self, setting: Setting):
        self.design = setting.design
        self.programs = setting.programs
        self.durable = setting.durable

    def steps(self, s: State) -> Iterator[Step]:
        for at, d in enumerate(s.drivers):
            if not d.alive:
                continue
            name = f"driver uid{d.uid}/attempt{d.attempt}" + ("" if s.drivers.index(d) == at else " (twin)")
            job = next(j for j in s.jobs if j.uid == d.uid)
            for what, after in getattr(self, f"_{d.at}")(s, at, d, job):
                yield Step(name, what, after)
            if s.budget.deaths:
                after = with_driver(spend(s, deaths=1), at, d._replace(at="dead"))
                yield Step(
                    name,
                    "dies" if d.at != "report" else "dies after its commits, before its report",
                    after,
                    fault=True,
                )

    def _tables(self, job: Job) -> tuple[int, ...]:
        return tuple(sorted({table for _, table in self.programs[job.spec]}))

    def _ends(self, s: State, at: int, outcome: str = "") -> State:
        """The driver is over. An outcome that no retry can change is the job's."""
        d = s.drivers[at]
        if outcome:
            s = with_job(s, d.job, s.jobs[d.job]._replace(outcome=outcome))
        return with_driver(s, at, d._replace(at="dead", succeeded=outcome == "Succeeded"))

    # Begin

    def _start(self, s: State, at: int, d: Driver, job: Job) -> Iterator[tuple[str, State]]:
        tables = self._tables(job)
        generation = d.token
        if not self.design.versions_from_token:
            highest = [
                v.generation for t in tables if (v := s.tables[t].version(d.app)) and v.generation < CLOSING
            ]
            generation = max([d.attempt, *(g + 1 for g in highest)])
        fences = d.attempt > 1 and self.design.fence
        first = "fence" if fences and self.design.fence_before_log else "read"
        d = d._replace(at=first, table=tables[0], generation=generation)
        yield f"begins with generation {generation}", with_driver(s, at, d)

    def _fence(self, s: State, at: int, d: Driver, job: Job) -> Iterator[tuple[str, State]]:
        """First a look at what the fence will replace, because its stamp tells that."""
        table = s.tables[d.table]
        now = table.version(d.app)
        following = self._next(d, job, "fence")
        if now is not None and now.generation == CLOSING:
            yield (
                f"needs no fence on table {d.table}: the run is closed",
                with_driver(s, at, following),
            )
        elif not table.exists:
            yield (
                f"can't fence table {d.table}: it doesn't exist",
                with_driver(s, at, following),
            )
        elif now is not None and now.generation > d.generation:
            yield from self._superseded(s, at, now)
        elif skips(table, d.app, d.generation, FENCE):
            yield (
                f"finds its own attempt on table {d.table} already",
                with_driver(s, at, following),
            )
        else:
            looked = d._replace(at="fencing", looked=table.commits, seen=now)
            yield f"looks at table {d.table} before it fences", with_driver(s, at, looked)

    def _fencing(self, s: State, at: int, d: Driver, job: Job) -> Iterator[tuple[str, State]]:
        """Then one append, whatever has been committed since the look: Delta knows nothing of that."""
        following = self._next(d._replace(looked=0, seen=None), job, "fence")
        if skips(s.tables[d.table], d.app, d.generation, FENCE):
            yield f"its fence on table {d.table} is skipped", with_driver(s, at, following)
        else:
            yield f"fences table {d.table}", with_driver(commit(s, d, job, FENCE, "fence"), at, following)

    def _superseded(self, s: State, at: int, now: Version) -> Iterator[tuple[str, State]]:
        whose = "the run closed" if now.generation == CLOSING else f"generation {now.generation} of another"
        yield f"finds {whose}: superseded, ends", self._ends(s, at)

    def _next(self, d: Driver, job: Job, at: str) -> Driver:
        d = d._replace(at=at)
        tables = self._tables(job)
        place = tables.index(d.table) + 1
        if place < len(tables) and (at == "read" or self.design.fence_every_table):
            return d._replace(table=tables[place])
        if at == "fence" and self.design.fence_before_log:
            return d._replace(at="read", table=tables[0])
        if at == "read" and not self.design.fence_before_log and d.attempt > 1 and self.design.fence:
            return d._replace(at="fence", table=tables[0])
        return self._proceed(d, job)

    def _read(self, s: State, at: int, d: Driver, job: Job) -> Iterator[tuple[str, State]]:
        table = s.tables[d.table]
        now = table.version(d.app)
        stamps = [
            c
            for c in table.log
            if c.run_key == job.run_key and c.version.statement and c.version.generation < CLOSING
        ]
        if any(c.spec != job.spec for c in stamps) and self.design.spec_hash_in_stamp:
            yield "reads another spec's stamp: RunKeyReused", self._ends(s, at, "RunKeyReused")
            return
        done = {c.version.statement for c in stamps}
        if self.durable and now is not None and now.generation == CLOSING:
            if now.statement != job.spec and self.design.closing_carries_hash:
                yield "reads another spec's closing: RunKeyReused", self._ends(s, at, "RunKeyReused")
                return
            done |= set(range(1, len(self.programs[job.spec]) + 1))
        else:
            d = d._replace(lost=d.lost or self._history_lost(table, now, job))
        following = self._next(d._replace(done=d.done | done), job, "read")
        if following.lost and following.at != "read" and len(self.programs[job.spec]) not in following.done:
            yield (
                "can't tell what was done, the log is cut off: HistoryLost",
                self._ends(s, at, "HistoryLost"),
            )
            return
        yield (
            f"reads the log of table {d.table}: done {sorted(following.done) or 'nothing'}",
            with_driver(s, at, following),
        )

    def _history_lost(self, table: Table, version: Version | None, job: Job) -> bool:
        """Goes back from fence to fence; each tells what it replaced, so a gap shows. A statement's stamp ends the
        way: who ran it had read what was done before it."""
        while version is not None and not (version.generation < job.first_token and not self.durable):
            stamp = table.stamp(version)
            if stamp is None:
                return self.design.lost_history_refused
            if version.statement != FENCE:
                return False
            if stamp.looked < table.removed and self.design.fence_tells_look:
                return True
            version = stamp.replaced if self.design.fence_tells_replaced else None
        return False

    # Statements

    def _proceed(self, d: Driver, job: Job) -> Driver:
        program = self.programs[job.spec]
        done = d.done
        if self.design.later_statement_counts and done:
            done = frozenset(range(1, max(done) + 1))
        left = [
            number for number in range(1, len(program) + 1) if number > d.statement and number not in done
        ]
        if left:
            return d._replace(at="run", done=done, statement=left[0], table=program[left[0] - 1][1])
        closing = self.durable and self.design.closing_append
        return d._replace(at="close" if closing else "report", done=done, table=self._tables(job)[0])

    def _run(self, s: State, at: int, d: Driver, job: Job) -> Iterator[tuple[str, State]]:
        table = s.tables[d.table]
        what = self.programs[job.spec][d.statement - 1][0]
        if skips(table, d.app, d.generation, d.statement):
            yield (
                f"statement {d.statement}: Delta skips it, which looks like success",
                with_driver(s, at, d._replace(at="check")),
            )
        elif matches_nothing(table, what):
            after = s._replace(settled=s.settled | {(job.run_key, job.spec, d.statement)})
            yield (
                f"statement {d.statement} matches nothing and commits nothing",
                with_driver(after, at, d._replace(at="check")),
            )
        else:
            d = d._replace(at="commit", seen=table.version(d.app), seen_changes=table.changes)
            yield f"statement {d.statement} reads its snapshot", with_driver(s, at, d)

    def _commit(self, s: State, at: int, d: Driver, job: Job) -> Iterator[tuple[str, State]]:
        table = s.tables[d.table]
        what = self.programs[job.spec][d.statement - 1][0]
        if table.version(d.app) != d.seen:
            yield f"statement {d.statement}: ConcurrentTransactionException", self._ends(s, at)
        elif what == "delete" and table.changes != d.seen_changes:
            yield f"statement {d.statement}: ConcurrentAppendException", self._ends(s, at)
        else:
            after = commit(s, d, job, d.statement, what)
            d = d._replace(at="check", seen=None, seen_changes=0)
            yield f"statement {d.statement} commits on table {d.table}", with_driver(after, at, d)

    def _check(self, s: State, at: int, d: Driver, job: Job) -> Iterator[tuple[str, State]]:
        """Was that a success, or a skip? Only the log tells."""
        now = s.tables[d.table].version(d.app)
        if now is not None and now.generation > d.generation and self.design.skip_noticed:
            yield from self._superseded(s, at, now)
        else:
            yield f"goes on after statement {d.statement}", with_driver(s, at, self._proceed(d, job))

    # End

    def _close(self, s: State, at: int, d: Driver, job: Job) -> Iterator[tuple[str, State]]:
        now = s.tables[d.table].version(d.app)
        if now is not None and d.generation < now.generation < CLOSING:
            yield from self._superseded(s, at, now)
        elif now is not None and now.generation == CLOSING:
            yield f"finds table {d.table} closed", with_driver(s, at, self._closed(d, job))
        else:
            after = with_driver(s, at, d._replace(at="closing"))
            yield f"looks at table {d.table} before it closes the run", after

    def _closing(self, s: State, at: int, d: Driver, job: Job) -> Iterator[tuple[str, State]]:
        """One append, which is above every fence: it lands also when a fence has come since the look."""
        after = s
        if not skips(s.tables[d.table], d.app, CLOSING, job.spec):
            after = commit(s, d._replace(generation=CLOSING), job, job.spec, "closing")
        yield f"closes the run on table {d.table}", with_driver(after, at, self._closed(d, job))

    def _closed(self, d: Driver, job: Job) -> Driver:
        tables = self._tables(job)
        place = tables.index(d.table) + 1
        return d._replace(at="close", table=tables[place]) if place < len(tables) else d._replace(at="report")

    def _report(self, s: State, at: int, d: Driver, job: Job) -> Iterator[tuple[str, State]]:
        broken = reported(s, d, job, len(self.programs[job.spec]))
        after = self._ends(s, at, "Succeeded")._replace(succeeded=s.succeeded | {job.run_key}, broken=broken)
        yield "reports success", after
