"""The figures that the operator counts and measures, for Prometheus. docs/operations.md lists each name, which a test checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sluice.api.conditions import ConditionStatus
from sluice.api.job import RetryCause
from sluice.api.job_status import PauseReason
from sluice.api.operator_status import OperatorCondition
from sluice.conflicts import Level
from sluice.conflicts.lost_commit_rule import EXCEPTIONS
from sluice.conflicts.rule_ids import RULE_IDS
from sluice.lifecycle.evidence.lease_states import LeaseState
from sluice.lifecycle.spec.lease_kinds import LeaseKind
from sluice.processes.child import DeathCause

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)
_SECONDS_OF_STEPS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0)
_SECONDS_OF_JOB_STEPS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
_SECONDS_OF_WAITS = (0.1, 0.5, 2.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0)

_SECONDS_OF_PAUSES = (1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0, 1800.0, 3600.0, 14400.0)

_OTHER = "other"
_BY_HAND = "ByHand"
_VERDICTS = tuple(str(level) for level in Level if level is not Level.NEVER)


class DecisionOutcome(StrEnum):
    """What became of a job that asked to run."""

    GRANTED = "granted"
    BLOCKED = "blocked"
    """It waits from now on; it isn't counted again while it does."""
    REFUSED = "refused"
    SKIPPED = "skipped"
    FAILED = "failed"
    """It ended as its own spec says a blocked job should."""
    TIMED_OUT = "timed_out"


class WorkDone(StrEnum):
    """Work done for a change: it grows with what changes, and not with how many jobs there are."""

    JOBS_LOOKED_AT = "jobs_looked_at"
    WAITERS_JUDGED = "waiters_judged"
    VERDICTS_ASKED_FOR = "verdicts_asked_for"
    VERDICTS_WORKED_OUT = "verdicts_worked_out"
    """The verdicts that were not known."""
    TABLE_READS = "table_reads"
    POLICY_LOOKS = "policy_looks"
    POLICY_STATUSES = "policy_statuses"
    """The statuses of policies that were written."""


class Winner(StrEnum):
    """Who made the commit to which an attempt lost."""

    OWN = "own"
    """A job of Sluice's."""
    FOREIGN = "foreign"
    UNKNOWN = "unknown"


Leases = Mapping[tuple[LeaseKind, LeaseState], int]


@dataclass(frozen=True)
class GaugeValues:
    """How things are now."""

    leads: bool
    epoch: int
    jobs: dict[str, int]
    """Jobs by phase."""
    conditions: tuple[OperatorCondition, ...]
    need_a_person: Mapping[str, int] = field(default_factory=dict)
    """Jobs that have not ended and don't go on by themselves, by reason."""
    longest_wait: float = 0.0
    """Seconds since the job was queued that has waited longest."""
    streams: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Streams that have not ended, by phase and reason."""
    longest_pause: float = 0.0
    """Seconds for which the stream has paused that has paused longest."""
    stream_failures: int = 0
    """How often the stream has failed that has failed most often since one of its batches ended."""
    policies: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Policies by the condition that is True, and its reason."""


