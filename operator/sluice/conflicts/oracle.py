"""Whether two jobs may run together: only if neither can lose to the other, on any table, in any order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from sluice.conflicts import common, databricks, delta_rs, oss
from sluice.conflicts.meeting import Meeting, decided
from sluice.conflicts.verdict import Level, Verdict
from sluice.footprint.model import JobFootprint, TableFootprint
from sluice.tables import TableKey

_APART = Verdict(Level.NEVER, "other-tables", "they have no table in common")


class Order(StrEnum):
    """In which order the two may commit while both compute."""

    ANY = "any"
    FIRST_THEN_SECOND = "first-then-second"
    SECOND_THEN_FIRST = "second-then-first"
    NONE = "none"


@dataclass(frozen=True)
class Conflict:
    """The worst that could happen to two jobs side by side, and on which table."""

    table: TableKey
    verdict: Verdict


@dataclass(frozen=True)
class Pair:
    """Both directions."""

    first_loses: Verdict
    second_loses: Verdict

    @property
    def together(self) -> bool:
        return self.order is Order.ANY

    @property
    def order(self) -> Order:
        levels = (self.first_loses.level, self.second_loses.level)
        if levels == (Level.NEVER, Level.NEVER):
            return Order.ANY
        if Level.UNSAFE in levels:
            return Order.NONE
        if self.second_loses.level is Level.NEVER:
            return Order.FIRST_THEN_SECOND
        return Order.SECOND_THEN_FIRST if self.first_loses.level is Level.NEVER else Order.NONE


def pair_of(first: JobFootprint, second: JobFootprint) -> Pair:
    return Pair(worst_for(first, second)[1], worst_for(second, first)[1])


def conflict_between(first: JobFootprint, second: JobFootprint) -> Conflict | None:
    worst: tuple[TableKey, Verdict] | None = None
    for loser, winner in ((first, second), (second, first)):
        table, verdict = worst_for(loser, winner)
        if verdict.level > (worst[1].level if worst else Level.NEVER):
            worst = (table, verdict)
    return Conflict(*worst) if worst else None


def worst_for(loser: JobFootprint, winner: JobFootprint) -> tuple[TableKey, Verdict]:
    """The worst that the winner's commits can do to the loser, over all their statements."""
    found, table = _APART, loser.tables[0].table
    for meeting in _meetings(loser, winner):
        verdict = judge(meeting)
        if found is _APART or verdict.level > found.level:
            found, table = verdict, meeting.loser.table
            if found.level is Level.UNSAFE:
                break
    for table_read, verdict in _beside(loser, winner):
        if found is _APART or verdict.level > found.level:
            found, table = verdict, table_read
    return table, found


def _beside(loser: JobFootprint, winner: JobFootprint) -> Iterator[tuple[TableKey, Verdict]]:
    """Where the one writes what the other only reads."""
    yield from _by_these_keys(loser, winner)
    if loser.ids_of_sources or winner.ids_of_sources:
        by_logs = _by_their_logs(*_by_their_logs(loser, winner))
        if by_logs != (loser, winner):
            yield from _by_these_keys(*by_logs)


def _by_these_keys(loser: JobFootprint, winner: JobFootprint) -> Iterator[tuple[TableKey, Verdict]]:
    if loser.vacuums or winner.vacuums:
        yield from _vacuumed_reads(loser, winner)
    if loser.streams_from:
        yield from _streaming_reads(loser, winner)
    for mine in loser.tables:
        if mine.told_by:
            yield from _changed_sources(mine, winner)


def _by_their_logs(reader: JobFootprint, writer: JobFootprint) -> tuple[JobFootprint, JobFootprint]:
    """Both with one key for each log that the one reads and the other writes; the writer first."""
    for source, table_id in reader.ids_of_sources.items():
        written = [footprint.table for footprint in writer.tables if footprint.table_id == table_id]
        for other in written[1:]:
            writer = writer.renamed(other, written[0])
        if written:
            reader = reader.reading(source, written[0])
    return writer, reader


def _changed_sources(mine: TableFootprint, winner: JobFootprint) -> Iterator[tuple[TableKey, Verdict]]:
    for theirs in winner.tables:
        verdict = common.changed_source(mine, theirs)
        if verdict is not None:
            yield theirs.table, verdict


