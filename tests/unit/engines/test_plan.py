"""The plan arrives at the runner as it was written, whatever it holds."""

import random
import string
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.api.job import DeltaWriteJobSpec
from sluice.engines.plan import PlannedRun, plan_arguments, plan_for, plan_from_arguments
from sluice.engines.profile import RuntimeProfile
from sluice.footprint import Days, TableFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import TableFacts, TableKey, key_of_path
from sluice.tables.names import Names, keys_of, names_of
from sluice_runner.assumptions import Assumed
from sluice_runner.plan import Plan, Run, Target, Touched, decode

JOB = {"namespace": "etl", "name": "daily", "uid": "1c5e2a3e-0000-4000-8000-000000000001"}
PROFILE = RuntimeProfile(
    spark_version="4.2.0",
    delta_version="4.4.0",
    spark_conf={"spark.sql.session.timeZone": "UTC", "spark.executor.cores": "2"},
)
LONGEST_ARGUMENT = 128 * 1024


def plan_of(
    spec: dict[str, Any],
    touched: tuple[TableFootprint, ...] = (),
    conf: dict[str, str] | None = None,
    names: Names | None = None,
    **run: Any,
) -> dict[str, Any]:
    return plan_for(
        JOB,
        DeltaWriteJobSpec.model_validate(spec),
        PROFILE if conf is None else PROFILE.model_copy(update={"spark_conf": conf}),
        run_key="key",
        spec_hash="abc",
        attempt=1,
        token=4294967297,
        touched=touched,
        names=names,
        **run,
    )


def round_trip(spec: dict[str, Any]) -> dict[str, Any]:
    plan = plan_of(spec)
    arguments = plan_arguments(plan)
    assert all(len(argument.encode()) < LONGEST_ARGUMENT for argument in arguments)
    assert not any("$" in argument for argument in arguments)
    assert plan_from_arguments(arguments) == plan
    return plan


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="'\\$"), max_size=200))
def test_any_text_arrives_unchanged(text: str) -> None:
    sql = f"INSERT INTO t VALUES ('{text}')"
    if not any(secret in sql.lower() for secret in ("://",)):
        assert round_trip({"sql": sql})["sql"]["statements"][0]["text"] == sql


@pytest.mark.parametrize("text", ["$(HOME)", "$$(X)", "ü€😀", "\t\n\r", '"', "a\\\\b"])
def test_what_kubernetes_or_shells_would_touch_arrives_unchanged(text: str) -> None:
    sql = f"INSERT INTO t VALUES ('{text}')"
    assert round_trip({"sql": sql})["sql"]["statements"] == [{"number": 1, "text": sql, "line": 1}]


def test_the_largest_incompressible_job_is_cut_into_arguments_that_linux_takes() -> None:
    chance = random.Random(7)  # noqa: S311 - not a secret
    text = "".join(chance.choices(string.ascii_letters + string.digits, k=159 * 1024))
    plan = plan_of({"sql": f"INSERT INTO t VALUES ('{text}')"})
    arguments = plan_arguments(plan)
    assert len(arguments) > 1
    assert max(map(len, arguments)) <= LONGEST_ARGUMENT
    assert plan_from_arguments(arguments) == plan


def test_where_the_names_lead_that_a_job_uses_goes_to_the_runner() -> None:
    names = names_of([keys_of("sales.orders", "s3a://lake//orders/"), keys_of("sales.lines", "/lake/lines")])
    sql: dict[str, Any] = {"sql": "DELETE FROM sales.orders"}
    write = {"write": {"table": {"name": "sales.lines"}, "source": {"sql": "SELECT * FROM sales.orders"}}}
    for spec, expected in ((sql, {"sales.orders"}), (write, {"sales.orders", "sales.lines"})):
        plan = plan_of(spec, names=names)
        assert {one["name"] for one in plan["names"]} == expected
        told = {one.parts: one.path for one in decode(plan_arguments(plan)).names}
        assert told["sales", "orders"] == "s3a://lake/orders"
        assert not any(one.is_reported for one in decode(plan_arguments(plan)).names)
    assert "names" not in plan_of({"sql": "DELETE FROM delta.`/lake/lines`"}, names=names)


