"""The settings under which a statement runs, accepted only as Spark would accept them: in its spelling, with its
values."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.known import Version
from sluice.footprint.sql.kubernetes_settings import why_not_on_kubernetes
from sluice.footprint.sql.setting_effects import SettingEffect, is_static, meaning_of, right_spelling
from sluice.predicates import Session
from sluice.predicates.limits import MAX_SETTINGS

_OWN_ID = "Delta would skip writes that it takes for repetitions: use spec.write.txnAppId"
_OWN_CLUSTER = "the Spark operator starts each run, in its own cluster and as a pod: remove it"
_OWN_RUN = "Spark tells the pods of one run from those of others by it: remove it"
_OTHER_PROCESS = (
    "the writes would run in another process than the driver, whose end Sluice would not see: remove it"
)
_TWO_SETTINGS = (
    "spark-submit would read another name and value from it: write what stands before the = as the name and the rest as the "
    "value, and leave spaces out of the name"
)
_PAST_THE_LOG_STORE = (
    "Delta would commit past the LogStore that keeps drivers apart, and unknown to Sluice: remove it"
)
_OWN_GATE = "the driver itself sets it, so that a job keeps what spec.writes promises: remove it"
_OTHER_SQL = "Spark would read the SQL differently from Sluice: remove it"
_OTHER_SETTINGS = "Spark would read settings from there that Sluice does not see: set them under sparkConf"

_OTHER_PLACES = (
    "locations would lead elsewhere than they say: remove it, and write the location of the store itself"
)

_REFUSED = {
    "spark.databricks.delta.write.txnAppId": _OWN_ID,
    "spark.databricks.delta.write.txnVersion": _OWN_ID,
    "spark.app.id": _OWN_RUN,
    "spark.local.connect": _OTHER_PROCESS,
    "spark.master": _OWN_CLUSTER,
    "spark.remote": _OTHER_PROCESS,
    "spark.submit.deployMode": _OWN_CLUSTER,
    "spark.sql.parser.escapedStringLiterals": _OTHER_SQL,
    "spark.sql.parser.quotedRegexColumnNames": _OTHER_SQL,
    "spark.sql.ansi.doubleQuotedIdentifiers": _OTHER_SQL,
}
_REFUSED_BY_LOWER = {key.lower(): (key, why) for key, why in _REFUSED.items()}
_ENVIRONMENT = "spark.kubernetes.driverEnv."
_JAVA_OPTIONS = frozenset(
    {
        "spark.driver.extraJavaOptions",
        "spark.driver.defaultJavaOptions",
        *(f"{_ENVIRONMENT}{name}" for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")),
    }
)
_TWO = re.compile(r"[=\s]")
_QUOTES = str.maketrans("", "", "\"'\\")
"""Characters that are removed from Java's options before Java sees them."""
_FURTHER_SETTINGS = re.compile(r"-Dspark\.|(?:^|\s)@|-XX:VMOptionsFile")
_ACCESS_POINT = re.compile(r"spark\.hadoop\.fs\.s3a\.bucket\..+\.accesspoint\.arn")
_OWN_FILE_SYSTEM = re.compile(r"spark\.hadoop\.fs\.(?:AbstractFileSystem\.)?(?!viewfs\.)[^.]+\.impl")

_ANSI = "spark.sql.ansi.enabled"
_API_MODE = "spark.api.mode"
_CONNECTOR = "spark.databricks.delta.v2.enableMode"
_GATE = "spark.hadoop.sluice.gate."
_AUTO_COMPACT = "spark.databricks.delta.autoCompact.enabled"
_AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"
_CASE = "spark.sql.caseSensitive"
_CATALOG = "spark.sql.defaultCatalog"
_SCHEMA = "spark.sql.catalog.spark_catalog.defaultDatabase"
_COMPACTS_WHAT_IT_WROTE = "spark.databricks.delta.autoCompact.modifiedPartitionsOnly.enabled"
_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
_PREVIEWS = "spark.databricks.delta.rowLevelConcurrencyPreview"
_STORES = "spark.sql.storeAssignmentPolicy"
_INFERS_SCHEMAS = "spark.sql.streaming.schemaInference"
_CHECKS_STREAMS = "spark.sql.streaming.unsupportedOperationCheck"
_TIME_ZONE = "spark.sql.session.timeZone"

