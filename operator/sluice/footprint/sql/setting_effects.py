"""Lists what each setting of Spark and Delta may change: a key that isn't listed here may change anything."""

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache, lru_cache

from sluice.footprint.sql.harmless_settings import AS_EVERYBODY_SETS_THEM, HARMLESS
from sluice.footprint.sql.known import VERSIONS, Version, settings_of


class SettingEffect(Enum):
    HARMLESS = "harmless"
    """It changes neither what a statement means nor what its commit records."""
    UNDERSTOOD = "understood"
    """The code that reads statements takes account of it."""
    NEW_TABLES = "new tables"
    """It may change tables that are created or replaced, but not existing ones."""
    COMMITS = "commits"
    """It may change which commits survive."""
    TOUCHES = "touches"
    """It may also change what Delta records as read, or which files are rewritten."""
    ANYTHING = "anything"


OF_SQL = (
    "spark.sql.",
    "spark.databricks.",
    "spark.delta.",
    "spark.io.delta.",
    "spark.hive.",
    "spark.hadoop.",
)
"""Settings of Spark's SQL, Delta and the file systems. Those of Spark's core are harmless: it knows no tables."""

_LOCK_SETTINGS = ("spark.", "spark.hadoop.")

_UNDERSTOOD = frozenset(
    {
        "spark.databricks.delta.autoCompact.enabled",
        "spark.databricks.delta.autoCompact.modifiedPartitionsOnly.enabled",
        "spark.databricks.delta.rowLevelConcurrencyPreview",
        "spark.databricks.delta.schema.autoMerge.enabled",
        "spark.delta.logStore.",
        *(f"{prefix}io.delta.storage.S3DynamoDBLogStore.ddb.region" for prefix in _LOCK_SETTINGS),
        *(f"{prefix}io.delta.storage.S3DynamoDBLogStore.ddb.tableName" for prefix in _LOCK_SETTINGS),
        "spark.hadoop.fs.default.name",
        "spark.hadoop.fs.defaultFS",
        "spark.sql.ansi.enabled",
        "spark.sql.caseSensitive",
        "spark.sql.defaultCatalog",
        "spark.sql.session.timeZone",
        "spark.sql.sources.partitionOverwriteMode",
        "spark.sql.storeAssignmentPolicy",
    }
)

_MAY_CHANGE: Mapping[SettingEffect, frozenset[str]] = {
    SettingEffect.NEW_TABLES: frozenset({"spark.databricks.delta.properties.defaults."}),
    SettingEffect.COMMITS: frozenset(
        {
            "spark.databricks.delta.conflictChecker.",
            "spark.databricks.delta.conflictDetection.",
            "spark.databricks.delta.featureEnablement.",
            "spark.databricks.delta.maxCommitAttempts",
            "spark.databricks.delta.replaceWhere.",
        }
    ),
    SettingEffect.TOUCHES: frozenset(
        {
            "spark.databricks.delta.dynamicPartitionOverwrite.",
            "spark.databricks.delta.merge.optimizeInsertOnlyMerge.",
            "spark.databricks.delta.merge.optimizeMatchedOnlyMerge.",
            "spark.databricks.delta.stats.",
            "spark.sql.optimizer.",
        }
    ),
}
"""Add a setting here only if it is known that it can change nothing else."""

_CATALOGS = "spark.sql.catalog."
"""Declares catalogs and how to reach them: catalogs only know names."""
_JARS = frozenset({"spark.jars", "spark.jars.packages"})
_DELTA_ITSELF = re.compile(r"\bdelta-(?:core|spark|storage)")
"""A jar of Delta in any version: the version that the runtime names may not be the one that commits."""
_REMEMBERED = 4096
_UNLISTED = ("spark.hadoop.", "spark.hive.", "spark.io.delta.")
"""Settings that Spark does not list."""


@lru_cache(_REMEMBERED)
def meaning_of(key: str, value: str, spark: Version | None) -> SettingEffect:
    """Returns what the setting may change. `spark` is the version of Spark; None if it isn't known."""
    if key in _JARS and _DELTA_ITSELF.search(value) is not None:
        return SettingEffect.COMMITS
    if not key.lower().startswith(OF_SQL):
        return SettingEffect.HARMLESS
    if key in AS_EVERYBODY_SETS_THEM:
        return SettingEffect.HARMLESS if value in AS_EVERYBODY_SETS_THEM[key] else SettingEffect.ANYTHING
    if _is_among(key, _UNDERSTOOD):
        return SettingEffect.UNDERSTOOD
    if _is_default(key, value, spark) or _is_harmless(key):
        return SettingEffect.HARMLESS
    found = (meaning for meaning, keys in _MAY_CHANGE.items() if _is_among(key, keys))
    meaning = next(found, SettingEffect.ANYTHING)
    return meaning if _is_listed(key) or meaning is SettingEffect.NEW_TABLES else SettingEffect.ANYTHING


def _is_harmless(key: str) -> bool:
    """Whether the setting belongs to a harmless group. One that Spark and Delta don't list may belong to another
    version, so no group covers it."""
    if key.startswith(_CATALOGS):
        return True
    return (_is_listed(key) or key.startswith(_UNLISTED)) and any(
        _is_among(key, keys) for keys in HARMLESS.values()
    )


def _is_listed(key: str) -> bool:
    return any(key in settings_of(version) for version in VERSIONS)


def _is_among(key: str, keys: Iterable[str]) -> bool:
    """Whether the key is one of these; one that ends in a dot stands for all keys with that prefix."""
    return any(key.startswith(found) if found.endswith(".") else key == found for found in keys)


def _is_default(key: str, value: str, spark: Version | None) -> bool:
    """Whether the value is the default in each version that may be running."""
    defaults = {
        settings_of(version)[key].default
        for version in (VERSIONS if spark not in VERSIONS else (spark,))
        if key in settings_of(version)
    }
    if len(defaults) != 1:
        return False
    default = defaults.pop()
    return value == default or value.lower() == default in ("true", "false")


@lru_cache(_REMEMBERED)
def right_spelling(key: str) -> str | None:
    """The right spelling of a key that Spark would not recognise because of its case; None for any other key."""
    found = _spelled().get(key.lower())
    return None if found == key else found


def is_static(key: str) -> bool:
    """Whether Spark reads it when it starts and no session can change it."""
    return any(key in settings_of(version) and settings_of(version)[key].static for version in VERSIONS)


@cache
def _spelled() -> Mapping[str, str]:
    listed = (key for version in VERSIONS for key in settings_of(version))
    named = (
        key
        for key in (*_UNDERSTOOD, *_MAY_CHANGE[SettingEffect.COMMITS], *AS_EVERYBODY_SETS_THEM)
        if not key.endswith(".")
    )
    return {key.lower(): key for key in (*listed, *named)}