def test_names_of_which_runs_alone_say_where_they_lead_go_to_the_runner_as_reported() -> None:
    name, places = TableKey.parse("sales.orders"), ("s3a://lake/orders", "/lake/orders")
    names = Names().with_reports({name: frozenset(map(key_of_path, places))})
    [one, other] = decode(plan_arguments(plan_of({"sql": "DELETE FROM sales.orders"}, names=names))).names
    assert one.is_reported
    assert other.is_reported
    assert {one.path, other.path} == {"file:/lake/orders", "s3://lake/orders"}


def test_what_the_job_was_judged_to_touch_goes_to_the_runner() -> None:
    key = TableKey.parse("file:/lake/t")
    columns = Table.of({"id": "bigint", "date": "date"}, ["date"])
    spec = DeltaWriteJobSpec.model_validate(
        {"sql": "DELETE FROM delta.`/lake/t` WHERE date = DATE '2026-11-19'; OPTIMIZE delta.`/lake/t`"}
    )
    touched = footprint_of(spec, {}, facts={key: TableFacts(columns=columns)}).tables
    plan = decode(
        plan_arguments(plan_of(spec.model_dump(mode="json", by_alias=True, exclude_none=True), touched))
    )
    assert plan.touched[0] == Touched(1, Target("file:/lake/t", None), "FALSE", "date = DATE '2026-11-19'")
    assert {one.statement for one in plan.touched} == {1, 2}
    declared = {"footprint": [{"table": {"path": "/lake/t"}, "operation": "Append", "writes": "true"}]}
    spec = DeltaWriteJobSpec.model_validate({"sql": "INSERT INTO delta.`/lake/t` SELECT 1", **declared})
    found = decode(
        plan_arguments(
            plan_of(
                spec.model_dump(mode="json", by_alias=True, exclude_none=True),
                footprint_of(spec, {}).tables,
            )
        )
    )
    assert Touched(None, Target("file:/lake/t", None), None, "FALSE") in found.touched


def test_what_is_told_by_other_clocks_than_those_that_the_job_begins_with_is_left_out() -> None:
    key = key_of_path("/lake/t")
    columns = Table.of({"t": "timestamp", "s": "string"}, partition_columns=["t", "s"])

    def removes(before: str) -> str | None:
        text = f"{before}DELETE FROM delta.`/lake/t` WHERE t = TIMESTAMP '2026-11-19 00:00:00'"
        spec = DeltaWriteJobSpec.model_validate({"sql": text})
        conf = {"spark.sql.session.timeZone": "UTC"}
        touched = footprint_of(spec, conf, facts={key: TableFacts(columns=columns)}).tables
        dumped = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
        [one] = decode(plan_arguments(plan_of(dumped, touched, conf))).touched
        return one.removes

    assert removes("") == "t = TIMESTAMP '2026-11-19 00:00:00'"
    assert removes("SET TIME ZONE 'America/New_York'; ") is None


def test_a_promise_goes_to_the_runner_with_its_values() -> None:
    spec = {
        "sql": "INSERT INTO t SELECT * FROM s WHERE :day > DATE '2026-01-01'",
        "writes": ["date = :day", "region IN ('eu', 'us')"],
        "parameters": {"day": {"date": "2026-11-19"}},
    }
    plan = decode(plan_arguments(plan_of(spec)))
    assert plan.writes == ("date = DATE'2026-11-19'", "region IN ('eu', 'us')")


