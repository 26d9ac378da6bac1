"""Scripts of any size that a manifest can have are understood or refused in bounded work."""

from collections.abc import Iterator
from contextlib import suppress
from time import process_time

import pytest
from sqlglot import exp

from sluice.api.job import DeltaWriteJobSpec
from sluice.api.sql import SQL_BYTES
from sluice.footprint import JobFootprint, NotUnderstoodError, footprint_of
from sluice.footprint.queries import cells
from sluice.footprint.sql import selected
from sluice.footprint.sql.survey import Survey
from sluice.predicates import Table
from sluice.predicates.limits import MAX_TOKENS
from sluice.tables import TableFacts, key_of_path, oss

T = "delta.`s3://lake/t`"
S = "delta.`s3://lake/s`"
FACTS = TableFacts(columns=Table.of({"id": "int", "d": "date"}, ["d"]), dialect=oss("4.4.0"))


def footprint(sql: str) -> JobFootprint:
    return footprint_of(
        DeltaWriteJobSpec.model_validate({"sql": sql}), {}, facts={key_of_path("s3://lake/t"): FACTS}
    )


def test_what_comes_after_all_that_can_be_read_may_touch_all_of_its_table() -> None:
    found = footprint("; ".join([f"DELETE FROM {T} WHERE d = DATE '2026-11-19'"] * 2_100)).tables
    assert found[0].reads_text == found[1_500].reads_text == "d = DATE '2026-11-19'"
    assert found[-1].reads.is_everything
    assert found[-1].widened == (f"the script has more than {MAX_TOKENS} tokens up to here",)


def test_a_source_of_many_inserts_is_read_again_only_as_long_as_the_script_is_not_too_large() -> None:
    source = f"FROM (SELECT * FROM {S} WHERE {' OR '.join(['id = 1'] * 1_500)})"
    found = footprint(
        f"{source} {f'INSERT INTO {T} SELECT id, DATE ' + chr(39) + '2026-11-19' + chr(39)} " * 1
    )
    assert found.tables[0].writes_text == "d = DATE '2026-11-19'"
    insert = f"INSERT INTO {T} SELECT id, DATE '2026-11-19'"
    many = footprint(f"{source} {' '.join([insert] * 1_000)}").tables
    assert sum(not table.adds.is_everything for table in many) == MAX_TOKENS // 6_000
    assert len(many) == 1_000


@pytest.mark.parametrize(
    "unit",
    ["{", "{{", "{%", "{#", "${ ", "-", "--\\", "{{ \n", "--\\\r", "SELECT INTERVAL '" + "9" * 300 + "'; "],
)
def test_a_text_is_read_in_time_that_grows_as_it_does(unit: str) -> None:
    """What looks from each beginning for an end that there is not would take minutes for the largest text."""
    sql = f"DELETE FROM {T} WHERE d = DATE '2026-11-19'; SELECT " + unit * ((SQL_BYTES - 100) // len(unit))
    begun = process_time()
    with suppress(NotUnderstoodError):
        footprint(sql)
    assert process_time() - begun < 10


def test_a_script_of_views_upon_views_is_refused_before_it_takes_long() -> None:
    """Twelve seconds, of which nothing else in the operator had any."""
    views = [f"CREATE TEMP VIEW v{n} AS SELECT * FROM {f'v{n - 1}' if n else S}" for n in range(3_500)]
    begun = process_time()
    with pytest.raises(NotUnderstoodError, match=r"statement 257, .* at most 256 temporary views"):
        footprint(";".join(views))
    assert process_time() - begun < 2
    footprint(";".join([*views[:256], f"INSERT INTO {T} SELECT * FROM v255"]))


def test_an_interval_without_an_end_is_not_read() -> None:
    begun = process_time()
    found = footprint(f"DELETE FROM {T} WHERE d > DATE '2026-11-19' - INTERVAL '{'9' * 150_000}'").tables[0]
    assert found.reads.is_everything
    assert process_time() - begun < 10


@pytest.mark.parametrize(
    "sql",
    [
        f"INSERT INTO {T} VALUES (1, {'1 + ' * 5_000} 1)",
        f"UPDATE {T} SET {'a.' * 9_000}a = 1",
        f"INSERT INTO {T} SELECT 1 {'UNION SELECT 1 ' * 6_000}",
        f"INSERT INTO {T} {'FROM ' * 9_000} {S}",
        f"MERGE INTO {T} t USING {S} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET d = {'1 + ' * 3_000} 1",
    ],
)
def test_what_is_nested_too_deeply_for_a_reader_is_refused_with_its_place(sql: str) -> None:
    with pytest.raises(NotUnderstoodError, match=r"statement 2 .*line 2|statement 2, line 2"):
        footprint(f"DELETE FROM {T};\n{sql}")


def test_so_is_the_query_of_a_write() -> None:
    source = {"sql": f"SELECT 1 {'UNION SELECT 1 ' * 6_000}"}
    write = {"table": {"path": "s3://lake/t"}, "mode": "Append", "source": source}
    with pytest.raises(NotUnderstoodError, match=r"spec\.write.*nested too deeply"):
        footprint_of(DeltaWriteJobSpec.model_validate({"write": write}), {}, facts={})


def test_settings_without_end_are_refused() -> None:
    settings = "; ".join(f"SET spark.sql.x{number} = 1" for number in range(3_000))
    with pytest.raises(NotUnderstoodError, match=r"SET spark\.sql\.x1025: more than 2048 settings"):
        footprint(f"{settings}; DELETE FROM {T}")


def test_conditions_are_looked_at_once_however_many_columns_they_may_speak_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at: list[exp.Expr] = []

    def looking(node: exp.Expr) -> Survey:
        looked_at.append(node)
        return Survey(node)

    monkeypatch.setattr(cells, "Survey", looking)
    names = [f"c{number}" for number in range(200)]
    said = " AND ".join(f"{name} = 1" for name in names)
    lists = ", ".join(f"s.{name}" for name in names)
    found = footprint(
        f"INSERT INTO {T} SELECT id, d FROM (SELECT s.id, s.d, {lists} FROM {S} s) WHERE d = DATE '2026-11-19' AND {said}"
    )
    assert found.tables[0].writes_text == "d = DATE '2026-11-19'"
    assert len(names) <= len(looked_at) < 2 * len(names)


def test_tables_deep_in_joins_look_for_a_definition_only_where_one_can_stand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[exp.Expr] = []
    visible = selected._visible

    def asking(outer: exp.Expr, inside: exp.Expr) -> Iterator[exp.CTE]:
        asked.append(outer)
        return visible(outer, inside)

    monkeypatch.setattr(selected, "_visible", asking)
    joins = " ".join(
        f"JOIN (SELECT * FROM {S} WHERE id = {number}) s{number} USING (id)" for number in range(200)
    )
    footprint(f"INSERT INTO {T} SELECT * FROM {S} {joins}")
    assert asked == []
