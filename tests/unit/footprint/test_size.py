"""Scripts of any size that a manifest can have are understood or refused in bounded work."""

from collections.abc import Mapping
from contextlib import suppress
from time import process_time

import pytest
from sqlglot import exp

from sluice.api.base import Json
from sluice.api.job import DeltaWriteJobSpec
from sluice.api.sql import SQL_BYTES
from sluice.footprint import JobFootprint, NotUnderstoodError, footprint_of
from sluice.footprint.queries import cells
from sluice.footprint.sql.tree_summary import TreeSummary
from sluice.predicates import Table
from sluice.predicates.limits import MAX_TOKENS
from sluice.tables import TableFacts, TableKey, key_of_path, oss

T = "delta.`s3://lake/t`"
S = "delta.`s3://lake/s`"
FACTS = TableFacts(columns=Table.of({"id": "int", "d": "date"}, ["d"]), dialect=oss("4.4.0"))


def footprint(sql: str, sources: Mapping[TableKey, TableFacts] | None = None) -> JobFootprint:
    return footprint_of(
        DeltaWriteJobSpec.model_validate({"sql": sql}),
        {},
        facts={key_of_path("s3://lake/t"): FACTS},
        sources=sources,
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
    with pytest.raises(NotUnderstoodError, match=r"SET spark\.sql\.x257: more than 256 settings"):
        footprint(f"{settings}; DELETE FROM {T}")


def test_conditions_are_looked_at_once_however_many_columns_they_may_speak_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at: list[exp.Expr] = []

    def looking(node: exp.Expr) -> TreeSummary:
        looked_at.append(node)
        return TreeSummary(node)

    monkeypatch.setattr(cells, "TreeSummary", looking)
    names = [f"c{number}" for number in range(200)]
    said = " AND ".join(f"{name} = 1" for name in names)
    lists = ", ".join(f"s.{name}" for name in names)
    found = footprint(
        f"INSERT INTO {T} SELECT id, d FROM (SELECT s.id, s.d, {lists} FROM {S} s) WHERE d = DATE '2026-11-19' AND {said}"
    )
    assert found.tables[0].writes_text == "d = DATE '2026-11-19'"
    assert len(names) <= len(looked_at) < 2 * len(names)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {
                "sql": f"INSERT INTO {T} VALUES {', '.join(['(:p)'] * 10_001)}",
                "parameters": {"p": {"integer": 1}},
            },
            r"spec\.sql uses parameters 10001 times, and may do so 10000 times: split the job",
        ),
        (
            {
                "sql": f"DELETE FROM {T} WHERE s IN ({', '.join([':p'] * 600)})",
                "parameters": {"p": {"string": "x" * 1_000}},
            },
            r"spec\.sql has up to 60\d{4} characters with the values of its parameters, and takes at most 500000",
        ),
        ({"sql": f"DELETE FROM {T};" * 5_001}, r"spec\.sql has more than 5000 statements: write them as"),
        (
            {"sql": ";".join(f"DELETE FROM delta.`s3://lake/t{k}`" for k in range(1_001))},
            r"statement 1001, line 1: a job writes at most 1000 tables: split it",
        ),
        (
            {"sql": f"DELETE FROM {'a.' * 1_024}a"},
            r"table a\.a\..*: its name or location has 1025 characters, and takes at most",
        ),
        (
            {
                "sql": f"INSERT INTO {T} SELECT 1, d FROM {S};" * 1_000,
                "writes": ["d IN (" + ", ".join(f"DATE '{year}-11-19'" for year in range(2000, 2200)) + ")"],
            },
            r"spec\.writes lists 401 values for 1000 statements, and takes 100 for so many: promise ranges",
        ),
    ],
)
def test_what_costs_too_much_is_refused_with_the_field_and_what_to_do(spec: Json, why: str) -> None:
    facts = {key_of_path("s3://lake/t"): FACTS}
    with pytest.raises(NotUnderstoodError, match=why):
        footprint_of(DeltaWriteJobSpec.model_validate(spec), {}, facts=facts)


def test_a_merge_of_many_clauses_may_touch_all_of_its_table() -> None:
    clauses = " ".join(f"WHEN MATCHED AND s.id = {k} THEN DELETE" for k in range(65))
    found = footprint(f"MERGE INTO {T} t USING {S} s ON t.d = DATE '2026-11-19' {clauses}").tables[0]
    assert found.reads.is_everything
    assert found.widened == ("the MERGE has more than 64 clauses",)


def test_declared_conditions_beyond_what_is_read_count_as_all_of_their_table() -> None:
    reads = " OR ".join(f"id = {k}" for k in range(300))
    declared = {
        "table": {"path": "s3://lake/t"},
        "operation": "Delete",
        "reads": f"d = DATE '2026-11-19' AND ({reads})",
    }
    spec = DeltaWriteJobSpec.model_validate({"sql": f"DELETE FROM {T}", "footprint": [declared] * 32})
    found = footprint_of(spec, {}, facts={key_of_path("s3://lake/t"): FACTS}).tables
    assert found[0].reads_text == "d = DATE '2026-11-19'"
    assert found[-1].reads.is_everything
    assert found[-1].widened == ("the conditions of spec.footprint have more than 60000 characters",)


def test_views_that_are_selected_from_again_and_again_may_at_last_be_any_table() -> None:
    view = f"CREATE TEMP VIEW v AS SELECT {', '.join(['abs(id)'] * 500)}, id, d FROM {S}"
    found = footprint(f"{view}; " + f"INSERT INTO {T} SELECT id, d FROM v;" * 200).tables
    assert not found[0].reads.is_everything
    assert found[-1].reads.is_everything
    assert "the statements of the job select too often from its temporary views" in found[-1].widened


def test_stars_within_stars_are_counted_before_they_are_written_out() -> None:
    """Ten to the power of twelve columns."""
    query = f"SELECT * FROM {S}"
    for _ in range(12):
        query = f"SELECT {', '.join(['*'] * 10)} FROM ({query})"
    found = footprint(f"INSERT INTO {T} {query}", sources={key_of_path("s3://lake/s"): FACTS}).tables[0]
    assert found.adds.is_everything


@pytest.mark.parametrize(
    "condition",
    [
        f"{'(' * 24}id = 1{') IS NULL' * 24}",
        "id = CAST(1 AS DECIMAL(10, 999999999))",
        f"id = CAST(1 AS DECIMAL({'9' * 5_000}, 0))",
        f"id = '{'1' * 150_000}x'",
    ],
    ids=["IS NULL within IS NULL", "scale", "digits of a precision", "digits of a text"],
)
def test_a_short_condition_costs_little(condition: str) -> None:
    begun = process_time()
    with suppress(NotUnderstoodError):
        footprint(f"DELETE FROM {T} WHERE {condition}")
    assert process_time() - begun < 2
