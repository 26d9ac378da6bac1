"""Jobs that a policy runs on a schedule: compaction and clean-up."""

from typing import Annotated

from pydantic import Field, StrictBool

from sluice.api.base import Model
from sluice.api.bounds import Int32, bounded_int
from sluice.api.durations import Limit, Retention
from sluice.api.sql import GivenPredicate
from sluice.api.validation import Checked, matching


def _cron_field(value: str) -> str:
    item = rf"([*]|{value}(-{value})?)(/[1-9][0-9]?)?"
    return f"{item}(,{item})*"


_CRON = "(?i)^(@(hourly|daily|weekly|monthly)|{})$".format(
    " +".join(
        _cron_field(value)
        for value in (
            "([0-5]?[0-9])",
            "([01]?[0-9]|2[0-3])",
            "(0?[1-9]|[12][0-9]|3[01])",
            "(0?[1-9]|1[0-2]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)",
            "([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)",
        )
    )
)

KEPT_SUCCEEDED, KEPT_FAILED = 3, 1
"""How many finished jobs stay, where nobody says so: as many as of a CronJob."""
MANY = 10
"""Small files in one partition, from which on it is compacted."""
SMALL = "64Mi"
"""Delta's own compaction after a write counts files by this size, too."""

FileSize = Annotated[
    str,
    Field(max_length=8),
    Checked(
        matching(
            "^([1-9][0-9]{0,2}|10[01][0-9]|102[0-4])Mi$",
            "must be a size in whole mebibytes from 1Mi to 1024Mi, such as 64Mi: OPTIMIZE takes no larger files",
        )
    ),
]


def mebibytes(size: str) -> int:
    return int(size.removesuffix("Mi"))


class Maintenance(Model):
    """A job that the policy runs on a schedule. Runs of one kind never overlap: one that is due while the last one is not over
    waits for its end. Of several that were missed only the latest is made."""

    schedule: Annotated[
        str,
        Field(max_length=128),
        Checked(
            matching(
                _CRON,
                "must be a cron schedule of minute, hour, day, month and day of the week such as '0 3 * * *', "
                "or @hourly, @daily, @weekly or @monthly",
            )
        ),
    ]
    """When it runs, in cron's form (minute, hour, day, month, day of the week), such as "0 3 * * *", or @hourly,
    @daily, @weekly or @monthly."""
    time_zone: Annotated[
        str,
        Field(max_length=64),
        Checked(
            matching(
                r"^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$",
                "must be a time zone by its name, such as UTC or Europe/Berlin",
            )
        ),
    ] = "UTC"
    """Time zone of the schedule, such as Europe/Berlin. Absent: UTC."""
    suspend: StrictBool = False
    """true creates no jobs by the schedule; those that are there go on, and what the annotation sluice.dev/run asks for is done.
    What was due meanwhile is not made up for."""
    starting_deadline: Limit | None = None
    """How late a job may be created, such as 2h: a run for which there was none by then is passed over. Absent: however late.
    A job lets all that wait for the table go first until then, or until the next run is due, and for a day at most (vacuum:
    an hour); then it goes ahead of any priority."""
    successful_jobs_history_limit: Annotated[Int32, bounded_int(0, 100)] = KEPT_SUCCEEDED
    """How many jobs that did not fail are kept once they are over, by default 3; older ones are deleted."""
    failed_jobs_history_limit: Annotated[Int32, bounded_int(0, 100)] = KEPT_FAILED
    """How many failed jobs are kept, by default 1; older ones are deleted."""


class Optimize(Maintenance):
    """Compacts files. It is left out where the table's log says that no partition has enough small files."""

    where: GivenPredicate | None = None
    """Which partitions to compact, as a predicate on partition columns such as "date < :today"; :today is the date of the run
    in timeZone. A clustered table takes none. Absent: the whole table; the job then waits for every other writer that
    changes files."""
    least_files: Annotated[Int32, bounded_int(2, 1_000_000)] = MANY
    """How many small files a partition has at least, by default 10, so that it is worth a run."""
    smaller_than: FileSize = SMALL
    """Which files are small, by default those below 64Mi. It says when a run is worth it, not which files it takes: OPTIMIZE
    takes all below 1024Mi."""


class Vacuum(Maintenance):
    """Deletes files that no version within the retention needs. It is left out where the table's log says that no commit
    removed files which it could delete, though not for more than 30 days: no log tells of the files of failed runs."""

    retention: Retention = "168h"
    """How long the table has to keep files that no newer version needs, at least; by default 168h (a week). VACUUM goes by the
    table's property delta.deletedFileRetentionDuration (a week where it is not set): where that is shorter than this, none
    runs. Versions that are older than the property says cannot be read or restored afterwards, and a job or reader that runs
    longer would lose its files."""


class MaintenancePlan(Model):
    """Jobs that the policy creates on a schedule; they queue like any other job."""

    optimize: Optimize | None = None
    """Compaction of small files (OPTIMIZE). A run is left out where the table's log says that nothing is to be gained."""
    vacuum: Vacuum | None = None
    """Removal of files that no younger version needs (VACUUM). A run is left out where the table's log says that nothing is
    to be gained, but not for more than 30 days."""
