"""What SET, RESET and USE come to is what the real Spark makes of them; what it refuses is refused."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from contract.conftest import FreezingSpark
from sluice.footprint import NotUnderstoodError, split
from sluice.footprint.sql.settings import Settings
from sluice.footprint.sql.statement_context import Surroundings
from sluice.footprint.statements.script import Script

MODE = "spark.sql.sources.partitionOverwriteMode"
ANSI = "spark.sql.ansi.enabled"
ZONE = "spark.sql.session.timeZone"
COMPACT = "spark.databricks.delta.autoCompact.enabled"
BEGUN = {MODE: "static", ANSI: "true", ZONE: "UTC", COMPACT: "false"}

SPELLINGS = (
    *("spark.sql.sources.partitionoverwritemode", "spark.sql.SOURCES.partitionOverwriteMode"),
    *(f"`{MODE}`", f"'{MODE}'", "spark . sql.sources.partitionOverwriteMode"),
    *(f"/* c */ {MODE}", f"{MODE} /* c */"),
)
VALUES = (
    "dynamic",
    "DYNAMIC",
    "Dynamic",
    "'dynamic'",
    '"dynamic"',
    "`dynamic`",
    "dynamic x",
    "",
    "true",
    "dynamic /* c */ x",
)
STATEMENTS = (
    *(f"SET {MODE}{equals}{value}" for equals in ("=", " = ") for value in VALUES),
    *(f"SET {key} = dynamic" for key in SPELLINGS),
    *(f"SET {ANSI} = {value}" for value in ("false", "FALSE", "no", "0", "'false'", "`false`", "f", "")),
    *(f"SET {COMPACT} = {value}" for value in ("true", "TRUE", "yes", "'true'", "1")),
    *(f"SET {ZONE} = {value}" for value in ("Asia/Tokyo", "`Asia/Tokyo`", "+01:00")),
    *(f"SET TIME ZONE {value}" for value in ("'Asia/Tokyo'", '"Asia/Tokyo"', "LOCAL", "INTERVAL 2 HOURS", "UTC", "'a' 'b'", "")),
    *(f"SET{what}" for what in ("", " -v", f" {ANSI}", f" {ANSI} false", " a b", " VAR x = 1", " ROLE x")),
    *(f"RESET{what}" for what in ("", f" {ANSI}", f" `{ANSI}`", " spark.sql.ANSI.enabled", f" {ANSI} x")),
    *(f"SET {key} = x" for key in ("spark.sql.warehouse.dir", "spark.sql.extensions", "spark.executor.memory")),
    *(f"USE {name}" for name in ("default", "`default`", "SCHEMA default", "DATABASE default", "spark_catalog.default")),
    *(f"USE {name}" for name in ("default x", "'default'", "NAMESPACE default x", "default.")),
)  # fmt: skip


def _spark_says(spark: SparkSession, statement: str) -> dict[str, str] | None:
    """The settings after it; None if it is refused."""
    session = spark.newSession()
    for key, value in BEGUN.items():
        session.conf.set(key, value)
    try:
        session.sql(statement).collect()
    except PySparkException:
        return None
    return {key: str(session.conf.get(key)).lower() for key in BEGUN}


def _we_say(statement: str) -> Settings | None:
    around = Surroundings()
    for key, value in BEGUN.items():
        around = Surroundings(settings=around.settings.changed(key, value))
    try:
        script = Script(around)
        for part in split(statement):
            script = script.then(part)
    except NotUnderstoodError:
        return None
    return script.around.settings


@pytest.mark.timeout(600)
def test_what_a_session_is_told_holds_as_in_spark(freezing: FreezingSpark) -> None:
    wrong, refused, taken = [], 0, 0
    for statement in STATEMENTS:
        spark, ours = _spark_says(freezing.spark, statement), _we_say(statement)
        if spark is None:
            refused += 1
            if ours is not None:
                wrong.append(f"Spark refuses {statement!r}, and it was taken")
        elif ours is None:
            # What it would be taken for has no effect, or one that has nothing to do with these settings.
            if spark != BEGUN | {key: value.lower() for key, value in BEGUN.items()}:
                wrong.append(f"Spark takes {statement!r}, and it was refused")
        elif not statement.startswith("RESET"):
            taken += 1
            known = {key: value.lower() for key, value in ours.conf.items()}
            if any(known.get(key, spark[key]) != spark[key] for key in BEGUN):
                wrong.append(f"{statement!r}: Spark has {spark}, and {known} was understood")
    assert not wrong
    assert refused > 30
    assert taken > 20


def test_a_temporary_view_is_read_under_the_settings_that_it_was_made_under(session: SparkSession) -> None:
    midnight = "SELECT to_date(timestamp_seconds(1767225600)) AS day"
    session.conf.set(ZONE, "UTC")
    session.sql(f"CREATE TEMP VIEW made AS {midnight}")
    session.conf.set(ZONE, "America/New_York")
    (now,), (then,) = session.sql(midnight).collect(), session.sql("SELECT * FROM made").collect()
    assert (str(now.day), str(then.day)) == ("2025-12-31", "2026-01-01")
