"""Spark settings that change what a statement means, so that reading the statement alone would be wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sluice.footprint.errors import NotUnderstoodError
from sluice.predicates import Session

_OWN_ID = "Delta would skip writes that it takes for repeated ones: use spec.write.txnAppId"
_OWN_POD = "Sluice proves the end of a run by the name and place of its driver's pod: leave it out"
_OTHER_SQL = "Spark would read the SQL in another way than Sluice: leave it out"

_REFUSED = {
    "spark.databricks.delta.write.txnappid": _OWN_ID,
    "spark.databricks.delta.write.txnversion": _OWN_ID,
    "spark.kubernetes.driver.pod.name": _OWN_POD,
    "spark.kubernetes.namespace": _OWN_POD,
    "spark.kubernetes.driver.podtemplatefile": _OWN_POD,
    "spark.sql.parser.escapedstringliterals": _OTHER_SQL,
    "spark.sql.ansi.doublequotedidentifiers": _OTHER_SQL,
}
_AUTO_MERGE = "spark.databricks.delta.schema.automerge.enabled"
_OVERWRITE_MODE = "spark.sql.sources.partitionoverwritemode"
_TOUCHED = (
    "spark.databricks.delta.dynamicpartitionoverwrite",
    "spark.databricks.delta.merge.optimize",
    "spark.databricks.delta.stats",
    "spark.sql.optimizer.",
)
"""Settings that change what a statement reads, as Delta records it, or which files it writes anew."""
_COMMIT_RULES = (
    *_TOUCHED,
    "spark.databricks.delta.conflict",
    "spark.databricks.delta.featureenablement",
    "spark.databricks.delta.maxcommitattempts",
    "spark.databricks.delta.replacewhere",
    "spark.databricks.delta.properties.defaults",
)
"""Settings that change what a commit records or survives."""


def refuse_settings(spark_conf: Mapping[str, str]) -> None:
    for name in spark_conf:
        why = _REFUSED.get(name.lower())
        if why is not None:
            raise NotUnderstoodError(f"sparkConf {name}: {why}")


@dataclass(frozen=True)
class Settings:
    """Those of the session in which a statement runs; SET changes them for the statements after it."""

    conf: Mapping[str, str] = field(default_factory=dict)
    """By lower-cased name."""

    @classmethod
    def of(cls, spark_conf: Mapping[str, str]) -> "Settings":
        return cls({name.lower(): value.strip() for name, value in spark_conf.items()})

    def changed(self, name: str, value: str | None) -> "Settings":
        """After SET; None for a value that is not known any more."""
        refuse_settings({name: value or ""})
        rest = {key: old for key, old in self.conf.items() if key != name.lower()}
        return Settings(rest if value is None else {**rest, name.lower(): value.strip()})

    def _is(self, name: str) -> bool | None:
        value = self.conf.get(name)
        return None if value is None else value.lower() == "true"

    @property
    def session(self) -> Session:
        return Session(
            time_zone=self.conf.get("spark.sql.session.timezone"),
            ansi=self._is("spark.sql.ansi.enabled"),
            case_sensitive=self._is("spark.sql.casesensitive") or False,
        )

    @property
    def legacy(self) -> str | None:
        """A setting under which conditions mean something else than they say."""
        return next((name for name in self.conf if name.startswith("spark.sql.legacy.")), None)

    @property
    def default_catalog(self) -> str | None:
        """Where names are looked up that say no catalog; None if it is Spark's own."""
        catalog = self.conf.get("spark.sql.defaultcatalog", "").lower()
        return catalog if catalog not in ("", "spark_catalog") else None

    @property
    def overwrites_partitions(self) -> bool:
        return self.conf.get(_OVERWRITE_MODE, "static").lower() == "dynamic"

    @property
    def evolves(self) -> bool:
        """Whether any write may add columns, which aborts concurrent writers."""
        return self.conf.get(_AUTO_MERGE, "false").lower() != "false"

    @property
    def compacts(self) -> bool:
        return self.conf.get("spark.databricks.delta.autocompact.enabled", "false").lower() != "false"

    @property
    def previews_rows(self) -> bool:
        """Whether Databricks 14.0 and 14.1 shall tell conflicts row by row."""
        return self._is("spark.databricks.delta.rowlevelconcurrencypreview") or False

    @property
    def stores_exactly(self) -> bool:
        """Whether a value that does not fit its column is an error, not another value."""
        return self.conf.get("spark.sql.storeassignmentpolicy", "ansi").lower() != "legacy"

    @property
    def changes_commit_rules(self) -> str | None:
        return next((name for name in self.conf if name.startswith(_COMMIT_RULES)), None)

    @property
    def changes_what_is_touched(self) -> str | None:
        return next((name for name in self.conf if name.startswith(_TOUCHED)), None)
