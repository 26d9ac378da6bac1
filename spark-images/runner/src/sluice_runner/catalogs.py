"""A driver's catalogs as it begins: how its session completes names, and which catalogs others use as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sluice_runner.java_classes import PATH, java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Name = tuple[str, ...]

BOUND = "dev.sluice.delta.BoundCatalog"
SPARKS_OWN = "spark_catalog"
SETTING = "spark.sql.catalog."
_OF_DELTA = ("org.apache.spark.sql.delta.catalog.DeltaCatalog", BOUND)
_IMPLEMENTATION = "spark.sql.catalogImplementation"
_IN_MEMORY = "in-memory"
_PARTS = 3


class Catalogs:
    """As they are when it is asked first, which is before a statement runs."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @cached_property
    def _configured(self) -> Mapping[str, str]:
        """The classes of the catalogs that are configured, by name; our own don't count."""
        found: Any = self._spark._jsparkSession.sessionState().conf().getAllConfs()
        return {
            key[len(SETTING) :]: value
            for key, value in _pairs(found)
            if key.startswith(SETTING) and "." not in key[len(SETTING) :] and value != BOUND
        } | {SPARKS_OWN: self._spark.conf.get(SETTING + SPARKS_OWN, "") or ""}

    @cached_property
    def _sparks_is_only_here(self) -> bool:
        """Whether Spark's own catalog is in this driver's memory, and nobody else's."""
        is_in_memory = self._spark.conf.get(_IMPLEMENTATION, _IN_MEMORY) == _IN_MEMORY
        return is_in_memory and self._configured[SPARKS_OWN] in _OF_DELTA

    def is_shared(self, catalog: str) -> bool:
        """Whether others use the catalog as well: a metastore, or one of the profile's own."""
        return catalog in self._configured and not (catalog == SPARKS_OWN and self._sparks_is_only_here)

    @property
    def some_are_shared(self) -> bool:
        return any(map(self.is_shared, self._configured))

    def in_full(self, parts: Name) -> Name:
        """Of two parts the first is a catalog, if there is one of that name: so Spark reads it."""
        if len(parts) == 1:
            return (SPARKS_OWN, "default", *parts)
        names_a_catalog = parts[0] in self._configured and parts[0] != SPARKS_OWN
        return parts if len(parts) > 2 or names_a_catalog else (SPARKS_OWN, *parts)

    def completed(self, name: Name, *, creates: bool = False) -> Name:
        """The name with its catalog and its schema, as the session completes it now; a temporary view's stays as it is."""
        manager = self.manager
        if (
            len(name) == 1
            and not creates  # beside a temporary view of its name
            and self._spark._jsparkSession.sessionState().catalog().getTempView(name[0]).isDefined()
        ):
            return name
        if len(name) == 1:
            return str(manager.currentCatalog().name()), *map(str, manager.currentNamespace()), *name
        if manager.isCatalogRegistered(name[0]):
            return name
        return str(manager.currentCatalog().name()), *name

    def place_of_new(self, full: Name) -> str | None:
        """Where the catalog makes a table for which no place is given; None if that isn't known."""
        if len(full) != _PARTS or full[0] != SPARKS_OWN or self._configured[SPARKS_OWN] not in _OF_DELTA:
            return None
        sparks: Any = self._spark._jsparkSession.sessionState().catalog()
        _, schema, table = full
        if not sparks.databaseExists(schema):
            return None
        in_schema = java_class(self._spark, "scala.Option").apply(schema)
        name = java_class(self._spark, "org.apache.spark.sql.catalyst.TableIdentifier")(table, in_schema)
        return str(java_class(self._spark, PATH)(sparks.defaultTablePath(name)).toString())

    def qualified(self, location: str) -> str:
        """The location in Hadoop's spelling, with the scheme that it has where it is written without."""
        path = java_class(self._spark, PATH)(location)
        files = path.getFileSystem(self._spark._jsparkSession.sessionState().newHadoopConf())
        return str(files.makeQualified(path).toString())

    @property
    def manager(self) -> Any:
        return self._spark._jsparkSession.sessionState().catalogManager()


def lower(name: Sequence[str]) -> Name:
    return tuple(part.lower() for part in name)


def _pairs(scala_map: Any) -> Iterator[tuple[str, str]]:
    each = scala_map.iterator()
    while each.hasNext():
        pair = each.next()
        yield str(pair._1()), str(pair._2())
