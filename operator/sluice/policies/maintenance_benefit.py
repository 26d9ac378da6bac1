"""Whether a table's log says that OPTIMIZE or VACUUM would gain nothing, so that no driver is started for it.

Delta's OPTIMIZE takes all files below 1 GiB and those of which more than 5 % of the rows are deleted, and rewrites them where a
partition has at least two: run each night it would write one large file again for each small one that came. So it is run where
there is something to be gained. Where the log can't tell, it is run.

A log doesn't tell of all that VACUUM deletes: files of runs that failed are in none, and a checkpoint leaves out which files were
removed just when they may be deleted. So it is asked when commits removed files, and VACUUM runs now and then in any case.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from sluice.api.maintenance import MANY, SMALL, mebibytes
from sluice.footprint import NotUnderstoodError
from sluice.policies.today_parameter import PLACE
from sluice.predicates import (
    Atom,
    Predicate,
    PredicateError,
    Region,
    Table,
    compiled,
    disjoint,
    parse,
    partition_region,
)
from sluice.predicates.tree import leaves
from sluice.tables import TableFacts
from sluice.tables.table_observation import File, LastVacuum, Partition, Removals

MIB = 1024 * 1024
LEFTOVERS_AFTER = timedelta(days=30)
"""So long after the last VACUUM there is another one for what no log tells of."""

_TAKEN_BELOW = 1024 * MIB
_DELETED_ROWS = 0.05
_MOST_JUDGED = 1000
_CLOCKS_DIFFER_BY = timedelta(hours=1)


@dataclass(frozen=True)
class MaintenanceBenefit:
    is_likely: bool
    why: str


@dataclass(frozen=True)
class RunWorth:
    """From how many small files in one partition on it is compacted."""

    files: int = MANY
    smaller_than: int = mebibytes(SMALL)
    """Mebibytes."""


@dataclass
class _Files:
    """Those of one partition."""

    partition: Partition
    worth: RunWorth
    small: int = 0
    taken: int = 0
    deleted: int = 0

    def add(self, file: File) -> None:
        holds_deleted_rows = file.deleted_rows > 0 and (
            file.rows is None or file.deleted_rows > _DELETED_ROWS * file.rows
        )
        self.small += file.size < self.worth.smaller_than * MIB
        self.deleted += holds_deleted_rows
        self.taken += file.size < _TAKEN_BELOW or holds_deleted_rows

    @property
    def gain(self) -> str | None:
        """What would be gained."""
        if self.small >= self.worth.files:
            return f"{self.small} files that are smaller than {self.worth.smaller_than} MiB"
        if self.deleted and self.taken > 1:
            return f"{self.deleted} files of which more than {_DELETED_ROWS:.0%} of the rows are deleted"
        return None


def of_compaction(
    files: Collection[File], facts: TableFacts, where: str | None, worth: RunWorth = RunWorth()
) -> MaintenanceBenefit:
    """Whether OPTIMIZE is worth it in the partitions of `where`, which has the day in place of :today. Raises NotUnderstoodError
    where that says what no OPTIMIZE of this table could do."""
    whatever_files = _whatever_files(facts, where)
    if whatever_files is not None:
        return whatever_files
    region = _region(where, facts.columns)
    partitions = _by_partition(files, worth)
    promising = sorted(
        (one for one in partitions if one.gain is not None), key=lambda one: one.small, reverse=True
    )
    for found in islice(promising, _MOST_JUDGED):
        if region is None or not disjoint(partition_region(found.partition, facts.columns)[0], region):
            return MaintenanceBenefit(True, f"{_named(found.partition)} has {found.gain}")
    if len(promising) > _MOST_JUDGED:
        return MaintenanceBenefit(
            True,
            f"{len(promising)} partitions have many small files or deleted rows, too many to hold each against where",
        )
    nothing = (
        f"{worth.files} or more files that are smaller than {worth.smaller_than} MiB, "
        "nor files of which many rows are deleted"
    )
    if not facts.columns.partition_columns:
        return MaintenanceBenefit(False, f"the table has not {nothing}")
    return MaintenanceBenefit(
        False, f"no partition{'' if where is None else f' where {where}'} has {nothing}"
    )


def of_vacuum(
    removals: Removals, last: LastVacuum | None, retention: timedelta, now: datetime
) -> MaintenanceBenefit:
    """Whether VACUUM is worth it: whether a commit removed files that the last one had to keep, and this one hasn't."""
    if last is None or last.at > now:
        return MaintenanceBenefit(True, "nobody knows when the table was vacuumed last")
    if now - last.at >= LEFTOVERS_AFTER:
        return MaintenanceBenefit(
            True,
            f"the last VACUUM was {(now - last.at).days} days ago, and no log tells of the files that failed runs have left since",
        )
    since, until = _before(last.at, last.retention + _CLOCKS_DIFFER_BY), _before(now, retention)
    if removals.known_since is not None and removals.known_since > since:
        return MaintenanceBenefit(
            True, f"the log tells only since {_shown(removals.known_since)} which files were removed"
        )
    count = sum(since < at <= until for at in removals.at)
    if count:
        return MaintenanceBenefit(
            True, f"{count} commits removed files before {_shown(until)} that the last VACUUM had to keep"
        )
    return MaintenanceBenefit(
        False,
        f"no commit removed files between {_shown(since)} and {_shown(until)}, which is what VACUUM could delete",
    )