def test_values_stand_in_the_place_of_parameters_as_literals_of_their_types() -> None:
    parameters = {
        "s": {"string": "it's ${x}"},
        "b": {"boolean": True},
        "i": {"integer": -(2**63)},
        "n": {"decimal": "+1.10"},
        "f": {"double": -1e300},
        "day": {"date": "2026-11-19"},
        "at": {"timestamp": "2026-11-19T08:00:00Z"},
        "local": {"timestampNtz": "2026-11-19T08:00:00.5"},
    }
    sql = "DELETE FROM t WHERE a IN (:s,:b, :i) AND n>:n OR f=-:f AND d =:day AND t<:at AND l <> :local"
    assert [
        one["text"] for one in round_trip({"sql": sql, "parameters": parameters})["sql"]["statements"]
    ] == [
        "DELETE FROM t WHERE a IN ('it\\'s \\u0024{x}',TRUE, (-9223372036854775808L)) AND n>1.10BD OR f=- (-1e+300D) "
        "AND d =DATE'2026-11-19' AND t<TIMESTAMP_LTZ'2026-11-19T08:00:00Z' AND l <> TIMESTAMP_NTZ'2026-11-19T08:00:00.5'"
    ]


@pytest.mark.parametrize(
    ("sql", "parameter", "runs"),
    [
        ("INSERT INTO t SELECT * FROM s LIMIT :p", {"integer": 5}, "INSERT INTO t SELECT * FROM s LIMIT 5"),
        ("RESTORE TABLE t TO VERSION AS OF :p", {"integer": 5}, "RESTORE TABLE t TO VERSION AS OF 5"),
        (
            "RESTORE TABLE t TO TIMESTAMP AS OF :p",
            {"timestamp": "2026-11-19T08:00:00Z"},
            "RESTORE TABLE t TO TIMESTAMP AS OF '2026-11-19T08:00:00Z'",
        ),
        (
            "INSERT INTO t PARTITION (n = :p) SELECT 1",
            {"integer": -5},
            "INSERT INTO t PARTITION (n = -5L) SELECT 1",
        ),
        (
            "OPTIMIZE t WHERE date = :p",
            {"date": "2026-11-19"},
            "OPTIMIZE t WHERE date = DATE'2026-11-19'",
        ),
        (
            "DELETE FROM t WHERE d < DATE'2026-11-19' - INTERVAL :p DAYS",
            {"integer": 7},
            "DELETE FROM t WHERE d < DATE'2026-11-19' - INTERVAL 7 DAYS",
        ),
    ],
)
def test_where_sql_takes_only_a_plain_value_it_gets_one(
    sql: str, parameter: dict[str, Any], runs: str
) -> None:
    (statement,) = round_trip({"sql": sql, "parameters": {"p": parameter}})["sql"]["statements"]
    assert statement["text"] == runs


def test_secrets_become_variables_and_never_stand_in_the_plan() -> None:
    source = {
        "format": "jdbc",
        "options": {"dbtable": "x"},
        "optionsFrom": [
            {"option": "user", "secretKeyRef": {"name": "db", "key": "u"}},
            {"option": "password", "secretKeyRef": {"name": "db", "key": "p"}},
        ],
    }
    plan = round_trip({"write": {"table": {"path": "/t"}, "source": source}})
    assert plan["write"]["source"]["optionsFromEnv"] == {
        "user": "SLUICE_SOURCE_OPTION_0",
        "password": "SLUICE_SOURCE_OPTION_1",
    }
    assert "optionsFrom" not in plan["write"]["source"]


