"""What a driver sees around its statements, for the report: versions, settings that matter, and its tables as they are now."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sluice_runner import masked_output, tables
from sluice_runner.assumptions import OF_SQL
from sluice_runner.java_classes import java_class
from sluice_runner.report import Seen
from sluice_runner.result import StatementResult
from sluice_runner.secrets_in_text import STARS, secret_by_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_TABLES = 32
_SECONDS = 60.0
_FACTS = (
    "id",
    "name",
    "location",
    "createdAt",
    "lastModified",
    "partitionColumns",
    "clusteringColumns",
    "numFiles",
    "sizeInBytes",
    "properties",
    "minReaderVersion",
    "minWriterVersion",
    "tableFeatures",
)


def seen(spark: SparkSession, statements: Sequence[StatementResult]) -> Seen:
    """Asks a running Spark, but doesn't wait for it without an end: a table's store that doesn't answer would keep the
    driver, and with it the tables of the job."""
    found: list[Seen] = []
    asking = threading.Thread(target=lambda: found.append(_asked(spark, statements)), daemon=True)
    asking.start()
    asking.join(_SECONDS)
    return found[0] if found else Seen(unread=[f"Spark did not answer within {_SECONDS:.0f} s"])


def _asked(spark: SparkSession, statements: Sequence[StatementResult]) -> Seen:
    """What can't be found out is left out, and told."""
    unread: list[str] = []
    versions = _read(unread, "versions", lambda: dict(_versions(spark)), {})
    settings = _read(unread, "settings", lambda: settings_that_matter(masked_output.settings()), {})
    locations = list(dict.fromkeys(commit.table for one in statements for commit in one.commits))
    if len(locations) > MOST_TABLES:
        unread.append(f"tables: only the first {MOST_TABLES} of {len(locations)} are described")
    described = [
        _read(unread, location, lambda location=location: _facts(spark, location), None)  # type: ignore[misc]
        for location in locations[:MOST_TABLES]
    ]
    return Seen(versions, settings, [facts for facts in described if facts is not None], unread)


def _read(unread: list[str], what: str, ask: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - told in the report, which goes on without it
        unread.append(f"{what}: {type(error).__name__}: {str(error)[:1000]}")
        return otherwise


def settings_that_matter(configured: Mapping[str, str]) -> dict[str, str]:
    """Settings that a job is judged by, without those that are called secret."""
    secrets = set(secret_by_name(configured))
    return {
        name: STARS if value in secrets else value
        for name, value in configured.items()
        if name.startswith(OF_SQL)
    }


def _versions(spark: SparkSession) -> Iterator[tuple[str, str]]:
    yield "spark", spark.version
    yield "delta", java_class(spark, "io.delta.package").VERSION()
    yield "scala", java_class(spark, "scala.util.Properties").versionNumberString()
    yield "java", java_class(spark, "java.lang.System").getProperty("java.version")


def _facts(spark: SparkSession, location: str) -> dict[str, Any]:
    [row] = spark.sql(f"DESCRIBE DETAIL {tables.quoted(tables.path_name(location))}").collect()
    found = {name: _plain(value) for name, value in row.asDict(recursive=True).items() if name in _FACTS}
    return {name: found[name] for name in _FACTS if found.get(name) is not None}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
