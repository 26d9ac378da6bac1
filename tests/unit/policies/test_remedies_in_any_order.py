"""Whatever comes in whatever order, leaders that end at any point included: jobs follow each other, each changes something that was
read after the last one had ended, also where another job sets the same, and a fight ends."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sluice.api.job_status import Phase
from sluice.api.policy_enforcement import Enforced
from sluice.policies.alteration import Alteration, SetProperties
from sluice.policies.difference import plan_of
from sluice.policies.remediation import (
    MOST_FAILURES,
    ROUNDS,
    MakeJob,
    ObservedPolicy,
    OwnJob,
    WithdrawJob,
    decide,
    why_not_yet,
)
from sluice.predicates import Table
from sluice.tables import TableFacts
from sluice.tables.table_observation import TableObservation, TableState
from unit.policies.model_table import applied
from unit.policies.specs import spec_of

_BEGAN = datetime(2026, 11, 27, tzinfo=UTC)
_FIELDS = {"delta.appendOnly": "true", "team": "sales"}
SPEC = spec_of(enforcement="Enforce", properties=_FIELDS, clusterBy=["a"], allowIrreversible=True)
_MOST_JOBS = (len(_FIELDS) + 1) * ROUNDS * MOST_FAILURES + MOST_FAILURES


_SAME = (
    *plan_of(SPEC, TableState(columns=("a", "b")), (4, 0)).changes,
    SetProperties(SPEC.table, {"team": "sales"}),
)
"""What another job sets: all that the policy wants, or a part of it."""


def _differs(one: TableState, other: TableState) -> bool:
    return (one.properties, one.cluster_by) != (other.properties, other.cluster_by)


@dataclass
class _Job:
    known: OwnJob
    change: Alteration


class Cluster(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.now = _BEGAN
        self.table = TableState(version=0, columns=("a", "b"))
        self.stored = Enforced()
        self.jobs: dict[str, _Job] = {}
        self.writing: dict[str, Alteration] = {}
        """Of jobs that are gone while their driver still runs."""
        self.look: TableObservation | None = None
        self.being_looked: TableObservation | None = None
        self.last_end = _BEGAN - timedelta(seconds=1)
        self.last_run = _BEGAN - timedelta(seconds=1)
        """When the last run ended, of whosever job."""
        self.another: Alteration | None = None
        """What another job sets, which runs."""
        self.last_by_a_tool = _BEGAN - timedelta(seconds=1)
        """When a tool that is no job changed the table, which nobody tells."""
        self.made = 0

    @rule(seconds=st.integers(1, 400))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule()
    def a_look_begins(self) -> None:
        self.now += timedelta(seconds=1)
        self.being_looked = TableObservation(self.now, self.table, TableFacts(columns=Table.of({"a": "int"})))

    @rule()
    def a_look_is_made(self) -> None:
        self.a_look_begins()
        self.a_look_is_told()

    @rule()
    def a_look_is_told(self) -> None:
        self.now += timedelta(seconds=1)
        self.look = self.being_looked or self.look

    @rule(ends=st.sampled_from(["no", "no", "no", "before the status", "before the step"]))
    def the_leader_decides(self, ends: str) -> None:
        if ends != "no":
            self.look = None  # the next one has seen nothing yet
        known = ObservedPolicy(
            "orders",
            "uid",
            1,
            SPEC,
            tuple(one.known for one in self.jobs.values()),
            self.look,
            (4, 0),
            lingering=frozenset(self.writing),
        )
        decision = decide(known, self.stored, self.now)
        if ends == "before the status":
            return
        self.stored = decision.kept
        if ends == "before the step":
            return
        if isinstance(decision.step, MakeJob):
            self._make(decision.step)
        elif isinstance(decision.step, WithdrawJob):
            assert not decision.step.job.has_begun
            del self.jobs[decision.step.job.name]

    def _make(self, step: MakeJob) -> None:
        assert step.name not in self.jobs
        assert all(one.known.is_over for one in self.jobs.values())
        assert not self.writing
        assert self.look is not None
        assert self.look.at > self.last_end
        changes = plan_of(SPEC, self.look.state, (4, 0)).changes
        assert step.sql == changes[0].sql, "what it changes differed after the last job's end"
        self.made += 1
        number = int(step.name.rpartition("-")[2])
        own = OwnJob(step.name, f"uid-{number}", number, Phase.WAITING, step.sql, step.fields)
        self.jobs[step.name] = _Job(own, changes[0])

    def _under_way(self) -> _Job | None:
        return next((one for one in self.jobs.values() if not one.known.is_over), None)

    def _running(self) -> _Job | None:
        one = self._under_way()
        return one if one is not None and one.known.has_begun else None

    def _is_free(self) -> bool:
        """Whether nobody holds a lease for the table."""
        return self.another is None and not self.writing and self._running() is None

    def _latest(self) -> TableObservation | None:
        return self.look if self.look is not None and self.look.at > self.last_run else None

    @precondition(lambda self: self._is_free() and self._under_way() is not None)
    @rule()
    def a_driver_begins(self) -> None:
        one, latest = self._under_way(), self._latest()
        assert one is not None
        if why_not_yet(SPEC, latest, (4, 0), one.known.sql) is not None:
            return
        assert latest is not None
        if self.last_by_a_tool < latest.at:
            assert _differs(applied(self.table, one.change), self.table), "it sets what is there already"
        one.known = replace(one.known, has_begun=True, was_tried=True, phase=Phase.RUNNING)

    @precondition(lambda self: self._is_free())
    @rule(change=st.sampled_from(_SAME))
    def another_job_begins_that_sets_the_same(self, change: Alteration) -> None:
        self.another = change

    @precondition(lambda self: self.another is not None)
    @rule()
    def another_job_ends(self) -> None:
        assert self.another is not None
        self.now += timedelta(seconds=1)
        self.table, self.another, self.last_run = applied(self.table, self.another), None, self.now

    @precondition(lambda self: self._running() is not None)
    @rule(commits=st.booleans())
    def an_attempt_ends_that_another_is_to_follow(self, *, commits: bool) -> None:
        one = self._running()
        assert one is not None
        if self.stored.job_uid != one.known.uid:
            return
        self.now += timedelta(seconds=1)
        self.table = applied(self.table, one.change) if commits else self.table
        one.known = replace(one.known, has_begun=False, phase=Phase.BACKING_OFF)
        self.last_end = self.last_run = self.now

    @precondition(lambda self: self._running() is not None)
    @rule(phase=st.sampled_from([Phase.SUCCEEDED, Phase.FAILED]))
    def a_driver_ends(self, phase: Phase) -> None:
        one = self._running()
        assert one is not None
        self.now += timedelta(seconds=1)
        if phase is Phase.SUCCEEDED:
            self.table = applied(self.table, one.change)
        one.known = replace(one.known, phase=phase, why="so it was", ended_at=self.now)
        self.last_end = self.last_run = self.now

    @precondition(lambda self: self._under_way() is not None)
    @rule()
    def somebody_deletes_what_is_under_way(self) -> None:
        one = self._under_way()
        assert one is not None
        del self.jobs[one.known.name]
        if one.known.has_begun and self.stored.job_uid == one.known.uid:
            self.writing[one.known.uid] = one.change

    @precondition(lambda self: self.writing)
    @rule(commits=st.booleans())
    def what_was_left_of_it_ends(self, *, commits: bool) -> None:
        self.now += timedelta(seconds=1)
        for change in self.writing.values():
            self.table = applied(self.table, change) if commits else self.table
        self.writing.clear()
        self.last_run = self.now

    @rule()
    def finished_jobs_go(self) -> None:
        self.jobs = {
            name: one
            for name, one in self.jobs.items()
            if not one.known.is_over or one.known.number > self.stored.counted
        }

    @rule(name=st.sampled_from(["delta.appendOnly", "team", "other"]))
    def another_tool_sets_it_back(self, name: str) -> None:
        properties = {**self.table.properties, name: "false"}
        self.table = replace(self.table, properties=properties, version=(self.table.version or 0) + 1)
        self.last_by_a_tool = self.now

    @rule()
    def another_tool_takes_the_clustering_away(self) -> None:
        self.table = replace(self.table, cluster_by=(), version=(self.table.version or 0) + 1)
        self.last_by_a_tool = self.now

    @invariant()
    def it_ends(self) -> None:
        if hasattr(self, "made"):
            assert self.made <= _MOST_JOBS

    @invariant()
    def one_at_a_time(self) -> None:
        if hasattr(self, "jobs"):
            assert sum(not one.known.is_over for one in self.jobs.values()) <= 1


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)


_ENDS = st.sampled_from(["no", "before the status", "before the step", "after the step"])


@given(st.lists(_ENDS, min_size=40, max_size=40), st.integers(1, 86400))
def test_a_fight_ends_wherever_leaders_end(ends: list[str], pause: int) -> None:
    """The tool sets back all of it after each job, and the count is that of one leader that never ended."""
    spec = spec_of(enforcement="Enforce", properties=_FIELDS)
    now, kept, made = _BEGAN, Enforced(), 0
    jobs: tuple[OwnJob, ...] = ()
    for end in ends:
        now += timedelta(seconds=pause)
        look = TableObservation(now, TableState(version=made), TableFacts(columns=Table.of({"a": "int"})))
        decision = decide(ObservedPolicy("orders", "uid", 1, spec, jobs, look, (4, 0)), kept, now)
        if end == "before the status":
            continue
        kept = decision.kept
        if end == "before the step" or not isinstance(decision.step, MakeJob):
            continue
        made += 1
        assert made <= ROUNDS
        number = int(decision.step.name.rpartition("-")[2])
        done = OwnJob(decision.step.name, str(number), number, Phase.SUCCEEDED, None, decision.step.fields)
        jobs = (*jobs, replace(done, ended_at=now))
    assert made == ROUNDS or ends.count("before the status") + ends.count("before the step") > 30
