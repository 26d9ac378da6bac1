"""Decides whether two jobs may run together: only if neither can lose to the other, on any table, in any order."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from sluice.conflicts import databricks, delta_rs, oss, stores_and_runs
from sluice.conflicts.places import Places, places_of
from sluice.conflicts.race import Race
from sluice.conflicts.races import NOT_COMPARED, worst_race
from sluice.conflicts.readers import beside, lasting
from sluice.conflicts.rule import decided
from sluice.conflicts.verdict import Level, Verdict, only_possible
from sluice.footprint.model import JobFootprint
from sluice.tables import TableKey

OTHER_TABLES = Verdict(Level.NEVER, "other-tables", "they have no table in common")
NOT_KNOWN = Verdict(
    Level.MAY,
    "not-known",
    "it is no longer known what it does there: it has just ended, it was edited or deleted after it began, or it cannot be read",
)
SAME_RUN = Verdict(
    Level.WILL,
    "same-run",
    "both have the same run key: once one of them has ended, the other does what is left",
    "ConcurrentTransactionException",
    "give them different run keys, unless they are one run",
)
MAX_WRITERS = Verdict(
    Level.WILL,
    "max-writers",
    "no more may write it at a time, by its policy's admission.maxWriters",
)
WITHOUT_A_RULE = (OTHER_TABLES, NOT_KNOWN, NOT_COMPARED, SAME_RUN, MAX_WRITERS)
"""All verdicts for which no rule is asked."""

ABORTS = frozenset(
    {
        "ConcurrentAppendException",
        "ConcurrentDeleteDeleteException",
        "ConcurrentDeleteReadException",
        "ConcurrentTransactionException",
        "ConcurrentWriteException",
        "MetadataChangedException",
        "ProtocolChangedException",
    }
)
"""What Delta raises before it writes anything: who gets one of them has lost its work, and the table nothing."""


class PairOrder(StrEnum):
    """The order in which the two may commit while both compute."""

    ANY = "any"
    FIRST_THEN_SECOND = "first-then-second"
    SECOND_THEN_FIRST = "second-then-first"
    NONE = "none"


@dataclass(frozen=True)
class Conflict:
    """The worst that could happen to two jobs side by side, and the table it could happen on."""

    table: TableKey
    verdict: Verdict
    order: PairOrder = PairOrder.NONE
    """In which order the two could commit after all, if something saw to it."""


@dataclass(frozen=True)
class Pair:
    """The verdicts in both directions."""

    first_loses: Verdict
    second_loses: Verdict

    @property
    def together(self) -> bool:
        return self.order is PairOrder.ANY

    @property
    def order(self) -> PairOrder:
        levels = (self.first_loses.level, self.second_loses.level)
        if levels == (Level.NEVER, Level.NEVER):
            return PairOrder.ANY
        if Level.UNSAFE in levels:
            return PairOrder.NONE
        if self.second_loses.level is Level.NEVER:
            return PairOrder.FIRST_THEN_SECOND
        return PairOrder.SECOND_THEN_FIRST if self.first_loses.level is Level.NEVER else PairOrder.NONE


def pair_of(first: JobFootprint, second: JobFootprint) -> Pair:
    return Pair(worst_for(first, second)[1], worst_for(second, first)[1])


def conflict_between(
    first: JobFootprint, second: JobFootprint, accepted: Collection[TableKey] = ()
) -> Conflict | None:
    """Returns what keeps the two from running together. `accepted`: the tables on which both accept that one of them may lose."""
    by_first, by_second = worst_for(first, second, accepted), worst_for(second, first, accepted)
    table, verdict = by_second if by_second[1].level > by_first[1].level else by_first
    if verdict.level is Level.NEVER:
        return None
    return Conflict(table, verdict, Pair(by_first[1], by_second[1]).order)


def too_many_writers(table: TableKey, most: int) -> Conflict:
    reason = (
        f"its policy lets no more than {most} write it at a time"
        if most > 1
        else "its policy lets one write it at a time"
    )
    return Conflict(table, MAX_WRITERS._replace(reason=reason))


def is_a_risk(verdict: Verdict) -> bool:
    """Whether the worst that may come of it is that Delta aborts one of the two, and nothing is lost but its work."""
    return verdict.level is Level.MAY and verdict.exception in ABORTS


def conflict_where_met(job: JobFootprint, places: Places) -> Conflict | None:
    """The conflict with a job of which only the places are known where it can meet others."""
    if not places_of(job).may_meet(places):
        return None
    met = (one.table for one in job.tables if places_of(JobFootprint((one,))).may_meet(places))
    return Conflict(next(met, job.tables[0].table), NOT_KNOWN)


def conflict_at_rest(stream: JobFootprint, other: JobFootprint) -> Conflict | None:
    """The conflict of a job with a stream that doesn't run and will go on."""
    found = lasting(stream, other)
    return None if found is None else Conflict(*found)


def _are_understood(race: Race) -> bool:
    """Whether it is known what both do there: where it isn't, nobody knows what he accepts."""
    return not any(one.not_understood or one.is_guess for one in (race.loser, race.winner))


def worst_for(
    loser: JobFootprint, winner: JobFootprint, accepted: Collection[TableKey] = ()
) -> tuple[TableKey, Verdict]:
    """The worst that the winner's commits can do to the loser, over all their statements, but for what both accept."""
    same_run = loser.run is not None and loser.run == winner.run
    found, table = SAME_RUN if same_run else OTHER_TABLES, loser.tables[0].table

    def judged(race: Race) -> Verdict | None:
        verdict = judge(race)
        if race.table in accepted and is_a_risk(verdict) and _are_understood(race):
            return None
        return verdict

    met = worst_race(loser, winner, judged)
    if met is not None and (found is OTHER_TABLES or met[1].level > found.level):
        table, found = met
    for table_read, verdict in beside(loser, winner):
        if found is OTHER_TABLES or verdict.level > found.level:
            found, table = verdict, table_read
    return table, found


def judge(race: Race) -> Verdict:
    """Judges by the rules of the loser's engine, because that engine checks. If it is unknown, only what all engines
    on Spark have in common is believed: delta-rs runs no job unless somebody says so."""
    by_store_or_run = decided(stores_and_runs.RULES, race)
    if by_store_or_run is not None:
        return by_store_or_run
    dialect = race.dialect
    if dialect is not None and dialect.is_databricks:
        return databricks.verdict_of(race)
    if dialect is not None and dialect.is_delta_rs:
        return delta_rs.verdict_of(race)
    verdict = oss.verdict_of(race)
    if dialect is not None:
        return verdict
    return only_possible(_perhaps_databricks(race) if verdict.level is Level.NEVER else verdict)


SAY_THE_ENGINE = (
    "if only open-source Delta writes the table, say so: set dialect in its DeltaTablePolicy, as "
    "{name: oss, version: <its version of Delta>}, or set the job's runtime.deltaVersion"
)


def _perhaps_databricks(race: Race) -> Verdict:
    """Advises to name the engine, which is all that is needed where open-source Delta lets both commit."""
    verdict = databricks.verdict_of(race)
    if verdict.level is Level.NEVER:
        return verdict
    return verdict._replace(
        reason=f"it is not known whether Databricks writes the table; under its rules {verdict.reason}",
        advice=SAY_THE_ENGINE,
    )
