"""Tables by name, a source whose types are known: what its filter says becomes a line, which is believed once it is written."""

import pytest

import sluice
from sluice.conflicts import PairOrder
from sluice.offline.pairs import Explanation

SCHEMA = [
    {"name": "id", "type": "bigint"},
    {"name": "date", "type": "date"},
    {"name": "region", "type": "string"},
]
COMMON: dict[str, object] = {
    "schema": SCHEMA,
    "dialect": {"name": "oss", "version": "4.4.0"},
    "logStore": "S3DynamoDB",
}
RAW: dict[str, object] = {**COMMON, "name": "prod.raw.orders", "path": "s3://lake/raw"}
ON = {"date": "date = DATE '2026-10-01'", "region": "region = 'zz'"}


def explained(source: str, column: str, *sources: dict[str, object], line: str = "") -> Explanation:
    target = {**COMMON, "name": "prod.sales.orders", "path": "s3://lake/orders", "partitionColumns": [column]}
    oracle = sluice.Oracle(target, *sources)
    merge = (
        f"MERGE INTO prod.sales.orders t\nUSING ({source}) s\n"
        f"{line or f'ON t.id = s.id AND t.{column} = s.{column}'}\n"
        "WHEN MATCHED THEN UPDATE SET id = s.id\nWHEN NOT MATCHED THEN INSERT *"
    )
    other = oracle.job(f"DELETE FROM prod.sales.orders WHERE {ON[column]} AND id = 1")
    return oracle.pair(oracle.job(merge), other)


def advised(found: Explanation) -> str | None:
    """The line that keeps the result, if there is one."""
    lines = [one.change.lines[0].after for one in found.remedies if one.change.keeps_result]
    return lines[0] if lines else None


def where(condition: str) -> str:
    return f"SELECT * FROM prod.raw.orders WHERE {condition}"


def union(one: str, other: str) -> str:
    return f"{one} UNION ALL {other}"


DAYS = "t.date >= DATE '2026-11-15' AND t.date <= DATE '2026-11-17'"


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("date = DATE '2026-11-18'", "t.date = DATE '2026-11-18'"),
        (
            "date IN (DATE '2026-11-17', DATE '2026-11-18')",
            "t.date IN (DATE '2026-11-17', DATE '2026-11-18')",
        ),
        ("date >= DATE '2026-11-15' AND date < DATE '2026-11-18'", DAYS),
        ("date > DATE '2026-11-14' AND DATE '2026-11-17' >= date", DAYS),
        ("date BETWEEN DATE '2026-11-15' AND DATE '2026-11-17'", DAYS),
        ("date = '2026-11-18'", "t.date = DATE '2026-11-18'"),
        ("date IN ('2026-11-17', '2026-11-18')", "t.date IN (DATE '2026-11-17', DATE '2026-11-18')"),
    ],
)
def test_days_in_a_source_s_filter_are_a_line(condition: str, says: str) -> None:
    line = advised(explained(where(condition), "date", RAW))
    assert line == f"ON t.id = s.id AND t.date = s.date AND {says}"
    assert explained(where(condition), "date", RAW, line=line).order is PairOrder.ANY


@pytest.mark.parametrize(
    ("column", "source", "says"),
    [
        ("region", where("region = 'eu'"), "t.region = 'eu'"),
        ("region", where("region >= 'a' AND region < 'f'"), "t.region >= 'a' AND t.region < 'f'"),
        (
            "region",
            union(where("region = 'eu'"), where("region = 'us'")),
            "t.region IN ('eu', 'us')",
        ),
        ("date", where("date >= '2026-11-15' AND date < '2026-11-18'"), DAYS),
        (
            "date",
            union(
                where("date = DATE '2026-11-17'"),
                "SELECT * FROM delta.`s3://lake/raw` WHERE date = '2026-11-18'",
            ),
            "t.date IN (DATE '2026-11-17', DATE '2026-11-18')",
        ),
    ],
)
def test_of_a_source_whose_types_are_known_texts_ranges_and_unions_are_a_line(
    column: str, source: str, says: str
) -> None:
    line = advised(explained(source, column, RAW))
    assert line == f"ON t.id = s.id AND t.{column} = s.{column} AND {says}"
    assert explained(source, column, RAW, line=line).order is PairOrder.ANY
    assert advised(explained(source, column)) is None


@pytest.mark.parametrize(
    ("column", "condition", "kind"),
    [
        ("region", "region = 'eu'", "char(5)"),
        ("region", "region = '7'", "int"),
        ("date", "date >= '2026-11-15' AND date < '2026-11-18'", "string"),
    ],
)
def test_what_another_type_may_turn_into_something_else_is_none(
    column: str, condition: str, kind: str
) -> None:
    schema = [one | ({"type": kind} if one["name"] == column else {}) for one in SCHEMA]
    assert advised(explained(where(condition), column, RAW | {"schema": schema})) is None


def test_a_zone_in_a_text_is_why_two_sources_of_different_types_are_none() -> None:
    """Read as a date, '2026-11-19 23:00:00-05:00' is on the 19th; a UNION with timestamps moves it to the 20th, in UTC."""
    schema = [one | ({"type": "string"} if one["name"] == "date" else {}) for one in SCHEMA]
    texts = RAW | {"schema": schema}
    later = {**RAW, "path": "s3://lake/later", "name": "prod.raw.later"}
    later["schema"] = [one | ({"type": "timestamp"} if one["name"] == "date" else {}) for one in SCHEMA]
    day = "SELECT * FROM {} WHERE date = DATE '2026-11-19'"
    source = union(day.format("prod.raw.orders"), day.format("prod.raw.later"))
    assert advised(explained(source, "date", texts, later)) is None
