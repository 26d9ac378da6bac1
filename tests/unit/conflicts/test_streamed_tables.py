"""What fails a stream at the table that it reads, though it writes another."""

from dataclasses import replace
from typing import Any

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Level, Pair, conflict_between, pair_of, readers
from sluice.conflicts.race import Race
from sluice.footprint import JobFootprint, footprint_of
from sluice.tables import Dialect, databricks, key_of_path, oss
from unit.conflicts import pairs as p

DELTA = oss("4.4.0")
REWRITES = [p.UPDATE, p.DELETE, p.MERGE, p.DELETE_PARTITION, p.TRUNCATE]
UNMAPPED = "ALTER TABLE {t} UNSET TBLPROPERTIES ('delta.columnMapping.mode')"
OVERWRITES = [p.OVERWRITE, p.REPLACE_WHERE, p.DYNAMIC, p.RESTORE, p.REPLACE_TABLE]
INSERT_ONLY = (
    f"MERGE INTO {{t}} t USING ({p.row(p.A)}) s ON t.id = s.id AND t.date = {p.A} "
    "WHEN NOT MATCHED THEN INSERT *"
)


def stream(options: dict[str, str] | None = None, **source: Any) -> dict[str, Any]:
    source = {"format": "delta", "path": "/lake/t", **source}
    if options is not None:
        source["options"] = options
    return {
        "stream": {
            "source": source,
            "table": {"path": "/lake/other"},
            "checkpoint": "/lake/checkpoint",
            "trigger": {"availableNow": True},
        }
    }


def footprints(
    winner: str, options: dict[str, str] | None, dialect: Dialect | None
) -> tuple[JobFootprint, JobFootprint]:
    known = p.facts(dialect=dialect)
    return p.job(stream(options), known), p.job(winner, known)


def pair(winner: str, options: dict[str, str] | None = None, dialect: Dialect | None = DELTA) -> Pair:
    return pair_of(*footprints(winner, options, dialect))


@pytest.mark.parametrize("winner", [*REWRITES, *OVERWRITES])
def test_a_change_of_rows_breaks_a_stream_that_reads_them(winner: str) -> None:
    found = pair(winner)
    assert found.first_loses.level is (Level.WILL if winner in REWRITES else Level.MAY)
    assert found.first_loses.rule == "streamed-rows"
    assert found.first_loses.exception is None
    assert found.second_loses.level is Level.NEVER
    conflict = conflict_between(*footprints(winner, None, DELTA))
    assert conflict is not None
    assert conflict.table == key_of_path("/lake/t")


@pytest.mark.parametrize("winner", [p.APPEND, p.SELF_READ, p.OPTIMIZE, p.VACUUM, INSERT_ONLY])
def test_what_changes_no_row_passes_a_stream(winner: str) -> None:
    assert pair(winner).together


@pytest.mark.parametrize(
    "options",
    [{"skipChangeCommits": "true"}, {"ignorechanges": "TRUE"}, {"readChangeFeed": "true"}],
)
def test_options_of_the_source_let_changes_pass(options: dict[str, str]) -> None:
    for winner in REWRITES:
        assert pair(winner, options).together
        assert not pair(winner, dict.fromkeys(options, "false")).together


def test_ignoring_deletes_helps_only_where_no_file_is_written_again() -> None:
    options = {"ignoreDeletes": "true"}
    assert pair(p.TRUNCATE, options).together
    assert pair(p.DELETE_PARTITION, options).together
    for winner in (p.DELETE, p.UPDATE, p.MERGE, p.OVERWRITE):
        assert pair(winner, options).first_loses.rule == "streamed-rows"


@pytest.mark.parametrize("winner", [p.ADD_COLUMN, p.SET, p.CHANGE_FEED])
@pytest.mark.parametrize("options", [None, {"skipChangeCommits": "true"}])
def test_a_change_of_the_schema_may_break_a_stream_until_it_starts_again(
    winner: str, options: dict[str, str] | None
) -> None:
    found = pair(winner, options).first_loses
    assert (found.level, found.rule, found.exception) == (Level.MAY, "streaming-read", None)