def _before(at: datetime, time: timedelta) -> datetime:
    """So long before, or the first day of all time where somebody keeps files for thousands of years."""
    return at - min(max(time, timedelta()), at - datetime.min.replace(tzinfo=at.tzinfo))


def _whatever_files(facts: TableFacts, where: str | None) -> MaintenanceBenefit | None:
    """What is said of a table whose files' sizes say nothing."""
    if facts.unread is not None:
        return MaintenanceBenefit(True, f"nothing is known of the table's files: {facts.unread}")
    if not facts.exists:
        return MaintenanceBenefit(False, "there is no table yet")
    if facts.clustering_columns is None or facts.clustering_columns:
        if where is not None:
            raise NotUnderstoodError(
                f"{PLACE}: the table is clustered, and Delta takes no condition to compact such a table: remove it"
            )
        return MaintenanceBenefit(
            True, "the table is clustered, and its files' sizes don't tell what OPTIMIZE would put together"
        )
    return None


def _region(where: str | None, table: Table) -> Region | None:
    if where is None:
        return None
    try:
        condition = parse(where, table)
        region = compiled(condition, stored=False).on_partitions()
    except PredicateError as error:
        raise NotUnderstoodError(f"{PLACE}: {error}") from error
    _refuse_other_columns(condition, table)
    return region


def _refuse_other_columns(condition: Predicate, table: Table) -> None:
    named = (leaf.column for leaf in leaves(condition) if isinstance(leaf, Atom))
    other = next((column.name for column in named if not column.is_partition), None)
    if other is None:
        return
    allowed = ", ".join(column.name for column in table.partition_columns)
    instead = f"name only {allowed}, or remove it" if allowed else "remove it, the table has none"
    raise NotUnderstoodError(
        f"{PLACE}: {other} is no partition column, and Delta takes a condition on partition columns alone to compact a table: "
        f"{instead}"
    )


def _by_partition(files: Collection[File], worth: RunWorth) -> list[_Files]:
    found: dict[str, _Files] = {}
    shared: dict[int, _Files] = {}
    for file in files:
        of_it = shared.get(id(file.partition))
        if of_it is None:
            key = json.dumps(file.partition, sort_keys=True)
            of_it = shared[id(file.partition)] = found.setdefault(key, _Files(file.partition, worth))
        of_it.add(file)
    return list(found.values())


def _named(partition: Partition) -> str:
    values = "/".join(f"{name}={'null' if value is None else value}" for name, value in partition.items())
    return f"the partition {values}" if values else "the table"


def _shown(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M %Z}"