def _vacuumed_reads(loser: JobFootprint, winner: JobFootprint) -> Iterator[tuple[TableKey, Verdict]]:
    """Files that one of the two deletes and the other only reads; whoever commits first, it is the reader that is hurt."""
    for one, other in ((loser, winner), (winner, loser)):
        for vacuum in other.vacuums:
            verdict = common.vacuum_under_a_read(one, vacuum)
            if verdict is not None:
                yield vacuum.table, verdict


def _streaming_reads(loser: JobFootprint, winner: JobFootprint) -> Iterator[tuple[TableKey, Verdict]]:
    """What fails a stream where it only reads. Of an engine that is not open-source Delta only what its documents say is
    sure."""
    on_oss = loser.dialect is not None and loser.dialect.is_oss
    is_documented = loser.dialect is not None and not loser.dialect.is_delta_rs
    metadata = oss.streaming_read if on_oss else databricks.streaming_read
    for source in loser.streams_from:
        for theirs in winner.tables:
            rows, changed = common.streamed_rows(loser, source, theirs), metadata(source, theirs)
            if rows is not None:
                yield source, rows if on_oss else _only_possible(rows)
            if changed is not None:
                yield source, changed if is_documented else _only_possible(changed)


def _meetings(loser: JobFootprint, winner: JobFootprint) -> Iterator[Meeting]:
    for mine in loser.tables:
        if mine.hook:
            continue
        for theirs in winner.tables:
            one_table = mine.table == theirs.table or _share_a_log(mine, theirs)
            perhaps = mine.table.may_equal(theirs.table) and not (
                _have_logs_of_their_own(mine, theirs)
                and not _may_change(loser, mine.table)
                and not _may_change(winner, theirs.table)
            )
            if one_table or perhaps or common.may_share_a_checkpoint(mine, theirs):
                yield Meeting(mine, theirs, loser, winner, one_table)


def judge(meeting: Meeting) -> Verdict:
    """By the rules of the loser's engine: it is the one that checks. Of an unknown one only that is believed which all
    engines on Spark have in common: delta-rs runs no job unless somebody says so."""
    by_store_or_run = decided(common.RULES, meeting)
    if by_store_or_run is not None:
        return by_store_or_run
    dialect = meeting.losing_job.dialect
    if dialect is not None and dialect.is_databricks:
        return databricks.verdict_of(meeting)
    if dialect is not None and dialect.is_delta_rs:
        return delta_rs.verdict_of(meeting)
    verdict = oss.verdict_of(meeting, oss.era_of(dialect))
    if dialect is not None:
        return verdict
    return _only_possible(_perhaps_databricks(meeting) if verdict.level is Level.NEVER else verdict)


_SAY_THE_ENGINE = (
    "if the table is written by open-source Delta alone, say so: dialect in its DeltaTablePolicy or in the facts of --table, "
    "such as {name: oss, version: 4.4.0}, or the job's runtime.deltaVersion"
)


def _perhaps_databricks(meeting: Meeting) -> Verdict:
    """Where open-source Delta lets both commit, saying that it is the engine is all that is needed."""
    verdict = databricks.verdict_of(meeting)
    if verdict.level is Level.NEVER:
        return verdict
    return replace(
        verdict,
        reason=f"nothing says whether Databricks writes the table, under whose rules {verdict.reason}",
        advice=_SAY_THE_ENGINE,
    )


def _only_possible(verdict: Verdict) -> Verdict:
    """What one engine would surely abort, another may let pass."""
    if verdict.level is not Level.WILL:
        return verdict
    return Verdict(
        Level.MAY, verdict.rule, verdict.reason, verdict.exception, verdict.advice, verdict.meeting
    )


def _share_a_log(mine: TableFootprint, theirs: TableFootprint) -> bool:
    """As far as logs were read: then a table is known under whatever path or name leads to it."""
    return mine.table_id is not None and mine.table_id == theirs.table_id


def _may_change(job: JobFootprint, table: TableKey) -> bool:
    """A table that is made anew gets another id: then one that was read before tells nothing of one that was read after."""
    return any(footprint.may_change_table for footprint in job.tables if footprint.table == table)


def _have_logs_of_their_own(mine: TableFootprint, theirs: TableFootprint) -> bool:
    """As the tables were when their logs were read."""
    if mine.facts is None or theirs.facts is None or None in (mine.table_id, theirs.table_id):
        return False
    return mine.table_id != theirs.table_id
