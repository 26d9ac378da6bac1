"""Text that looks like a date, a duration or a schedule is taken if and only if it is one."""

import calendar
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from sluice.api.durations import Duration, Limit
from sluice.api.identifiers import ObjectName, RunKey
from sluice.api.maintenance import Maintenance
from sluice.api.parameters import Parameter
from sluice.api.settings import Options, SparkConf
from sluice.api.sql import Sql, TableName, TablePath


def _takes(kind: Any, value: Any) -> bool:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


def _is_parameter(kind: str, value: object) -> bool:
    return _takes(Parameter, {kind: value})


@pytest.mark.parametrize("year", [1, 4, 99, 100, 400, 1000, 1900, 2000, 2023, 2024, 2100, 9996, 9999])
def test_a_date_is_a_day_of_the_calendar(year: int) -> None:
    for month in range(14):
        days = calendar.monthrange(year, month)[1] if 1 <= month <= 12 else 0
        for day in (0, 1, 9, 10, 28, 29, 30, 31, 32):
            assert _is_parameter("date", f"{year:04}-{month:02}-{day:02}") == (1 <= day <= days)


@pytest.mark.parametrize(
    "text", ["0000-01-01", "0000-02-29", "2026-1-01", "2026-01-1", "20260101", "2026-01-01 ", "٢٠٢٦-01-01"]
)
def test_other_spellings_of_a_date_are_refused(text: str) -> None:
    assert not _is_parameter("date", text)


@settings(max_examples=50)
@given(st.datetimes(), st.sampled_from(["Z", "+00:00", "-17:59", "+18:00", "+05:45"]))
def test_every_instant_is_taken_as_python_and_spark_write_it(moment: datetime, offset: str) -> None:
    assert _is_parameter("timestampNtz", moment.isoformat())
    assert _is_parameter("timestamp", moment.isoformat() + offset)
    assert not _is_parameter("timestamp", moment.isoformat())
    assert not _is_parameter("timestampNtz", moment.isoformat() + offset)


@settings(max_examples=50)
@given(
    st.tuples(*(st.integers(0, most) for most in (9999, 19, 39, 99, 99, 99))),
    st.just("") | st.text("0123456789", min_size=1, max_size=7).map(".{}".format),
)
def test_what_is_taken_as_a_time_is_one(parts: tuple[int, ...], fraction: str) -> None:
    text = "{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}".format(*parts) + fraction
    if _is_parameter("timestampNtz", text):
        datetime.fromisoformat(text)


@settings(max_examples=50)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**33), max_value=10**33))
def test_decimals_are_taken_as_they_are_written_out(number: Decimal) -> None:
    assert _is_parameter("decimal", f"{number:f}")


@settings(max_examples=50)
@given(st.from_regex(r"\A[+-]?[0-9.]{1,41}\Z"))
def test_what_is_taken_as_a_decimal_fits_the_widest_of_spark(text: str) -> None:
    if _is_parameter("decimal", text):
        assert len(Decimal(text).as_tuple().digits) <= 38
        assert sum(character.isdigit() for character in text) <= 38


@pytest.mark.parametrize("text", ["1h", "90s", "1h30m", "0s", "2m3h4s", "9999999h"])
def test_durations_are_taken(text: str) -> None:
    assert _takes(Duration, text)


@pytest.mark.parametrize(
    "text", ["", "h", "1", "1.5h", "1d", "1h ", " 1h", "1h\n", "-1h", "1H", "10000000s", "1ms", "٣s"]
)
def test_other_text_is_no_duration(text: str) -> None:
    assert not _takes(Duration, text)


@settings(max_examples=50)
@given(st.from_regex(r"\A([0-9]{1,3}[hms]){1,3}\Z"))
def test_a_limit_is_a_duration_that_takes_time(text: str) -> None:
    assert _takes(Limit, text) == any(character in "123456789" for character in text)


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "*/5 * * * *",
        "0 0 1 1 0",
        "59 23 31 12 7",
        "0,30 8-18 * * MON-FRI",
        "0 0 1-7/2 JAN,JUL SUN",
        "0 3 1 jan Sun",
        "0 3 * * mon-fri",
        "@daily",
    ],
)
def test_cron_schedules_are_taken(schedule: str) -> None:
    assert _takes(Maintenance, {"schedule": schedule})