RENAME = "ALTER TABLE {t} RENAME COLUMN v TO w"
DROP = "ALTER TABLE {t} DROP COLUMNS (v)"


FEED_OFF = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')"
FEED_UNSET = "ALTER TABLE {t} UNSET TBLPROPERTIES ('Delta.enableChangeDataFeed')"
IF_THERE = "ALTER TABLE {t} DROP COLUMN IF EXISTS v"


@pytest.mark.parametrize("winner", [RENAME, DROP, IF_THERE, p.REPLACE_TABLE, p.RESTORE, FEED_OFF])
@pytest.mark.parametrize(
    "option", ["skipChangeCommits", "readChangeFeed", "ignoreDeletes", "maxFilesPerTrigger"]
)
def test_no_restart_helps_a_stream_whose_table_is_another_or_lacks_a_column(winner: str, option: str) -> None:
    found = readers.lasting(*footprints(winner, {option: "true"}, DELTA))
    assert found is not None
    assert found[0] == key_of_path("/lake/t")
    assert found[1].level is Level.MAY
    passes = {"skipChangeCommits", "readChangeFeed"}
    by_rows = winner in (p.REPLACE_TABLE, p.RESTORE) and option not in passes
    assert found[1].rule == ("streamed-rows" if by_rows else "streamed-columns")


def test_a_feed_that_is_unset_ends_unless_there_was_none() -> None:
    on = p.facts(dialect=DELTA, properties={"delta.enableChangeDataFeed": "true"})
    assert readers.lasting(p.job(stream(), on), p.job(FEED_UNSET, on)) is not None
    off = p.facts(dialect=DELTA)
    assert readers.lasting(p.job(stream(), off), p.job(FEED_UNSET, off)) is None


@pytest.mark.parametrize("winner", [p.ADD_COLUMN, p.SET, p.CHANGE_FEED, p.OPTIMIZE])
def test_a_restart_helps_after_any_other_change_of_the_table(winner: str) -> None:
    assert readers.lasting(*footprints(winner, None, DELTA)) is None


@pytest.mark.parametrize("feature", ["columnMapping", "COLUMNMAPPING TRUNCATE HISTORY", "`columnMapping`"])
def test_a_table_without_column_mapping_is_another_to_its_readers_however_it_lost_it(feature: str) -> None:
    for winner in (f"ALTER TABLE {{t}} DROP FEATURE {feature}", UNMAPPED):
        found = readers.lasting(*footprints(winner, {"skipChangeCommits": "true"}, DELTA))
        assert found is not None
        assert found[1].rule == "streamed-columns"


def test_a_type_is_read_past_only_as_long_as_the_table_tells_what_it_was_before() -> None:
    winner = "ALTER TABLE {t} DROP FEATURE typeWidening"
    found = readers.lasting(*footprints(winner, {"skipChangeCommits": "true"}, DELTA))
    assert found is not None
    assert found[1].rule == "streamed-columns"


@pytest.mark.parametrize("feature", ["deletionVectors", "checkpointProtection"])
def test_a_restart_helps_after_any_other_feature_is_dropped(feature: str) -> None:
    assert readers.lasting(*footprints(f"ALTER TABLE {{t}} DROP FEATURE {feature}", None, DELTA)) is None


def test_a_query_goes_by_the_columns_that_a_joined_table_had_when_it_began() -> None:
    joins = stream(format="kafka", path=None)
    joins["stream"]["query"] = "SELECT s.id FROM source s JOIN delta.`/lake/t` d ON s.id = d.id"
    known = p.facts(dialect=DELTA)
    reader = p.job(joins, known)
    assert reader.looks_into == (key_of_path("/lake/t"),)
    for winner in (RENAME, DROP, p.ADD_COLUMN, p.REPLACE_TABLE):
        pair = pair_of(reader, p.job(winner, known))
        assert (pair.first_loses.level, pair.first_loses.rule) == (Level.MAY, "streaming-read")
        assert pair.second_loses.level is Level.NEVER
        assert readers.lasting(reader, p.job(winner, known)) is None
    for winner in (*REWRITES, p.OPTIMIZE, p.APPEND):
        assert pair_of(reader, p.job(winner, known)).together