@pytest.mark.parametrize(
    "spec",
    [
        {"sql": "INSERT INTO t VALUES (1); DELETE FROM u"},
        {"write": {"table": {"path": "/t"}, "source": {"sql": "SELECT 1"}, "mode": "Overwrite"}},
        {
            "write": {
                "table": {"name": "a.b"},
                "source": {"format": "csv", "path": "/x", "options": {"header": "true"}},
                "txnAppId": "mine",
                "txnVersion": 3,
            }
        },
        {"sql": "DELETE FROM t WHERE d = :d", "parameters": {"d": {"date": "2026-11-19"}}},
        {
            "stream": {
                "source": {
                    "format": "json",
                    "path": "/in",
                    "schema": "id BIGINT",
                    "options": {"maxFilesPerTrigger": "1"},
                },
                "query": "SELECT id FROM source WHERE d = :d",
                "table": {"path": "/t"},
                "checkpoint": "/c",
                "trigger": {"processingTime": "30 seconds"},
                "yield": "Aged",
                "maxPause": "5m",
            },
            "parameters": {"d": {"date": "2026-11-19"}},
        },
    ],
)
def test_the_runner_understands_the_plan(spec: dict[str, Any]) -> None:
    plan = decode(plan_arguments(plan_of(spec)))
    assert isinstance(plan, Plan)
    assert plan.attempt == 1
    assert plan.assumed == Assumed("4.2.0", "4.4.0", PROFILE.spark_conf)


def test_what_a_stream_runs_goes_to_the_runner_and_how_it_pauses_does_not() -> None:
    source = {
        "format": "kafka",
        "options": {"subscribe": "orders"},
        "optionsFrom": [{"option": "kafka.sasl.jaas.config", "secretKeyRef": {"name": "k", "key": "c"}}],
    }
    stream = {
        "source": source,
        "sql": "MERGE INTO t USING batch b ON t.id = b.id AND t.d = :d WHEN MATCHED THEN DELETE;\nOPTIMIZE t",
        "checkpoint": "s3://lake/_checkpoints/orders",
        "trigger": {"availableNow": True},
        "readsTables": [{"path": "/raw"}],
        "yield": "Metadata",
    }
    plan = round_trip({"stream": stream, "parameters": {"d": {"date": "2026-11-19"}}})
    texts = [(one["number"], one["line"], one["text"]) for one in plan["stream"].pop("statements")]
    assert texts == [
        (
            1,
            1,
            "MERGE INTO t USING batch b ON t.id = b.id AND t.d = DATE'2026-11-19' WHEN MATCHED THEN DELETE",
        ),
        (2, 2, "OPTIMIZE t"),
    ]
    assert plan["stream"] == {
        "source": {
            "format": "kafka",
            "options": {"subscribe": "orders"},
            "optionsFromEnv": {"kafka.sasl.jaas.config": "SLUICE_SOURCE_OPTION_0"},
        },
        "checkpoint": "s3://lake/_checkpoints/orders",
        "trigger": {"availableNow": True},
    }
    assert "writes" not in plan
    assert "run" not in plan


def test_a_run_key_names_the_run_to_delta_and_all_tables_that_it_may_write() -> None:
    spec = {"sql": "INSERT INTO delta.`s3a://lake/a` VALUES (1); DELETE FROM sales.b; DELETE FROM sales.b"}
    touched = footprint_of(DeltaWriteJobSpec.model_validate(spec), {}).tables
    run = PlannedRun("sluice/run/etl/load/2026-11-19", closes=True, first_token=4294967296)
    plan = plan_of(spec, touched, run=run)
    told = decode(plan_arguments(plan)).run
    assert told == Run(
        "sluice/run/etl/load/2026-11-19",
        closes=True,
        first_token=4294967296,
        tables=(Target("s3a://lake/a", None), Target(None, "sales.b")),
    )
    assert decode(plan_arguments(plan_of(spec, touched))).run is None


def test_the_days_that_it_was_judged_by_are_in_the_plan_of_a_job_that_asks_for_the_day() -> None:
    spec = {"sql": "DELETE FROM t WHERE date < current_date() - 90"}
    assert "days" not in plan_of(spec)["assumed"]
    plan = plan_of(spec, days=Days(date(2026, 11, 19)))
    assert plan["assumed"]["days"] == {"first": "2026-11-18", "last": "2026-11-21"}
    assert decode(plan_arguments(plan)).assumed.days is not None