class Metrics:
    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._turns = Histogram(
            "sluice_turn_seconds",
            "How long turns of the acting loop took.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._deciding = Histogram(
            "sluice_decision_seconds",
            "How long a turn judged the jobs that its changes affect, until it was known which may go.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._lag = Histogram(
            "sluice_loop_lag_seconds",
            "How long the first change of a turn had waited for it.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._steps = Histogram(
            "sluice_job_step_seconds",
            "Processor time that the acting loop spent on one job without a pause.",
            buckets=_SECONDS_OF_JOB_STEPS,
            registry=registry,
        )
        self._decisions = Counter(
            "sluice_decisions", "What became of jobs that asked to run.", ["outcome"], registry=registry
        )
        for outcome in DecisionOutcome:
            self._decisions.labels(outcome.value)
        self._api = Counter(
            "sluice_api_requests",
            "Requests to the API server, without kopf's few for policies; code 0: no answer.",
            ["verb", "resource", "code"],
            registry=registry,
        )
        self._api_seconds = Histogram(
            "sluice_api_request_seconds",
            "How long requests to the API server took, without watches.",
            ["verb"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._redis = Counter(
            "sluice_redis_calls",
            "Scripts and other calls to Redis; outcome: what the script said, ok, or the error's name.",
            ["call", "outcome"],
            registry=registry,
        )
        self._waits = Histogram(
            "sluice_wait_seconds",
            "How long jobs had been queued when they were granted their leases.",
            buckets=_SECONDS_OF_WAITS,
            registry=registry,
        )
        self._regrants = Histogram(
            "sluice_release_to_grant_seconds",
            "Of jobs that waited: from the last release on any of their tables until they were granted.",
            buckets=_SECONDS_OF_STEPS,
            registry=registry,
        )
        self._creates = Histogram(
            "sluice_create_seconds",
            "From the grant until the SparkApplication was created.",
            buckets=_SECONDS_OF_STEPS,
            registry=registry,
        )
        self._avoided = Counter(
            "sluice_conflicts_avoided",
            "Jobs that began to wait, by the rule for which the first job in their way conflicts with them.",
            ["rule"],
            registry=registry,
        )
        for rule in RULE_IDS:
            self._avoided.labels(rule)
        self._conflicts = Counter(
            "sluice_conflicts",
            "Attempts that Delta aborted for another commit; winner: who made that one.",
            ["exception", "winner"],
            registry=registry,
        )
        for exception in (*EXCEPTIONS, _OTHER):
            for winner in Winner:
                self._conflicts.labels(exception, winner.value)
        self._wasted = Counter(
            "sluice_wasted_core_seconds",
            "Cores that attempts asked for which ended by a conflict, times the seconds that their drivers ran.",
            registry=registry,
        )
        self._saved = Counter(
            "sluice_saved_core_seconds_at_most",
            "The same of jobs that ended well and had waited for a conflicting job: an upper bound of what the wait saved. "
            "verdict: how sure the conflict was.",
            ["verdict"],
            registry=registry,
        )
        for verdict in _VERDICTS:
            self._saved.labels(verdict)
        self._retries = Counter(
            "sluice_retries",
            "Attempts that follow a failed one, by the class of its failure; ByHand: somebody asked for it.",
            ["cause"],
            registry=registry,
        )
        for cause in (*RetryCause, _BY_HAND):
            self._retries.labels(str(cause))
        self._pauses = Counter(
            "sluice_stream_pauses",
            "Streams that stopped at a batch boundary because they were asked to; reason: why.",
            ["reason"],
            registry=registry,
        )
        for reason in (*PauseReason, _BY_HAND):
            self._pauses.labels(str(reason))
        self._stops = Histogram(
            "sluice_stream_stop_seconds",
            "From when a stream was to stop at a batch boundary until its driver's end was proved.",
            buckets=_SECONDS_OF_PAUSES,
            registry=registry,
        )
        self._paused = Histogram(
            "sluice_stream_pause_seconds",
            "From the end of a stream's driver that paused for others until the stream was granted its leases again.",
            buckets=_SECONDS_OF_PAUSES,
            registry=registry,
        )
        self._leases: Callable[[], Leases] = dict
        self._work = _Works()
        registry.register(self._work)
        self._deaths = _Deaths()
        registry.register(self._deaths)

        self._events_dropped = Counter(
            "sluice_events_dropped",
            "Kubernetes Events of jobs and policies that were not written: too many waited, or the API server did not take them.",
            registry=registry,
        )

    def dropped_event(self) -> None:
        self._events_dropped.inc()

    def turned(self, seconds: float) -> None:
        self._turns.observe(seconds)

    def judged(self, seconds: float) -> None:
        self._deciding.observe(seconds)

    def lagged(self, seconds: float) -> None:
        self._lag.observe(seconds)

    def stepped(self, seconds: float) -> None:
        self._steps.observe(seconds)

    def decided(self, outcome: DecisionOutcome) -> None:
        self._decisions.labels(outcome.value).inc()

    def waited(self, seconds: float) -> None:
        self._waits.observe(seconds)

    def granted_after_release(self, seconds: float) -> None:
        self._regrants.observe(seconds)

    def created(self, seconds: float) -> None:
        self._creates.observe(seconds)

    def avoided(self, rule: str) -> None:
        self._avoided.labels(rule).inc()

    def conflicted(self, exception: str, winner: Winner, core_seconds: float) -> None:
        self._conflicts.labels(exception if exception in EXCEPTIONS else _OTHER, winner.value).inc()
        self._wasted.inc(core_seconds)

    def retried(self, cause: RetryCause | None) -> None:
        self._retries.labels(_BY_HAND if cause is None else cause.value).inc()

    def stopped(self, reason: PauseReason | None, seconds: float | None) -> None:
        """`reason`, `seconds`: None where the operator had asked for no stop."""
        self._pauses.labels(_BY_HAND if reason is None else reason.value).inc()
        if seconds is not None:
            self._stops.observe(seconds)

    def resumed(self, seconds: float) -> None:
        self._paused.observe(seconds)

    def saved(self, verdict: Level, core_seconds: float) -> None:
        self._saved.labels(str(verdict)).inc(core_seconds)

    def asked_api(self, verb: str, resource: str, code: int, seconds: float) -> None:
        self._api.labels(verb, resource, str(code)).inc()
        if verb != "watch":
            self._api_seconds.labels(verb).observe(seconds)

    def asked_redis(self, call: str, outcome: str) -> None:
        self._redis.labels(call, outcome).inc()

    def tell_of(self, standing: Callable[[], GaugeValues]) -> None:
        """Registers what is asked at each scrape."""
        self._registry.register(_Now(standing, self._leases_now))

    def tell_of_leases(self, leases: Callable[[], Leases]) -> None:
        """Has a new leader asked at each scrape, as long as this process leads."""
        self._leases = leases

    def _leases_now(self) -> Leases:
        return self._leases()

    def count(self, work: WorkDone, so_far: Callable[[], int]) -> None:
        """Registers a counter that is asked at each scrape. It starts again with whoever counts it, such as a new leader."""
        self._work.so_far[work] = so_far

    def count_deaths(self, **pools: Callable[[], Mapping[DeathCause, int]]) -> None:
        """Registers counters of each pool's processes that died, by cause, which are asked at each scrape."""
        self._deaths.so_far.update(pools)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _Works(Collector):
    def __init__(self) -> None:
        self.so_far: dict[WorkDone, Callable[[], int]] = {}

    def collect(self) -> Iterator[Metric]:
        works = CounterMetricFamily("sluice_work", "Work done for changes, by kind.", labels=["kind"])
        for work, so_far in self.so_far.items():
            works.add_metric([work.value], so_far())
        yield works


class _Deaths(Collector):
    def __init__(self) -> None:
        self.so_far: dict[str, Callable[[], Mapping[DeathCause, int]]] = {}

    def collect(self) -> Iterator[Metric]:
        deaths = CounterMetricFamily(
            "sluice_process_deaths",
            "Child processes that died, by what they worked on and the cause.",
            labels=["pool", "cause"],
        )
        for pool, so_far in self.so_far.items():
            counts = so_far()
            for cause in DeathCause:
                if cause is not DeathCause.CLOSED:
                    deaths.add_metric([pool, cause.value], counts.get(cause, 0))
        yield deaths


class _Now(Collector):
    def __init__(self, standing: Callable[[], GaugeValues], leases: Callable[[], Leases]) -> None:
        self._standing = standing
        self._leases = leases

    def collect(self) -> Iterator[Metric]:
        now = self._standing()
        yield GaugeMetricFamily(
            "sluice_leader", "1: this process leads; 0: it does not.", value=int(now.leads)
        )
        yield GaugeMetricFamily(
            "sluice_epoch",
            "The epoch of the lease table; 0 in a process that does not lead.",
            value=now.epoch,
        )
        jobs = GaugeMetricFamily("sluice_jobs", "Jobs by phase, as this process sees them.", labels=["phase"])
        for phase, count in sorted(now.jobs.items()):
            jobs.add_metric([phase], count)
        yield jobs
        yield _counted(
            "sluice_jobs_needing_a_person",
            "Jobs that have not ended and do not go on by themselves, by reason.",
            ["reason"],
            (((reason,), count) for reason, count in now.need_a_person.items()),
        )
        yield GaugeMetricFamily(
            "sluice_longest_wait_seconds",
            "Seconds since the job was queued that has waited longest; 0: none waits.",
            value=now.longest_wait,
        )
        yield _counted(
            "sluice_streams",
            "Streams that have not ended, as this process sees them, by phase and reason.",
            ["phase", "reason"],
            now.streams.items(),
        )
        yield GaugeMetricFamily(
            "sluice_longest_pause_seconds",
            "Seconds for which the stream has paused for others that has paused longest; 0: none pauses.",
            value=now.longest_pause,
        )
        yield GaugeMetricFamily(
            "sluice_stream_failures_in_a_row",
            "How often the stream has failed that has failed most often since one of its batches ended.",
            value=now.stream_failures,
        )
        yield _counted(
            "sluice_policies",
            "Policies, as this process sees them, by the condition that is True and its reason.",
            ["condition", "reason"],
            now.policies.items(),
        )
        leases = self._leases() if now.leads else {}
        yield _counted(
            "sluice_leases",
            "Leases that the leader knows; one that keeps others from several kinds of things counts for each.",
            ["kind", "state"],
            (((kind.value, state.value), count) for (kind, state), count in leases.items()),
        )
        conditions = GaugeMetricFamily(
            "sluice_condition", "The operator's conditions; 1: all is well.", labels=["type"]
        )
        for condition in now.conditions:
            if condition.status is not ConditionStatus.UNKNOWN:
                conditions.add_metric([condition.type.value], int(condition.status is ConditionStatus.TRUE))
        yield conditions


def _counted(
    name: str, says: str, labels: Sequence[str], counts: Iterable[tuple[Sequence[str], int]]
) -> Metric:
    family = GaugeMetricFamily(name, says, labels=labels)
    for values, count in sorted(counts):
        family.add_metric(values, count)
    return family