@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 0 *",
        "* * * 13 *",
        "* * * * 8",
        "@reboot",
        "*/0 * * * *",
        "5-  * * * *",
        "a * * * *",
        "* * * FOO *",
        "0 3 * * *\n",
        ",5 * * * *",
    ],
)
def test_other_text_is_no_cron_schedule(schedule: str) -> None:
    assert not _takes(Maintenance, {"schedule": schedule})


@pytest.mark.parametrize(
    "path",
    [
        "s3://b",
        "s3://b/",
        "s3a://b//x/",
        "/x",
        "//x",
        "file:/x",
        "file:///x",
        "dbfs:/x",
        "abfss://c@a.example/x",
        "hdfs://h:1/x@y",
    ],
)
def test_paths_are_taken_however_a_table_is_spelled(path: str) -> None:
    assert _takes(TablePath, path)


@pytest.mark.parametrize(
    "path",
    [
        "",
        " ",
        "x",
        "./x",
        "~/x",
        "C:\\x",
        "s3:",
        "s3:/",
        "s3://",
        "/",
        "///",
        "s3:/b/x",
        "S3:///x",
        "/x\n",
        " /x",
        "/x/../y",
        "/x/.",
        "s3://k:s@b/x",
        "s3://k@b/x",
        "https://u:p@h/x",
        "/x/{{ds}}",
        "/x/${Y}",
        "https://h/x?sig=12345678",
        "/\x00",
        "1s:/x",
    ],
)
def test_other_text_is_no_path(path: str) -> None:
    assert not _takes(TablePath, path)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("SELECT * FROM t WHERE url LIKE '%&token=%'", True),
        ("SELECT * FROM t WHERE url = 'https://h/x?token='", True),
        ("SELECT 's3://b/a@b', 'a@b.example'", True),
        ("SELECT * FROM delta.`abfss://c@a.example/x`", True),
        ("SELECT * FROM delta.`S3A://key@b/x`", False),
        ("SELECT * FROM csv.`https://h/x?a=b&sig=ab%2Bcdefgh`", False),
        ("COPY FROM 'ftp://u:p@h/x'", False),
        ("\v\f\n", False),
    ],
)
def test_sql_is_searched_for_credentials_in_links_alone(text: str, taken: bool) -> None:
    assert _takes(Sql, text) == taken


@pytest.mark.parametrize(
    "key", ["password", "sfPassword", "kafka.ssl.key.password", "AWS_SECRET_ACCESS_KEY", "apiKey", "sasToken"]
)
def test_an_option_that_names_a_secret_is_refused(key: str) -> None:
    assert not _takes(Options, {key: "x"})


@pytest.mark.parametrize(
    "key", ["header", "key", "token.type", "partitionColumn", "keyspace", "aws.credentials.provider"]
)
def test_an_option_that_names_none_is_taken(key: str) -> None:
    assert _takes(Options, {key: "x"})


@pytest.mark.parametrize(
    "key",
    ["fs.s3a.aws.credentials.provider", "hadoop.security.credential.provider.path"],
)
def test_settings_that_say_where_secrets_are_hold_none(key: str) -> None:
    assert _takes(SparkConf, {f"spark.hadoop.{key}": "x"})
    assert _takes(SparkConf, {"spark.kubernetes.executor.secretKeyRef.PASSWORD": "db:password"})


@settings(max_examples=50)
@given(st.text(max_size=12))
def test_names_are_of_plain_characters(text: str) -> None:
    for kind in (RunKey, TableName, ObjectName):
        if _takes(kind, text):
            assert text.isascii()
            assert text.isprintable()
            assert " " not in text
