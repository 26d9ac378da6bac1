"""In every state of the searches the runner's own code tells the same of a table's log as the model of it, which was proved."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from protocol.runs import scenarios
from protocol.runs.driver import Drivers
from protocol.runs.scenarios import Runs
from protocol.runs.state import CLOSING, Driver, Job, State, Table, Version
from protocol.runs.state import Commit as ModelCommit
from protocol.search import Step, explore
from sluice_runner import earlier_attempts, txn
from sluice_runner.assumptions import Assumed
from sluice_runner.commits import Commit
from sluice_runner.plan import Job as PlanJob
from sluice_runner.plan import Plan, Run, Sql
from sluice_runner.stamp import Look, closing_stamp, fence_stamp, stamp

pytestmark = pytest.mark.timeout(600)

Verdict = tuple[str, int]
"""`RunKeyReused`, `HistoryLost` or nothing, and up to which statement all is done."""


class Compared(Runs):
    """The same search, in which each reading of a log is judged twice."""

    readings = 0

    def steps(self, state: State) -> Iterator[Step]:
        for driver in state.drivers:
            if driver.at == "read":
                job = next(job for job in state.jobs if job.uid == driver.uid)
                table = state.tables[driver.table]
                model = self._of_model(table, driver, job)
                runner = of_runner(table, driver.app, job, self.durable, len(self.programs[job.spec]))
                assert runner == model, f"{self.name}: {driver} reads {table}"
                type(self).readings += 1
        yield from super().steps(state)

    def _of_model(self, table: Table, driver: Driver, job: Job) -> Verdict:
        """As `Drivers._read` judges it, for this table alone."""
        stamps = [
            c
            for c in table.log
            if c.run_key == job.run_key and c.version.statement and c.version.generation < CLOSING
        ]
        now = table.version(driver.app)
        if any(c.spec != job.spec for c in stamps):
            return "RunKeyReused", 0
        done = max((c.version.statement for c in stamps), default=0)
        if self.durable and now is not None and now.generation == CLOSING:
            return ("", len(self.programs[job.spec])) if now.statement == job.spec else ("RunKeyReused", 0)
        drivers: Drivers = self.actors[0]
        if drivers._history_lost(table, now, job) and done < len(self.programs[job.spec]):
            return "HistoryLost", 0
        return "", done


@cache
def of_runner(table: Table, app: str, job: Job, closes: bool, statements: int) -> Verdict:
    plan = plan_of(job.run_key, job.spec, closes, job.first_token)
    commits = [
        Commit("t", table.removed + at, "WRITE", {}, stamp_of(commit)) for at, commit in enumerate(table.log)
    ]
    history = earlier_attempts.TableHistory("t", number_of(table.version(app)), table.removed, commits[::-1])
    try:
        return "", earlier_attempts.done(plan, statements, [history]).last
    except (earlier_attempts.RunKeyReused, earlier_attempts.HistoryLost) as error:
        return type(error).__name__, 0


def plan_of(run_key: str, spec: int, closes: bool, first_token: int = 0, token: int = 0) -> Plan:
    return Plan(
        PlanJob("sales", "daily", "uid"),
        run_key,
        f"spec {spec}",
        1,
        token,
        Sql(()),
        Assumed("4.2.0", None, {}),
        Run("app", closes, first_token, ()),
    )


def stamp_of(commit: ModelCommit) -> str:
    plan = plan_of(
        commit.run_key, commit.spec, closes=True, token=min(commit.version.generation, txn.MAX_TOKEN)
    )
    if commit.version.generation == CLOSING:
        return closing_stamp(plan)
    if commit.version.statement:
        return stamp(plan, commit.version.statement)
    return fence_stamp(plan, Look(number_of(commit.replaced), commit.looked - 1))


def number_of(version: Version | None) -> int | None:
    if version is None:
        return None
    if version.generation == CLOSING:
        return txn.closing(f"spec {version.statement}")
    return txn.version(version.generation, version.statement)


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.name)
def test_the_runner_judges_a_log_as_the_model_does(scenario: Runs) -> None:
    compared = Compared(
        scenario.name,
        scenario.programs,
        scenario.budget,
        scenario.attempts,
        scenario.durable,
        scenario.keyed,
    )
    Compared.readings = 0
    assert explore(compared).counter_example is None
    assert Compared.readings, "no log was ever read"