_BOOLEAN = frozenset({"true", "false"})
_TAKEN: Mapping[str, frozenset[str]] = {
    **dict.fromkeys((_ANSI, _AUTO_MERGE, _CASE, _COMPACTS_WHAT_IT_WROTE, _PREVIEWS), _BOOLEAN),
    _AUTO_COMPACT: _BOOLEAN | {"auto", "legacy"},
    _OVERWRITE_MODE: frozenset({"static", "dynamic"}),
    _STORES: frozenset({"ansi", "legacy", "strict"}),
}
"""Values that Spark accepts, in lower case; Spark ignores case here."""
_STATIC_PREFIXES = ("spark.delta.", "spark.io.delta.", "spark.hadoop.", "spark.hive.")
_HIVE_VARIABLES = ("hivevar:", "hiveconf:")
_OF_A_SESSION = ("spark.sql.", "spark.databricks.")
_LOG_STORE = "spark.delta.logStore."
_LOG_STORES = re.compile(r"spark\.delta\.logStore\.(?:class|[a-z0-9+-]+\.impl)")
_IN_SQL = re.compile(r"(?:`([^`]+)`|([\w.:-]+))\s*\Z")


def refuse_settings(spark_conf: Mapping[str, str]) -> None:
    for name, why in refused_settings(spark_conf):
        raise NotUnderstoodError(f"sparkConf {name}: {why}")


