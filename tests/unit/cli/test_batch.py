"""`sluice explain --batch` and `sluice footprint`: one answer a line, whatever the line holds."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sluice.cli.main import app
from sluice.offline.batch import answer
from unit.cli.folders import complaints

TABLE = {
    "schema": [{"name": "id", "type": "bigint"}, {"name": "date", "type": "date"}],
    "partitionColumns": ["date"],
    "dialect": {"name": "oss", "version": "4.4.0"},
    "logStore": "safe",
}
APPEND = {"sql": "INSERT INTO orders VALUES (1, DATE '2026-11-18')"}
DELETE = {"sql": "DELETE FROM orders WHERE date = DATE '2026-11-18' AND id = 1"}


def asked(first: dict[str, Any], second: dict[str, Any], **table: Any) -> dict[str, Any]:
    found = answer(json.dumps({"id": "x", "table": TABLE | table, "first": first, "second": second}), 1)
    assert found["id"] == "x"
    return found


def test_the_order_says_who_may_commit_first() -> None:
    assert asked(APPEND, APPEND)["order"] == "any"
    assert asked(APPEND, DELETE)["order"] == "second-then-first"
    assert asked(DELETE, APPEND)["order"] == "first-then-second"
    assert asked(DELETE, DELETE)["order"] == "none"


def test_a_direction_says_what_would_come_and_where_and_what_to_do() -> None:
    lost = asked(DELETE, APPEND)["firstLoses"]
    assert lost["verdict"] == "may"
    assert lost["exception"] == "ConcurrentAppendException"
    assert lost["overlap"] == "date = DATE '2026-11-18'"
    assert lost["rule"] == "added-files"


def test_the_table_is_the_same_under_whatever_name() -> None:
    path = {"sql": "DELETE FROM delta.`s3://lake/orders` WHERE date = DATE '2026-11-19' AND id = 1"}
    assert asked(APPEND, path)["together"]
    assert not asked(DELETE, {"sql": path["sql"].replace("19", "18")})["together"]


def test_an_unsafe_store_is_unsafe_for_everything() -> None:
    found = asked(APPEND, APPEND, logStore="s3-single-driver")
    assert found["order"] == "none"
    assert found["firstLoses"]["verdict"] == "unsafe"


@pytest.mark.parametrize(
    ("path", "verdict"),
    [("s3://lake/orders", "unsafe"), ("/lake/orders", "unsafe"), ("gs://lake/orders", "never")],
)
def test_a_store_that_nobody_names_is_that_of_the_location(path: str, verdict: str) -> None:
    append = {"sql": APPEND["sql"].replace("orders", f"delta.`{path}`")}
    assert asked(append, append, logStore=None)["firstLoses"]["verdict"] == verdict


@pytest.mark.parametrize("spelling", ["safe", "Safe", "s3-dynamodb", "S3DynamoDB"])
def test_a_store_has_the_names_that_policies_give_it(spelling: str) -> None:
    append = {"sql": APPEND["sql"].replace("orders", "delta.`s3://lake/orders`")}
    assert asked(append, append, logStore=spelling)["together"]


def test_a_link_store_beside_another_is_unsafe() -> None:
    link = {"runtime": {"sparkConf": {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}}}
    first = {"sql": APPEND["sql"].replace("orders", "delta.`/lake/t`")}
    assert asked(first | link, first | link)["together"]
    assert asked(first | link, first)["firstLoses"]["verdict"] == "unsafe"


def test_vacuum_below_a_writers_lifetime_is_unsafe() -> None:
    vacuum = {"sql": "VACUUM orders RETAIN 2 HOURS"}
    assert asked(vacuum, APPEND)["secondLoses"]["verdict"] == "unsafe"
    assert asked(vacuum, APPEND | {"activeDeadlineSeconds": 3600})["secondLoses"]["verdict"] == "unsafe", (
        "nobody ends a run for its age"
    )


def test_hours_are_told_with_their_unit_and_one_hour_is_singular() -> None:
    told = asked({"sql": "VACUUM orders RETAIN 1 HOURS"}, APPEND)["secondLoses"]["reason"]
    assert told == "VACUUM keeps files for 1 hour, but the other job may run for 168 hours"


def test_vacuum_below_a_readers_lifetime_is_unsafe() -> None:
    vacuum = {"sql": "VACUUM orders RETAIN 0 HOURS"}
    read = {"sql": "INSERT INTO report SELECT * FROM orders"}
    for pair in ((vacuum, read), (read, vacuum)):
        answer = asked(*pair)
        assert answer["order"] == "none"
        assert {answer[side]["rule"] for side in ("firstLoses", "secondLoses")} == {"vacuum-under-a-run"}
    assert asked({"sql": "VACUUM orders"}, read)["together"]


def test_an_unknown_engine_is_believed_less() -> None:
    change = {"sql": "ALTER TABLE orders ADD COLUMNS (x INT)"}
    for dialect in ({"name": "databricks", "runtime": "15.4", "photon": True}, {"name": "oss"}, None):
        verdict = asked(APPEND, change, dialect=dialect)["firstLoses"]["verdict"]
        assert verdict == ("may" if dialect is None else "will")


def test_delta_rs_aborts_an_append_beside_a_delete_where_spark_does_not() -> None:
    delete = {"sql": "DELETE FROM orders WHERE id = 1"}
    for dialect, verdict in (({"name": "delta-rs", "version": "1.0.0"}, "may"), ({"name": "oss"}, "never")):
        assert asked(APPEND, delete, dialect=dialect)["firstLoses"]["verdict"] == verdict


def test_photon_is_yes_or_no() -> None:
    line = {
        "table": TABLE | {"dialect": {"name": "databricks", "photon": "yes"}},
        "first": APPEND,
        "second": APPEND,
    }
    assert "photon must be true or false" in answer(json.dumps(line), 1)["error"]


def test_the_jobs_own_version_beats_the_tables() -> None:
    vectors = {"sql": "ALTER TABLE orders SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"}
    assert asked(DELETE, vectors)["firstLoses"]["verdict"] == "never"
    old = DELETE | {"runtime": {"deltaVersion": "3.3.3"}}
    assert asked(old, vectors)["firstLoses"]["verdict"] == "may"


def test_what_is_wrong_with_a_table_is_told_as_the_line_spells_it() -> None:
    line = {"table": {"schema": [{"name": "id", "type": "bigin"}]}, "first": APPEND, "second": APPEND}
    assert answer(json.dumps(line), 1)["error"].startswith("table.schema[0].type must be a type of Spark (")


def test_bad_lines_say_why_and_the_rest_goes_on() -> None:
    good = json.dumps({"id": "good", "table": TABLE, "first": APPEND, "second": DELETE})
    bad = {
        "{": "not JSON",
        "[]": "must be an object",
        '{"id": "a"}': "table must be an object",
        json.dumps({"id": "a", "table": TABLE | {"logStore": "tape"}}): "logStore",
        json.dumps({"id": "a", "table": TABLE, "first": {}, "second": APPEND}): "exactly one of sql",
        json.dumps(
            {"id": "a", "table": TABLE, "first": {"sql": "INSERT INTO t VALUES ("}, "second": APPEND}
        ): "line 1",
        json.dumps({"id": "a", "table": {"schema": 3}, "first": APPEND, "second": APPEND}): "table.schema",
    }
    result = CliRunner().invoke(app, ["explain", "--batch"], input="\n".join([*bad, good]))
    assert result.exit_code == 3, result.output
    *errors, last = [json.loads(line) for line in result.output.splitlines()]
    assert last["id"] == "good"
    assert last["order"] == "second-then-first"
    for found, why in zip(errors, bad.values(), strict=True):
        assert why in found["error"]


def test_fail_on_is_for_the_worst_answer_and_an_error_is_no_verdict() -> None:
    lines = [
        json.dumps({"table": TABLE, "first": first, "second": DELETE}) for first in (APPEND, DELETE, None)
    ]
    for given, fail_on, code in (
        (lines[:2], [], 0),
        (lines[:1], ["--fail-on", "will"], 0),
        (lines[:2], ["--fail-on", "may"], 1),
        (lines[2:], ["--fail-on", "may"], 3),
    ):
        result = CliRunner().invoke(app, ["explain", "--batch", *fail_on], input="\n".join(given))
        assert result.exit_code == code, result.output


def test_a_table_may_be_empty_but_must_be_there() -> None:
    line = {"first": APPEND, "second": DELETE}
    assert answer(json.dumps(line), 1)["error"] == "table must be an object"
    assert "error" not in answer(json.dumps(line | {"table": {}}), 1)


def test_a_catalog_that_commits_is_a_safe_store() -> None:
    assert asked(APPEND, APPEND, logStore="catalog-managed")["together"]


def test_columns_need_a_name_and_a_type() -> None:
    for column in ({"type": "int"}, {"name": "id"}, {"name": 5, "type": "int"}):
        assert (
            "table.schema[0] must have a name and a type" in asked(APPEND, APPEND, schema=[column])["error"]
        )


def test_answers_are_json_whatever_an_id_is() -> None:
    assert "NaN is not a number" in answer('{"id": NaN}', 7)["error"]


def test_footprint_shows_what_was_understood(tmp_path: Path) -> None:
    manifest = tmp_path / "job.yaml"
    manifest.write_text(
        "apiVersion: sluice.dev/v1alpha1\nkind: DeltaWriteJob\nmetadata: {name: clean}\n"
        f"spec:\n  sql: {json.dumps(DELETE['sql'])}\n"
    )
    facts = tmp_path / "table.json"
    facts.write_text(json.dumps(TABLE))
    plain = CliRunner().invoke(app, ["footprint", str(manifest)])
    assert "DeltaTablePolicy" in plain.output
    known = CliRunner().invoke(app, ["footprint", str(manifest), "-o", "json", "--table", str(facts)])
    found = json.loads(known.output)
    assert found["job"] == "clean"
    assert found["tables"][0]["reads"] == "date = DATE '2026-11-18'"


def test_footprint_of_what_is_not_understood_says_where(tmp_path: Path) -> None:
    manifest = tmp_path / "job.yaml"
    manifest.write_text("kind: DeltaWriteJob\nspec: {sql: 'LOAD DATA'}\n")
    result = CliRunner().invoke(app, ["footprint", str(manifest)])
    assert result.exit_code == 3
    assert "statement 1, line 1" in complaints(result)
