"""`sluice explain A B`: a verdict that is understood at once, and a changed line that is true."""

import json
import os
import tempfile
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from integration.waiting import PATIENCE
from sluice import Oracle
from sluice.cli import pair_text
from sluice.conflicts import PairOrder
from sluice.conflicts.advice_search import Budget
from sluice.offline import pairs
from sluice.offline.pairs import explained as explain
from sluice.offline.workspace import opened
from unit.cli.folders import (
    FACTS,
    FORKED_COMMANDS,
    MERGE_BY_SOURCE,
    ORDERS,
    PINNED_DELETE,
    UNPINNED_MERGE,
    complaints,
    job,
    policy,
    sluice,
    write,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, facts=json.dumps(FACTS), delete=job("delete", PINNED_DELETE))
    return tmp_path


def given(folder: Path, *names: str) -> list[object]:
    return ["explain", *(folder / f"{name}.yaml" for name in names), "--table", folder / "facts.yaml"]


def explained(folder: Path, sql: str, *more: object, **spec: Any) -> dict[str, Any]:
    write(folder, other=job("other", sql, **spec))
    arguments = [folder / "delete.yaml", folder / "other.yaml", "--table", folder / "facts.yaml"]
    result = sluice("explain", *arguments, *more, "-o", "json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_both_directions_are_told_with_the_place_where_they_meet(folder: Path) -> None:
    found = explained(folder, UNPINNED_MERGE)
    assert found["order"] == "none"
    assert found["firstLoses"]["overlap"] == "date = DATE '2026-11-19'"
    assert found["secondLoses"]["exception"] == "ConcurrentAppendException"


def test_what_the_source_says_is_advised_as_a_line_that_keeps_the_result(folder: Path) -> None:
    advice = explained(folder, MERGE_BY_SOURCE)["advice"][0]
    assert advice["keepsResult"]
    assert advice["lines"] == [
        {
            "place": "spec.sql, line 3",
            "before": "ON t.id = s.id AND t.date = s.date",
            "after": "ON t.id = s.id AND t.date = s.date AND t.date = DATE '2026-11-18'",
        }
    ]
    assert advice["order"] == "any"


def test_the_advised_line_is_believed_when_it_is_written(folder: Path) -> None:
    line = explained(folder, MERGE_BY_SOURCE)["advice"][0]["lines"][0]
    assert explained(folder, MERGE_BY_SOURCE.replace(line["before"], line["after"]))["together"]


def test_a_day_that_comes_as_a_parameter_is_advised_as_that_parameter(folder: Path) -> None:
    sql = MERGE_BY_SOURCE.replace("DATE '2026-11-18'", ":day")
    given = {"parameters": {"day": {"date": "2026-11-18"}}}
    line = explained(folder, sql, **given)["advice"][0]["lines"][0]
    assert line["after"].endswith(" AND t.date = :day")
    assert explained(folder, sql.replace(line["before"], line["after"]), **given)["together"]


@pytest.mark.parametrize(
    ("clause", "other", "said"),
    [
        ("AND t.date = DATE '2025-01-01' THEN DELETE", PINNED_DELETE, "The cause is in other: "),
        ("THEN DELETE", PINNED_DELETE, "In other, "),
        ("THEN DELETE", f"DELETE FROM {ORDERS}", "In other, "),
    ],
)  # fmt: skip
def test_a_clause_by_source_is_named_as_the_cause_where_the_two_may_run_together_without_it(
    folder: Path, clause: str, other: str, said: str
) -> None:
    merge = MERGE_BY_SOURCE.replace("t.date = s.date", "t.date = DATE '2025-01-01'")
    merge = f"{merge.partition('WHEN')[0]}WHEN NOT MATCHED BY SOURCE {clause}"
    write(folder, delete=job("delete", other), other=job("other", merge))
    result = sluice(*given(folder, "delete", "other"))
    text = " ".join(result.stdout.split())
    assert f"{said}WHEN NOT MATCHED BY SOURCE makes it read all of the table" in text, text
    assert "Sluice assumes that other" not in text


def test_two_jobs_of_too_many_statements_are_told_that_nothing_was_tried(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "Budget", partial(Budget, 10))
    many = ";".join(f"DELETE FROM {ORDERS} WHERE amount = {n}" for n in range(4))
    write(folder, delete=job("delete", many), other=job("other", many))
    text = " ".join(sluice(*given(folder, "delete", "other")).stdout.split())
    assert "Advice: what would help is not told, because two jobs of so many statements" in text
    assert "Then less can go wrong" not in text


def test_a_pin_that_only_the_data_can_justify_is_called_a_promise(folder: Path) -> None:
    advice = explained(folder, UNPINNED_MERGE)["advice"]
    assert not any(one["keepsResult"] for one in advice)
    assert "every row of the table" in advice[0]["because"]


@pytest.mark.parametrize(
    "source",
    [
        "SELECT * FROM delta.`s3://lake/corrections` WHERE date > DATE '2026-11-18'",
        "SELECT * FROM delta.`s3://lake/corrections` WHERE date = DATE '2026-11-18' OR id = 1",
        "SELECT id, amount, max(date) AS date FROM delta.`s3://lake/corrections` GROUP BY ALL",
        "SELECT * FROM delta.`s3://lake/corrections`",
    ],
)
def test_a_source_that_is_not_surely_of_one_day_gives_no_line(folder: Path, source: str) -> None:
    sql = MERGE_BY_SOURCE.replace(
        "SELECT * FROM delta.`s3://lake/corrections` WHERE date = DATE '2026-11-18'", source
    )
    assert source in sql
    assert not any(one["keepsResult"] for one in explained(folder, sql)["advice"])


def test_a_source_of_several_days_pins_them_all(folder: Path) -> None:
    sql = MERGE_BY_SOURCE.replace(
        "date = DATE '2026-11-18'", "date IN (DATE '2026-11-17', DATE '2026-11-18')"
    )
    line = explained(folder, sql)["advice"][0]["lines"][0]
    assert "t.date" in line["after"].rpartition("s.date AND ")[2]
    assert explained(folder, sql.replace(line["before"], line["after"]))["together"]


def test_what_an_or_implies_is_said_beside_it_in_parentheses(folder: Path) -> None:
    write(folder, facts=json.dumps({k: v for k, v in FACTS.items() if k != "dialect"}))
    either = "(date = DATE '2026-11-18' AND id = 1) OR (date = DATE '2026-11-17' AND id = 2)"
    found = explained(folder, f"DELETE FROM {ORDERS}\nWHERE {either}")
    advice = found["advice"][0]
    assert advice["keepsResult"]
    assert advice["lines"][0]["after"].endswith(f" AND ({either})")
    assert advice["order"] == "any"


def test_rows_that_may_land_anywhere_can_be_promised(folder: Path) -> None:
    sql = UNPINNED_MERGE.replace(" WHERE date = DATE '2026-11-18'", "").replace(
        "ON t.id = s.id", "ON t.id = s.id AND t.date = DATE '2026-11-18'"
    )
    advice = explained(folder, sql)["advice"]
    assert [one["lines"][0]["after"] for one in advice] == ["writes: [\"date = DATE '2026-11-18'\"]"]
    assert not advice[0]["keepsResult"]


@pytest.mark.parametrize(
    ("on", "promise"),
    [
        ("t.date = :day", ['writes: ["date = :day"]']),
        ("t.date = DATE '2026-11-18' AND s.amount > year(:day)", ["writes: [\"date = DATE '2026-11-18'\"]"]),
        ("t.date = date_add(:day, 1)", []),
    ],
)
def test_a_promise_names_the_parameter_on_which_it_rests(folder: Path, on: str, promise: list[str]) -> None:
    """With today's value it would be broken tomorrow."""
    sql = UNPINNED_MERGE.replace(" WHERE date = DATE '2026-11-18'", "").replace(
        "t.id = s.id", f"t.id = s.id AND {on}"
    )
    found = explained(folder, sql, parameters={"day": {"date": "2026-11-18"}})
    assert [one["lines"][0]["after"] for one in found["advice"]] == promise


def test_no_promise_is_advised_to_a_stream_which_may_make_none(folder: Path) -> None:
    merge = f"MERGE INTO {ORDERS} t USING batch s ON t.id = s.id AND t.date = DATE '2026-11-18' WHEN NOT MATCHED THEN INSERT *"
    stream = {
        "source": {"format": "rate"},
        "sql": merge,
        "checkpoint": "s3://lake/_checkpoints/orders",
        "trigger": {"availableNow": True},
    }
    manifest = json.loads(job("other", "")) | {"spec": {"stream": stream}}
    write(folder, other=json.dumps(manifest))
    found = json.loads(sluice(*given(folder, "delete", "other"), "-o", "json").stdout)
    assert (found["order"], found["advice"]) == ("first-then-second", [])


def test_a_pipe_gets_plain_lines_within_the_width(folder: Path) -> None:
    write(folder, other=job("other", MERGE_BY_SOURCE))
    result = sluice(
        "explain", folder / "delete.yaml", folder / "other.yaml", "--table", folder / "facts.yaml"
    )
    assert "\x1b" not in result.stdout
    assert "  + ON t.id = s.id AND t.date = s.date AND t.date = DATE '2026-11-18'" in result.stdout
    assert all(line == line.rstrip() for line in result.stdout.splitlines())
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_a_terminal_gets_colour(folder: Path) -> None:
    write(folder, other=job("other", MERGE_BY_SOURCE))
    found = opened([folder / "delete.yaml", folder / "other.yaml"], [folder / "facts.yaml"])
    out = Console(record=True, force_terminal=True, width=100, color_system="standard")
    with out.capture() as shown:
        pair_text.show(explain(found.jobs[0], found.jobs[1], found.knowledge), out)
    assert "\x1b[32m" in shown.get()


def test_a_policy_beside_the_jobs_binds_names_and_is_an_assumption_about_types(folder: Path) -> None:
    bound = policy(
        "orders",
        table={"path": "s3://lake/orders", "name": "sales.orders"},
        partitionBy=["date"],
        logStore="Safe",
        dialect={"name": "oss", "version": "4.4.0"},
    )
    other = job("other", "DELETE FROM sales.orders WHERE date = DATE '2026-11-18' AND id = 2")
    write(folder, policy=bound, other=other)
    result = sluice("explain", *(folder / f"{n}.yaml" for n in ("delete", "other", "policy")), "-o", "json")
    found = json.loads(result.stdout)
    assert found["together"]
    assert "date date" in found["assumptions"][0]


def test_a_write_by_position_rests_on_no_assumption_about_columns(folder: Path) -> None:
    bound = policy("orders", table={"path": "s3://lake/orders"}, partitionBy=["date"], logStore="Safe")
    other = job("other", f"INSERT INTO {ORDERS} SELECT DATE '2026-11-18', 1, 2")
    write(folder, policy=bound, other=other)
    result = sluice("explain", *(folder / f"{n}.yaml" for n in ("delete", "other", "policy")), "-o", "json")
    assert json.loads(result.stdout)["firstLoses"]["verdict"] == "may"


def test_a_file_that_is_named_twice_asks_whether_two_runs_of_its_job_may_overlap(folder: Path) -> None:
    found = json.loads(sluice(*given(folder, "delete", "delete"), "-o", "json").stdout)
    assert (found["first"], found["second"]) == ("delete", "delete (run again)")


def test_two_runs_of_one_text_are_told_to_name_their_partitions_by_a_parameter(folder: Path) -> None:
    """No condition keeps them apart that both have. What is told helps once it is done."""
    sql = (
        f"MERGE INTO {ORDERS} t USING delta.`s3://lake/fixes` s ON t.id = s.id{{}} "
        "WHEN MATCHED THEN UPDATE SET amount = s.amount"
    )
    days = {name: {"day": {"date": f"2026-11-1{name[-1]}"}} for name in ("day8", "day9")}
    pinned = {
        name: job(name, sql.format(" AND t.date = :day"), parameters=parameters)
        for name, parameters in days.items()
    }
    unbound = job("unbound", f"INSERT INTO {ORDERS} SELECT * FROM staging.orders")
    write(folder, wide=job("wide", sql.format("")), unbound=unbound, **pinned)
    hints = json.loads(sluice(*given(folder, "wide", "wide"), "-o", "json").stdout)["hints"]
    assert "by a parameter, such as :day" in hints[-1]
    assert json.loads(sluice(*given(folder, "day8", "day9"), "-o", "json").stdout)["order"] == "any"
    hints = json.loads(sluice(*given(folder, "unbound", "unbound"), "-o", "json").stdout)["hints"]
    assert [hint.partition(" in ")[0] for hint in hints] == ["bind staging.orders"]


def test_the_help_lists_what_needs_no_cluster_first() -> None:
    shown = sluice("--help").stdout
    places = [
        shown.index(f" {name} ") for name in ("explain", "plan", "footprint", "status", "adopt", "leases")
    ]
    assert places == sorted(places)


def test_the_version_is_said_whether_installed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: f"7.1 of {name}")
    assert sluice("--version").stdout.splitlines() == [
        "sluice 7.1 of sluice-operator",
        "API: sluice.dev/v1alpha1",
        "SQL and settings of Spark: 3.5, 4.2",
        "rules of open-source Delta: 3.3 and 4.0; 4.1 and 4.2; 4.3 and later",
    ]

    def nowhere(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", nowhere)
    result = sluice("--version")
    assert (result.exit_code, "pyproject.toml" in result.stdout) == (0, True)


def test_exit_codes_are_for_pipelines(folder: Path) -> None:
    write(folder, other=job("other", UNPINNED_MERGE), bad="kind: DeltaWriteJob\nspec: {sql: 'SELECT 1'}")
    delete, other, bad = (folder / f"{name}.yaml" for name in ("delete", "other", "bad"))
    assert sluice("explain", delete, other).exit_code == 0
    facts = ("--table", folder / "facts.yaml")
    assert sluice("explain", delete, other, *facts, "--fail-on", "may").exit_code == 1
    assert sluice("explain", delete, other, *facts, "--fail-on", "will").exit_code == 0
    assert sluice("explain").exit_code == 2
    assert sluice("explain", delete).exit_code == 2
    assert sluice("explain", delete, bad).exit_code == 3
    assert sluice("explain", delete, other, bad).exit_code == 3


def test_what_could_not_be_used_is_in_the_json_whether_or_not_there_is_an_answer(folder: Path) -> None:
    write(folder, other=job("other", UNPINNED_MERGE), bad=job("bad", "SELECT 1"))
    answered = json.loads(sluice(*given(folder, "delete", "other", "bad"), "-o", "json").stdout)
    not_answered = json.loads(sluice(*given(folder, "delete", "bad"), "-o", "json").stdout)
    assert answered["order"] == "none"
    assert not_answered["error"] == "explain compares two jobs, but understood 1 (delete)"
    for found in (answered, not_answered):
        [trouble] = found["troubles"]
        assert trouble["place"] == str(folder / "bad.yaml")
    assert json.loads(sluice(*given(folder, "delete"), "-o", "json").stdout)["troubles"] == []


@pytest.mark.parametrize("more", [(), ("-o", "json"), ("--fail-on", "may")])
@pytest.mark.parametrize("both", [False, True])
def test_a_pipe_that_nobody_reads_ends_quietly_and_with_no_code_of_a_verdict(
    folder: Path, more: tuple[str, ...], both: bool
) -> None:
    write(folder, other=job("other", UNPINNED_MERGE), bad=job("bad", "SELECT 1"))
    asked = ["sluice", *map(str, given(folder, "delete", "other", "bad")), *more]
    nobody, pipe = os.pipe()
    os.close(nobody)
    with os.fdopen(pipe, "wb") as stdout, tempfile.TemporaryFile() as stderr:
        process = FORKED_COMMANDS.start(asked, os.environ, stdout, stdout if both else stderr)
        code = process.wait(PATIENCE)
        stderr.seek(0)
        said = stderr.read().decode()
    assert code == 141, said
    if not both:
        [line] = said.replace("\n  ", " ").splitlines()
        assert line.startswith("! ")


def test_a_missing_file_and_missing_facts_are_named(folder: Path) -> None:
    result = sluice("explain", folder / "delete.yaml", folder / "none.yaml")
    assert "none.yaml: there is no such file" in complaints(result)
    write(folder, other=job("other", UNPINNED_MERGE))
    result = sluice(
        "explain", folder / "delete.yaml", folder / "other.yaml", "--table-path", folder / "nowhere"
    )
    assert "nowhere: there is no Delta table here" in complaints(result)
    assert result.exit_code == 3
    assert "delete and other must never run together" in result.stdout


def test_an_advised_line_is_never_broken_so_that_it_can_be_copied(folder: Path) -> None:
    write(folder, merge=job("merge", MERGE_BY_SOURCE))
    line = "ON t.id = s.id AND t.date = s.date AND t.date = DATE '2026-11-18'"
    assert f"  + {line}\n" in sluice(*given(folder, "delete", "merge"), terminal_width=40).stdout


def test_what_readers_may_see_under_write_serializable_is_told_by_itself(folder: Path) -> None:
    dialect = {"name": "databricks", "runtime": "15.4", "photon": True}
    write(folder, facts=json.dumps(FACTS | {"dialect": dialect}))
    write(folder, insert=job("insert", f"INSERT INTO {ORDERS} VALUES (1, 2, DATE '2026-11-19')"))
    shown = " ".join(sluice(*given(folder, "delete", "insert")).stdout.split())
    assert "✓" in shown
    assert "readers the history lists Append before Delete" in shown
    found = json.loads(sluice(*given(folder, "delete", "insert"), "-o", "json").stdout)
    assert "as if it came after" in found["firstLoses"]["readers"]
    assert found["secondLoses"]["readers"] is None


def test_two_tables_that_may_be_one_are_told_apart_from_one_table(tmp_path: Path) -> None:
    write(tmp_path, a=job("a", PINNED_DELETE), b=job("b", "DELETE FROM sales.orders WHERE id = 1"))
    shown = " ".join(sluice("explain", tmp_path / "a.yaml", tmp_path / "b.yaml").stdout.split())
    assert "as long as s3://lake/orders and sales.orders may be one table" in shown
    assert "Advice: s3://lake/orders and sales.orders may be one table: bind the name to its path" in shown
    assert "LogStore (spark" not in shown


def test_a_store_that_is_taken_to_be_unsafe_can_be_said_to_be_safe(tmp_path: Path) -> None:
    write(tmp_path, a=job("a", PINNED_DELETE), b=job("b", PINNED_DELETE.replace("19", "18")))
    files = ("explain", tmp_path / "a.yaml", tmp_path / "b.yaml")
    assert "declare it in a DeltaTablePolicy: logStore: S3Conditional" in " ".join(
        sluice(*files).stdout.split()
    )
    write(tmp_path, policy=policy("orders", table={"path": "s3://lake/orders"}, logStore="Safe"))
    assert "never run together" not in sluice(*files, tmp_path / "policy.yaml").stdout


def test_of_a_job_that_sets_its_own_log_store_none_is_assumed(tmp_path: Path) -> None:
    sql = "INSERT INTO delta.`/lake/t` VALUES (1)"
    conf = {"spark.delta.logStore.class": "org.example.Store"}
    write(tmp_path, a=job("a", sql), b=job("b", sql), c=job("c", sql, runtime={"sparkConf": conf}))
    for other, assumed in (("a", 1), ("b", 1), ("c", 0)):
        one, two = (tmp_path / f"{name}.yaml" for name in (other if other == "c" else "a", other))
        found = json.loads(sluice("explain", one, two, "-o", "json").stdout)
        assert (found["firstLoses"]["rule"], len(found["assumptions"])) == ("lost-commits", assumed)


def test_a_pair_that_nothing_helps_is_told_so(folder: Path) -> None:
    write(folder, same=job("same", PINNED_DELETE.replace("id = 1", "id = 2")))
    shown = sluice(*given(folder, "delete", "same")).stdout
    assert "No known change keeps them apart" in shown


REGIONS = {
    "path": "s3://lake/regions",
    "schema": [{"name": "id", "type": "bigint"}, {"name": "region", "type": "string"}],
    "partitionColumns": ["region"],
    "logStore": "Safe",
}


@pytest.mark.parametrize(
    ("source", "keeps"),
    [
        ("SELECT id, 'eu' AS region FROM delta.`s3://lake/new`", True),
        ("SELECT * FROM delta.`s3://lake/new` WHERE region = 'eu'", False),
        ("SELECT id, upper(region) AS region FROM delta.`s3://lake/new` WHERE region = 'eu'", None),
        (
            "SELECT id, 'eu' AS region FROM delta.`s3://lake/new` UNION ALL SELECT id, 1 FROM delta.`s3://lake/new`",
            None,
        ),
    ],
    ids=["written down", "of a table whose column may have another type", "computed", "of mixed types"],
)
def test_a_pin_on_a_text_column_keeps_the_result_only_where_the_text_is_written_down(
    source: str, keeps: bool | None
) -> None:
    oracle = Oracle(REGIONS)
    other = oracle.job("DELETE FROM delta.`s3://lake/regions` WHERE region = 'us' AND id = 1", "other")
    text = (
        f"MERGE INTO delta.`s3://lake/regions` t USING ({source}) s\n"
        "ON t.id = s.id AND t.region = s.region\nWHEN MATCHED THEN DELETE"
    )
    found = oracle.pair(oracle.job(text, "merge"), other)
    assert [(one.change.keeps_result, one.order) for one in found.remedies] == (
        [] if keeps is None else [(keeps, PairOrder.ANY)]
    )
    for remedy in found.remedies:
        (line,) = remedy.change.lines
        assert line.after == "ON t.id = s.id AND t.region = s.region AND t.region = 'eu'"
        assert oracle.pair(oracle.job(text.replace(line.before, line.after)), other).pair.together
