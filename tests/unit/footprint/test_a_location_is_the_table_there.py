"""A location is the table there, however it is written; what cannot be a location or a name is refused."""

import pytest

from sluice.footprint import NotUnderstoodError
from sluice.tables import key_of_name, key_of_path
from unit.footprint.statements import footprint

T = key_of_path("/lake/t")


def test_a_table_created_at_a_location_is_that_location() -> None:
    assert footprint("CREATE TABLE a (x INT) USING delta LOCATION 's3a://lake/t'").table == key_of_path(
        "s3://lake/t"
    )
    assert footprint("CREATE TABLE a USING delta AS SELECT 'LOCATION', location FROM x").table == key_of_name(
        "a"
    )


@pytest.mark.parametrize("version", ["v12", "20261119000000000"])
@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM delta.`{t}`",
        "INSERT INTO spark_catalog.delta.`{t}` VALUES (1)",
        "CREATE TABLE delta.`{t}` (x INT) USING delta",
        "CREATE TABLE a (x INT) USING delta LOCATION '{t}'",
        "VACUUM '{t}'",
    ],
)
def test_a_folder_that_is_called_as_a_version_of_another_is_never_written(sql: str, version: str) -> None:
    with pytest.raises(NotUnderstoodError, match="ends with @ and a version"):
        footprint(sql.replace("{t}", f"/lake/t@{version}"))


def test_what_is_read_of_an_older_version_is_read_of_the_table() -> None:
    assert footprint("INSERT INTO delta.`/lake/u` SELECT * FROM delta.`/lake/t@v12`").sources.tables == (T,)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM spark_catalog.delta.`/lake/t`",
        "UPDATE `SPARK_CATALOG`.`Delta`.`/lake/t` SET x = 1",
        "CONVERT TO DELTA spark_catalog.parquet.`/lake/t`",
        "CONVERT TO DELTA iceberg.`/lake/t`",
    ],
)
def test_a_location_behind_the_name_of_sparks_catalog_is_a_location(sql: str) -> None:
    assert footprint(sql).table == T


@pytest.mark.parametrize(
    "rest", ["(x INT) USING delta LOCATION 'lake/t'", "USING delta LOCATION 't' AS SELECT 1 AS x"]
)
def test_a_table_is_created_at_no_relative_location(rest: str) -> None:
    with pytest.raises(NotUnderstoodError, match=r"statement 1.*relative location"):
        footprint(f"CREATE TABLE a {rest}")


@pytest.mark.parametrize(
    "written", ["delta.`/a/\0b`", "delta.`/a/b\n`", "`a\x01b`", "`a\nb`.c", "``", "delta.``"]
)
@pytest.mark.parametrize("statement", ["INSERT INTO {} VALUES (1)", "DELETE FROM {}", "VACUUM {}"])
def test_no_table_has_line_breaks_or_other_control_characters_in_its_name(
    statement: str, written: str
) -> None:
    with pytest.raises(NotUnderstoodError, match="cannot be a table's name or location"):
        footprint(statement.format(written))


def test_a_location_without_delta_before_it_is_no_table_and_may_be_any_source() -> None:
    """After USE delta it is the table there."""
    with pytest.raises(NotUnderstoodError, match="may be a location"):
        footprint("USE delta; DELETE FROM `/lake/t`")
    found = footprint("USE delta; INSERT INTO delta.`/lake/t` SELECT * FROM `/lake/s`")
    assert found.reads.is_everything
    assert found.sources.any_table