def refused_settings(spark_conf: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The names of those that are refused, each with the reason."""
    for name, value in spark_conf.items():
        why = _why_not(name, value.strip())
        if why is not None:
            yield name, why


def _why_not(name: str, value: str) -> str | None:
    return _why_not_this_name(name) or why_not_on_kubernetes(name, value) or _why_not_this_value(name, value)


def _why_not_this_name(name: str) -> str | None:
    if _TWO.search(name) is not None:
        return _TWO_SETTINGS
    if name.startswith(_GATE):
        return _OWN_GATE
    refused = _REFUSED_BY_LOWER.get(name.lower())
    if refused is not None:
        return refused[1] if refused[0] == name else f"the setting is spelled {refused[0]}, and {refused[1]}"
    spelled = right_spelling(name)
    if spelled is not None:
        return f"names are case-sensitive, so Spark would ignore it: write {spelled}"
    if name.lower().startswith(_LOG_STORE.lower()) and _LOG_STORES.fullmatch(name) is None:
        return f"names are case-sensitive, so Delta would ignore it: write {_LOG_STORE}class or {_LOG_STORE}s3a.impl"
    return None


def _why_not_this_value(name: str, value: str) -> str | None:
    if _brings_more(name, value):
        return _OTHER_SETTINGS
    if _leads_elsewhere(name, value):
        return _OTHER_PLACES
    if name == _API_MODE and value.lower() != "classic":
        return _OTHER_PROCESS
    if name == _CONNECTOR and value.upper() != "AUTO":
        return _PAST_THE_LOG_STORE
    taken = _TAKEN.get(name)
    if taken is not None and value.lower() not in taken:
        return f"Spark does not accept {value!r} here: write {' or '.join(sorted(taken))}"
    return None


def _brings_more(name: str, value: str) -> bool:
    """Whether it makes Spark read settings from elsewhere."""
    plain = value.translate(_QUOTES)
    return name in _JAVA_OPTIONS and _FURTHER_SETTINGS.search(plain) is not None


def _leads_elsewhere(name: str, value: str) -> bool:
    """Whether it leads to a bucket other than the one that a location names, or into a table of mounts."""
    is_mounted = _OWN_FILE_SYSTEM.fullmatch(name) is not None and ".viewfs." in value
    return is_mounted or _ACCESS_POINT.fullmatch(name) is not None


@dataclass(frozen=True)
class Settings:
    """The settings of the session in which a statement runs; SET changes them for the statements after it."""

    conf: Mapping[str, str] = field(default_factory=dict)
    """Values by the setting's name in Spark's spelling."""
    spark: Version | None = None
    """Version of Spark; None if it isn't known."""
    begun_with: Mapping[str, str] = field(default_factory=dict)
    """What RESET goes back to."""
    past: frozenset[tuple[str, str]] = frozenset()
    """Earlier values, which held for some statement of the script."""

    @classmethod
    def of(cls, spark_conf: Mapping[str, str], spark: Version | None = None) -> "Settings":
        conf = {name: value.strip() for name, value in spark_conf.items()}
        return cls(conf, spark, begun_with=conf)

    def changed(self, name: str, value: str | None) -> "Settings":
        """Returns the settings after SET; `value` is None if it is no longer known. Raises NotUnderstoodError where
        Spark or Sluice refuses the setting."""
        why = None if value is None else _why_not(name, value)
        if why is None and (is_static(name) or name.startswith(_STATIC_PREFIXES)):
            why = "Spark reads it when it starts, and SET cannot change it: set it under runtime.sparkConf"
        elif why is None and (name.startswith(_HIVE_VARIABLES) or "." not in name):
            why = "this is no setting of Spark's: for a value of the job's own use spec.parameters"
        elif why is None and not name.startswith(_OF_A_SESSION):
            why = "a session has only settings that begin with spark.sql. or spark.databricks.: set it under runtime.sparkConf"
        if why is not None:
            raise NotUnderstoodError(f"SET {name}: {why}")
        if value is not None and self.conf.get(name) == value.strip():
            return self
        if len(self.past) - len(self.begun_with) >= MAX_SETTINGS:
            raise NotUnderstoodError(
                f"SET {name}: more than {MAX_SETTINGS} settings are set before it: remove those that have no effect"
            )
        rest = {key: old for key, old in self.conf.items() if key != name}
        return self._now(rest if value is None else {**rest, name: value.strip()})

    def reset(self, name: str | None = None) -> "Settings":
        """Returns the settings with one of them, or all, as when the session began."""
        if name is None:
            return self._now(self.begun_with)
        rest = {key: old for key, old in self.conf.items() if key != name}
        return self._now({**rest, **{key: old for key, old in self.begun_with.items() if key == name}})

    def _now(self, conf: Mapping[str, str]) -> "Settings":
        return replace(self, conf=conf, past=self.past.union(self.conf.items()))

    def _is(self, name: str) -> bool | None:
        value = self.conf.get(name)
        return None if value is None else value.lower() == "true"

    @cached_property
    def session(self) -> Session:
        return Session(
            time_zone=self.conf.get(_TIME_ZONE), ansi=self._is(_ANSI), case_sensitive=self._is(_CASE) or False
        )

    @property
    def overwrites_partitions(self) -> bool:
        return self.conf.get(_OVERWRITE_MODE, "static").lower() == "dynamic"

    @property
    def evolves(self) -> bool:
        """Whether any write may add columns, which aborts concurrent writers."""
        return self._is(_AUTO_MERGE) or False

    @property
    def compacts(self) -> bool:
        return self.conf.get(_AUTO_COMPACT, "false").lower() != "false"

    @property
    def compacts_elsewhere(self) -> bool:
        """Whether auto-compaction at some time also takes files of partitions that the job did not write."""
        return any(
            name == _COMPACTS_WHAT_IT_WROTE and value.lower() == "false"
            for name, value in (*self.conf.items(), *self.past)
        )

    @property
    def default_catalog(self) -> str | None:
        """The catalog for names that have none; None if it is Spark's own."""
        catalog = self.conf.get(_CATALOG, "").lower()
        return catalog if catalog not in ("", "spark_catalog") else None

    @property
    def has_own_schema(self) -> bool:
        """Whether names of one part are looked up outside the schema `default` of Spark's own catalog."""
        return self.default_catalog is not None or self.conf.get(_SCHEMA, "default").lower() != "default"

    @property
    def previews_rows(self) -> bool:
        """Whether Databricks 14.0 and 14.1 are asked to judge conflicts row by row."""
        return self._is(_PREVIEWS) or False

    @property
    def stores_exactly(self) -> bool:
        """Whether a value that does not fit its column is an error, not another value."""
        return self.conf.get(_STORES, "ansi").lower() != "legacy"

    @property
    def checks_streams(self) -> bool:
        """Whether Spark refuses queries that it does not stream, as it does unless it is told not to."""
        return self._is(_CHECKS_STREAMS) is not False

    @property
    def infers_schemas_of_streams(self) -> bool:
        return self._is(_INFERS_SCHEMAS) or False

    # ------------------------------------------------------------------ settings that are not understood

    @cached_property
    def changes_anything(self) -> str | None:
        """A setting that may change whatever a statement of the script does."""
        return self._ever(lambda meaning: meaning is SettingEffect.ANYTHING)

    @cached_property
    def changes_what_is_touched(self) -> str | None:
        return self._ever(lambda meaning: meaning is SettingEffect.TOUCHES)

    @cached_property
    def changes_commit_rules(self) -> str | None:
        return self._ever(
            lambda meaning: meaning in (SettingEffect.COMMITS, SettingEffect.TOUCHES, SettingEffect.ANYTHING)
        )

    @cached_property
    def changes_new_tables(self) -> str | None:
        return self._ever(lambda meaning: meaning is SettingEffect.NEW_TABLES)

    def _ever(self, holds: Callable[[SettingEffect], bool]) -> str | None:
        pairs = (*self.conf.items(), *sorted(self.past))
        return next((name for name, value in pairs if holds(meaning_of(name, value, self.spark))), None)


def key_in_sql(text: str) -> str | None:
    """The name of a setting as SET and RESET write it; None if Spark would not accept it as one."""
    found = _IN_SQL.match(text)
    return None if found is None else found[1] or found[2]
