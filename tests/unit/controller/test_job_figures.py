"""What is counted of jobs on their way: once each, and by labels of closed lists."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sluice.admission import Holder
from sluice.api.base import Json
from sluice.api.job_status import Attempt, AttemptException, ConflictingCommit, Outcome
from sluice.conflicts import Level, Verdict, oss
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.execution.job_figures import MOST_TABLES, JobFigures
from sluice.controller.process.metrics import GaugeValues, Metrics
from sluice.engines import RuntimeProfile
from sluice.leases import Lease
from sluice.lifecycle.job.job_view import JobView
from unit.controller.bodies import job_body
from unit.lifecycle.objects import LEASE, NAME, RUNNING, TERMINATED, TOKEN, application, pod

QUEUED = datetime(2026, 11, 19, 10, tzinfo=UTC)
RULE = oss.added_files.id
TEN_CORES: Json = {"driver": {"cores": 2}, "executor": {"instances": 4, "cores": 2}}


@dataclass
class Leases:
    """What a leader holds, as a lease table tells it."""

    held: list[Lease] = field(default_factory=list)
    unexplained: list[Lease] = field(default_factory=list)

    def held_by(self, uid: str) -> list[Lease]:
        return [lease for lease in self.held if lease.uid == uid]


class Told:
    def __init__(self) -> None:
        self.metrics = Metrics()
        self.world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})
        self.leases = Leases()
        self.now = 1000.0
        leases: Any = self.leases
        self.figures = JobFigures(self.metrics, self.world, leases, lambda: self.now)
        self.leads = True
        self.metrics.tell_of(lambda: GaugeValues(self.leads, 1, {}, ()))

    def job(self, name: str, status: Json | None = None, **spec: Any) -> JobView:
        sql = f"DELETE FROM delta.`/lake/{name}`"
        self.world.job_seen(job_body(name, **({"sql": sql} | spec)) | {"status": status or {}})
        return self.world.jobs[f"uid-{name}"]

    def waits(self, name: str, level: Level = Level.WILL) -> JobView:
        since = QUEUED.isoformat().replace("+00:00", "Z")
        job = self.job(name, {"phase": "Waiting", "queuedAt": since}, runtime=TEN_CORES)
        self.figures.begins_to_wait(job.uid, Verdict(level, RULE, "because"))
        return job

    def counted(self, prefix: str) -> dict[str, float]:
        """Values that are not 0, with the values of their labels."""
        return {
            f"{sample.name} {' '.join(sample.labels.values())}".strip(): sample.value
            for family in text_string_to_metric_families(self.metrics.text().decode())
            for sample in family.samples
            if sample.name.startswith(prefix) and sample.value and not sample.name.endswith("_bucket")
        }


def attempt(*, ran: float | None = 60, **more: Any) -> Attempt:
    started = QUEUED + timedelta(seconds=30)
    ended = {} if ran is None else {"started_at": started, "ended_at": started + timedelta(seconds=ran)}
    granted = QUEUED + timedelta(seconds=20)
    known = {"number": 1, "token": TOKEN, "hash": "h", "application": NAME, "granted_at": granted}
    return Attempt.model_validate(known | ended | more)


def conflict(class_: str = "ConcurrentAppendException", **won: Any) -> AttemptException:
    commit = ConflictingCommit(**won) if won else None
    return AttemptException(class_=class_, message="", conflicting_commit=commit)


def failed(exception: AttemptException, ran: float | None = 60) -> Attempt:
    return attempt(ran=ran, outcome=Outcome.FAILED, exception=exception)


@pytest.mark.parametrize(
    ("exception", "counted"),
    [
        (conflict(job="etl/b", foreign=False), "ConcurrentAppendException own"),
        (conflict("MetadataChangedException", foreign=True), "MetadataChangedException foreign"),
        (conflict("ConcurrentWriteException"), "ConcurrentWriteException unknown"),
        (conflict("my.own.MergeTrouble", version=3), "other unknown"),
    ],
)
def test_an_attempt_that_lost_counts_by_its_exception_and_by_who_won(
    exception: AttemptException, counted: str
) -> None:
    told = Told()
    told.figures.ended(told.job("a", runtime=TEN_CORES), failed(exception))
    assert told.counted("sluice_conflicts_total") == {f"sluice_conflicts_total {counted}": 1}
    assert told.counted("sluice_wasted") == {"sluice_wasted_core_seconds_total": 10 * 60}


def test_what_failed_otherwise_or_never_ran_wasted_nothing_by_a_conflict() -> None:
    told = Told()
    job = told.job("a", runtime=TEN_CORES)
    told.figures.ended(job, failed(conflict("java.lang.OutOfMemoryError")))
    told.figures.ended(job, attempt(outcome=Outcome.KILLED))
    assert told.counted("sluice_conflicts_total") == told.counted("sluice_wasted") == {}
    told.figures.ended(job, failed(conflict(), ran=None))
    assert told.counted("sluice_wasted") == {}


def _stop(reason: str | None, asked: int = 70) -> Attempt:
    since = QUEUED + timedelta(seconds=asked)
    pause = None if reason is None else {"reason": reason, "since": since}
    return attempt(outcome=Outcome.PAUSED, pause=pause)


def test_a_stream_that_stopped_counts_by_why_and_by_how_long_that_took() -> None:
    told = Told()
    told.figures.ended(told.job("a"), _stop("Yields"))
    told.figures.ended(told.job("a"), _stop(None))
    assert told.counted("sluice_stream_pauses_total") == {
        "sluice_stream_pauses_total Yields": 1,
        "sluice_stream_pauses_total ByHand": 1,
    }
    assert told.counted("sluice_stream_stop_seconds") == {
        "sluice_stream_stop_seconds_count": 1,
        "sluice_stream_stop_seconds_sum": 20,
    }


@pytest.mark.parametrize(("reason", "seconds"), [("Yields", 60), ("SpecChanged", None), (None, None)])
def test_a_pause_for_others_lasts_until_the_stream_is_granted_again(
    reason: str | None, seconds: int | None
) -> None:
    told = Told()
    stopped = _stop(reason)
    status = {
        "phase": "Waiting",
        "attempts": [stopped.model_dump(mode="json", by_alias=True, exclude_none=True)],
    }
    again = attempt(number=2, granted_at=QUEUED + timedelta(seconds=150))
    told.figures.granted(told.job("a", status), again, LEASE)
    counted = told.counted("sluice_stream_pause_seconds")
    assert counted.get("sluice_stream_pause_seconds_sum") == seconds


def test_a_conflict_of_a_job_that_is_no_longer_understood_counts_without_its_cores() -> None:
    told = Told()
    told.figures.ended(told.job("a", runtimeRef={"name": "gone"}), failed(conflict()))
    assert len(told.counted("sluice_conflicts_total")) == 1
    assert told.counted("sluice_wasted") == {}


def test_a_job_that_waited_for_a_conflict_and_ended_well_saved_at_most_its_run_once() -> None:
    told = Told()
    job, done = told.waits("a", Level.UNSAFE), attempt(outcome=Outcome.SUCCEEDED)
    told.figures.granted(job, attempt(ran=None), LEASE)
    told.figures.ended(job, done)
    told.figures.ended(job, done)
    assert told.counted("sluice_saved") == {
        "sluice_saved_core_seconds_at_most_total unsafe": 600,
    }


def test_a_job_that_did_not_wait_or_did_not_end_well_saved_nothing() -> None:
    told = Told()
    straight, waited = told.job("b"), told.waits("a")
    told.figures.granted(straight, attempt(ran=None), LEASE)
    told.figures.ended(straight, attempt(outcome=Outcome.SUCCEEDED))
    told.figures.granted(waited, attempt(ran=None), LEASE)
    told.figures.ended(waited, failed(conflict()))
    assert told.counted("sluice_saved") == {}


def test_a_wait_counts_when_it_ends_and_one_behind_a_release_from_that_on() -> None:
    told = Told()
    told.job("a", {"queuedAt": "2026-11-19T10:00:00Z"})
    told.leases.held = [LEASE]
    told.figures.holds(LEASE.uid, ())
    told.leases.held = []
    told.figures.holds(LEASE.uid, ())
    told.now += 3
    told.figures.granted(told.job("straight"), attempt(ran=None), LEASE)
    assert told.counted("sluice_release") == {}, "it did not wait"
    told.figures.granted(told.waits("b"), attempt(ran=None), LEASE)
    assert told.counted("sluice_release") == {
        "sluice_release_to_grant_seconds_count": 1,
        "sluice_release_to_grant_seconds_sum": 3,
    }
    assert told.counted("sluice_wait_seconds_count") == {"sluice_wait_seconds_count": 2}
    assert told.counted("sluice_wait_seconds_sum") == {"sluice_wait_seconds_sum": 20}


def test_of_no_more_than_so_many_tables_it_is_remembered_when_they_were_let_go() -> None:
    told = Told()
    for number in range(MOST_TABLES + 5):
        lease = Lease(f"uid-{number}", 1, "hash", "etl/a", (f"file:/lake/{number}",))
        for told.leases.held in ([lease], []):
            told.figures.holds(lease.uid, ())
    assert len(told.figures._freed) == MOST_TABLES
    assert not told.figures.leases.total()


def test_a_job_that_begins_to_wait_counts_by_the_rule_of_the_first_in_its_way() -> None:
    told = Told()
    told.waits("a")
    told.waits("b")
    told.figures.begins_to_wait("uid-c", Verdict(Level.WILL, "max-writers", "its policy says so"))
    assert told.counted("sluice_conflicts_avoided") == {f"sluice_conflicts_avoided_total {RULE}": 2}


def test_nothing_is_remembered_of_who_gave_up_or_went() -> None:
    told = Told()
    told.waits("a")
    told.waits("b")
    told.figures.holds("uid-a", ())
    assert {*told.figures._avoided} == {"uid-a", "uid-b"}
    timed_out = told.world.jobs["uid-a"].body
    told.world.job_seen(
        timed_out
        | {"metadata": timed_out["metadata"] | {"resourceVersion": "2"}, "status": {"phase": "Failed"}}
    )
    told.world.job_gone("uid-b")
    for uid in ("uid-a", "uid-b"):
        told.figures.holds(uid, ())
    assert not told.figures._avoided


def test_leases_are_counted_by_what_they_keep_and_how_they_stand_and_only_by_a_leader() -> None:
    told = Told()
    footprint = told.job("a", sql="ALTER TABLE delta.`/lake/a` SET TBLPROPERTIES ('a' = 'b')").footprint
    told.leases.held = [LEASE]
    told.figures.holds(LEASE.uid, ())
    assert told.counted("sluice_leases") == {"sluice_leases unknown starting": 1}
    holders = [Holder(LEASE.uid, LEASE.job, footprint)]
    told.world.applications.seen(application())
    for version, state in enumerate(("starting", "running", "ending")):
        container = {"starting": None, "running": RUNNING, "ending": TERMINATED}[state]
        told.world.pods.seen(pod(container, resourceVersion=str(version + 1)))
        told.world.applications.seen(
            application("COMPLETED" if state == "ending" else "RUNNING", resourceVersion=str(version + 6))
        )
        told.figures.holds(LEASE.uid, holders)
        assert told.counted("sluice_leases") == {f"sluice_leases metadata {state}": 1}
    told.leases.unexplained = [LEASE]
    told.figures.holds(LEASE.uid, holders)
    assert told.counted("sluice_leases") == {"sluice_leases metadata unexplained": 1}
    told.leads = False
    assert told.counted("sluice_leases") == {}
    told.leads, told.leases.held = True, []
    told.figures.holds(LEASE.uid, ())
    assert told.counted("sluice_leases") == {}