def test_statements_of_a_batch_are_read_anew_each_time() -> None:
    joins = stream(format="kafka", path=None)
    del joins["stream"]["table"]
    joins["stream"]["sql"] = (
        "INSERT INTO delta.`/lake/other` SELECT b.id FROM batch b JOIN delta.`/lake/t` d ON b.id = d.id"
    )
    known = p.facts(dialect=DELTA)
    assert p.job(joins, known).looks_into == ()


@pytest.mark.parametrize("dialect", [None, databricks("15.4", photon=True)])
def test_of_other_engines_it_is_only_possible(dialect: Dialect | None) -> None:
    assert pair(p.DELETE, None, dialect).first_loses.level is Level.MAY
    assert pair(p.DELETE, {"skipChangeCommits": "true"}, dialect).together


def test_a_name_that_may_be_the_table_may_break_the_stream() -> None:
    known = p.facts(dialect=DELTA)
    reader, changed = p.job(stream(), known), p.job("DELETE FROM sales.orders", known)
    race = Race(
        reader.tables[0], changed.tables[0], reader, changed, reader.streams_from[0], on_one_table=False
    )
    found = readers.streamed_rows.decide(race)
    assert found is not None
    assert found.level is Level.MAY


def test_a_table_that_is_only_looked_into_may_be_no_stream() -> None:
    looks = stream(format="rate", path=None)
    looks["stream"]["readsTables"] = [{"path": "/lake/t"}]
    known = p.facts(dialect=DELTA)
    assert pair_of(p.job(looks, known), p.job(p.DELETE, known)).first_loses.level is Level.MAY


def test_a_stream_reads_the_table_of_an_options_path_and_that_of_an_older_version() -> None:
    for source in ({"path": None, "options": {"Path": "/lake/t"}}, {"path": "/lake/t@v3"}):
        found = pair_of(
            p.job(stream(**source), p.facts(dialect=DELTA)), p.job(p.DELETE, p.facts(dialect=DELTA))
        )
        assert found.first_loses.rule == "streamed-rows", source


def test_a_stream_by_another_location_of_the_table_is_known_by_its_log() -> None:
    known = replace(p.facts(dialect=DELTA), table_id="7d1f")

    def told(spec: Any, location: str) -> JobFootprint:
        given = {"sql": spec.replace("{t}", f"delta.`{location}`")} if isinstance(spec, str) else spec
        facts = {key_of_path(location): known}
        return footprint_of(DeltaWriteJobSpec.model_validate(given), {}, facts=facts)

    reader = told(stream(path="/mnt/t"), "/mnt/t")
    found = pair_of(reader, told(p.DELETE, "/lake/t"))
    assert found.first_loses.rule == "streamed-rows"
    assert pair_of(reader, told(p.SET, "/lake/t")).first_loses.rule == "streaming-read"


def test_a_stream_that_pauses_still_needs_the_files_that_it_has_not_read_yet() -> None:
    keeps_nothing = f"{p.VACUUM} RETAIN 0 HOURS"
    told = readers.lasting(*footprints(keeps_nothing, {"skipChangeCommits": "true"}, DELTA))
    assert told is not None
    assert (told[0], told[1].rule, told[1].level) == (
        key_of_path("/lake/t"),
        "vacuum-under-a-run",
        Level.UNSAFE,
    )
    assert readers.lasting(*footprints(p.VACUUM, None, DELTA)) is None


def test_a_stream_that_pauses_needs_no_files_of_what_it_only_joins_or_writes() -> None:
    joins = stream(format="kafka", path=None)
    joins["stream"]["query"] = "SELECT s.id FROM source s JOIN delta.`/lake/t` d ON s.id = d.id"
    writes = stream(format="kafka", path=None)
    writes["stream"]["table"] = {"path": "/lake/t"}
    known = p.facts(dialect=DELTA)
    vacuum = p.job(f"{p.VACUUM} RETAIN 0 HOURS", known)
    for one in (joins, writes):
        assert not pair_of(p.job(one, known), vacuum).together
        assert readers.lasting(p.job(one, known), vacuum) is None
