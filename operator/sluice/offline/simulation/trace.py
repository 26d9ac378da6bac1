"""A trace: which jobs came when, how long each of them computes, and what it touches.

Times are whole milliseconds, so that events at one moment are exactly at one moment.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property

from sluice.api import policy
from sluice.api.durations import seconds
from sluice.footprint import JobFootprint
from sluice.tables import TableKey

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
AGE_AFTER = 1000 * seconds(policy.AGE_AFTER)
"""The operator's default."""


@dataclass(frozen=True)
class TracedJob:
    name: str
    """Its name, of which a trace has one each."""
    at: int
    """When it came."""
    duration: int
    """How long it computes if nothing aborts it."""
    footprint: JobFootprint = field(repr=False)
    priority: int = 0

    @property
    def order(self) -> tuple[int, str]:
        return self.at, self.name


@dataclass(frozen=True)
class TraceRules:
    """What policies say of tables, as far as the queue heeds it."""

    most_writers: Mapping[TableKey, int] = field(default_factory=dict)
    age_after: Mapping[TableKey, int] = field(default_factory=dict)
    """Milliseconds."""
    otherwise: int = AGE_AFTER
    """After how many milliseconds jobs age if no policy of their tables says it."""

    def aged_at(self, job: TracedJob) -> int:
        """When it has aged: of its tables' policies the most impatient counts."""
        said = (self.age_after[table] for table in job.footprint.keys if table in self.age_after)
        return job.at + min(said, default=self.otherwise)


@dataclass(frozen=True)
class Trace:
    """Jobs in the order in which they came."""

    jobs: tuple[TracedJob, ...]
    rules: TraceRules = field(default_factory=TraceRules)

    @classmethod
    def of(cls, jobs: Iterable[TracedJob], rules: TraceRules | None = None) -> "Trace":
        return cls(tuple(sorted(jobs, key=lambda job: job.order)), rules or TraceRules())

    @cached_property
    def begins(self) -> int:
        return min((job.at for job in self.jobs), default=0)

    @cached_property
    def compute(self) -> int:
        """What all jobs together compute if none is aborted."""
        return sum(job.duration for job in self.jobs)

    @cached_property
    def tables(self) -> tuple[TableKey, ...]:
        return tuple(dict.fromkeys(key for job in self.jobs for key in job.footprint.keys))


def moment(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)


def milliseconds_at(when: datetime) -> int:
    """The first whole millisecond that is not before this."""
    return -((EPOCH - when) // timedelta(milliseconds=1))
