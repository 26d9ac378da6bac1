"""A view means the tables that it was made over, until it is dropped; and a table is no view."""

import pytest

from sluice.footprint import NotUnderstoodError, split
from sluice.footprint.sql.statement_context import Surroundings
from sluice.footprint.statements.script import Script
from sluice.tables import Names, key_of_name
from unit.footprint.statements import footprint, footprints


def test_a_temporary_view_that_is_dropped_is_not_looked_through_any_more() -> None:
    select = "INSERT INTO delta.`/lake/t` SELECT * FROM v"
    view = "CREATE TEMP VIEW v AS SELECT 1"
    assert footprint(f"{view}; {select}").is_blind
    assert not footprint(f"{view}; DROP VIEW v; {select}").is_blind
    with pytest.raises(NotUnderstoodError, match="temporary view"):
        footprints(f"{view}; ALTER VIEW v AS SELECT * FROM delta.`/lake/t`; {select}")


def test_a_view_goes_on_to_mean_the_tables_that_it_was_made_over_whatever_views_are_made_later() -> None:
    view = "CREATE TEMP VIEW v AS WITH a AS (SELECT * FROM b) SELECT * FROM a"
    later = "CREATE TEMP VIEW b AS SELECT 1"
    insert = "INSERT INTO delta.`/lake/t` SELECT * FROM v"
    assert footprint(f"{later}; {view}; {insert}").is_blind
    found = footprint(f"{view}; {later}; {insert}")
    assert not found.is_blind
    assert [table.text for table in found.sources.tables] == ["b"]


def test_a_name_that_is_surely_a_table_is_no_view() -> None:
    around = Surroundings(names=Names(tables=frozenset({key_of_name("a.t")})))
    for sql in ("CREATE VIEW a.t AS SELECT 1", "ALTER VIEW a.t AS SELECT 1", "DROP VIEW a.t"):
        with pytest.raises(NotUnderstoodError, match="is not a view but a table"):
            Script(around).then(split(sql)[0])
