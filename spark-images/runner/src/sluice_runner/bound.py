"""Names that policies bind to locations: by each of them the driver finds the table that the job was judged by, or runs nothing.

Where only this driver knows a catalog, the catalog is ours (`dev.sluice.delta.BoundCatalog`), to which such a name is the table
at its location. A catalog that others use as well (a metastore, one of the profile's own) stays as it is, and is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass

from sluice_runner import tables
from sluice_runner.assumptions import NotAsJudgedError
from sluice_runner.locations import is_same
from sluice_runner.plan import BoundName
from sluice_runner.targets import CREATES_A_TABLE, LIKE, RefusedStatementError, Statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Name = tuple[str, ...]

_CATALOG = "dev.sluice.delta.BoundCatalog"
_DELTAS_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_SPARKS_OWN = "spark_catalog"
_SETTING = "spark.sql.catalog."
_IMPLEMENTATION = "spark.sql.catalogImplementation"
_IN_MEMORY = "in-memory"
_CLONES = "CloneTableStatement"
_VIEW = "VIEW"
_MAKES = CREATES_A_TABLE | LIKE | {_CLONES}


class Bound:
    """The bound names of this driver."""

    def __init__(self, spark: SparkSession, names: Sequence[BoundName]) -> None:
        self._spark = spark
        self._ours: dict[Name, str] = {}
        """Locations by name, all in lower case."""
        self._theirs: dict[Name, tuple[Name, str]] = {}
        """Names as they are written and their locations, in catalogs that others use as well."""
        if not names:
            return
        configured = _catalogs(spark)
        catalogs = set()
        for name in names:
            full = _in_full(name.parts, configured)
            if full[0] not in configured or (full[0] == _SPARKS_OWN and _is_only_here(spark, configured)):
                catalogs.add(full[0])
                self._ours[_lower(full)] = name.path
            else:
                self._theirs[_lower(full)] = full, name.path
        if catalogs:
            self._bind(catalogs)
        for full, path in self._theirs.values():
            self._is_there(full, path)

    def there(self, name: Name) -> Name:
        """The table's name by its location, if the name is bound in a catalog of ours; otherwise the name."""
        path = self._ours.get(self._full(name)) if self._ours else None
        return name if path is None else tables.path_name(path)

    def refuse(self, statement: Statement) -> None:
        """Refuses a statement that would lead a bound name elsewhere."""
        if not self._ours and not self._theirs:
            return
        for position, name in enumerate(statement.names):
            full = self._full(name, creates=position == 0 and statement.command in _MAKES)
            if full in self._ours:
                if position == 0:
                    self._refuse_elsewhere(statement, name, self._ours[full])
            elif full in self._theirs:
                written, path = self._theirs[full]
                if not self._is_there(written, path) and position == 0:
                    _refuse_unless_located(statement, name, path)

    def _refuse_elsewhere(self, statement: Statement, name: Name, path: str) -> None:
        """Spark and Delta would make these past the catalog, where tables are kept by default."""
        what = f"{'.'.join(name)}, which a policy binds to {path}"
        if statement.command in LIKE:
            raise RefusedStatementError(
                f"CREATE TABLE ... LIKE would not make {what}, there: write delta.`{path}`, or the columns"
            )
        if statement.command in CREATES_A_TABLE and (statement.provider or "").lower() != "delta":
            raise RefusedStatementError(
                f"the statement would make {what}, in another format elsewhere: write USING delta"
            )
        if statement.command == _CLONES:
            raise RefusedStatementError(f"the clone would not make {what}, there: write delta.`{path}`")

    def _bind(self, catalogs: Iterable[str]) -> None:
        jvm: Any = self._spark._jvm
        bound = jvm.dev.sluice.delta.BoundNames
        if not isinstance(bound, JavaClass):
            raise NotAsJudgedError(
                "nothing was run, because the image has no dev.sluice.delta.BoundNames, by which a driver knows the names that "
                "policies bind: use an image of the operator's version, with sluice-logstore.jar among Spark's jars"
            )
        for full, path in self._ours.items():
            bound.bind(".".join(full), path)
        for catalog in sorted(catalogs):
            self._spark.conf.set(_SETTING + catalog, _CATALOG)
            found = self._manager.catalog(catalog).getClass().getName()
            if found != _CATALOG:
                raise NotAsJudgedError(
                    f"nothing was run, because names of catalog {catalog} can't be bound any more: it is a {found} already"
                )

    def _is_there(self, full: Name, path: str) -> bool:
        """Whether the catalog has the table; it must be the one that the job was judged by."""
        found = tables.find_for_sure(self._spark, full)
        if found and self._spark.catalog.getTable(tables.quoted(full)).tableType == _VIEW:
            raise NotAsJudgedError(  # which may read more than the one table that is seen behind it
                f"nothing was run, because {'.'.join(full)} is a view in this driver's catalog, and a policy says that it is the "
                f"table at {path}: correct the policy or the catalog"
            )
        if not found:
            if self._spark.catalog.tableExists(tables.quoted(full)):
                raise NotAsJudgedError(
                    f"nothing was run, because {'.'.join(full)} is no Delta table in this driver's catalog, and a policy says that "
                    f"it is the one at {path}: correct the policy or the catalog"
                )
            return False
        elsewhere = [table.location for table in found if not is_same(table.location, path)]
        if elsewhere or len(found) > 1:
            here = ", ".join(elsewhere) or "several tables"
            raise NotAsJudgedError(
                f"nothing was run, because {'.'.join(full)} is {here} in this driver's catalog, and {path} in the policy by which "
                "the job was judged: correct the policy's path, or the table's location in the catalog"
            )
        return True

    def _full(self, name: Name, *, creates: bool = False) -> Name:
        """The name with its catalog and its schema, as the session completes it now."""
        manager = self._manager
        if (
            len(name) == 1
            and not creates  # beside a temporary view of its name
            and self._spark._jsparkSession.sessionState().catalog().getTempView(name[0]).isDefined()
        ):
            return name
        if len(name) == 1:
            return _lower((str(manager.currentCatalog().name()), *manager.currentNamespace(), *name))
        if manager.isCatalogRegistered(name[0]):
            return _lower(name)
        return _lower((str(manager.currentCatalog().name()), *name))

    @property
    def _manager(self) -> Any:
        return self._spark._jsparkSession.sessionState().catalogManager()


def _refuse_unless_located(statement: Statement, name: Name, path: str) -> None:
    """The table is not there yet. The catalog would choose a place of its own for it."""
    if statement.command not in _MAKES | {"AppendData"}:
        return  # Spark says that there is no such table
    if statement.location is None or not is_same(statement.location, path):
        raise NotAsJudgedError(
            f"the statement was not run, because this driver's catalog would make {'.'.join(name)} elsewhere than at {path}, "
            f"where a policy says that it is: create it with LOCATION '{path}'"
        )


def _catalogs(spark: SparkSession) -> Mapping[str, str]:
    """The classes of the catalogs that are configured, by name; our own don't count."""
    found: Any = spark._jsparkSession.sessionState().conf().getAllConfs()
    entries: Iterator[tuple[str, str]] = _pairs(found)
    return {
        key[len(_SETTING) :]: value
        for key, value in entries
        if key.startswith(_SETTING) and "." not in key[len(_SETTING) :] and value != _CATALOG
    } | {_SPARKS_OWN: spark.conf.get(_SETTING + _SPARKS_OWN, "") or ""}


def _pairs(scala_map: Any) -> Iterator[tuple[str, str]]:
    each = scala_map.iterator()
    while each.hasNext():
        pair = each.next()
        yield str(pair._1()), str(pair._2())


def _is_only_here(spark: SparkSession, configured: Mapping[str, str]) -> bool:
    """Whether Spark's own catalog is in this driver's memory, and nobody else's."""
    return spark.conf.get(_IMPLEMENTATION, _IN_MEMORY) == _IN_MEMORY and configured[_SPARKS_OWN] in (
        _DELTAS_CATALOG,
        _CATALOG,
    )


def _in_full(parts: Name, catalogs: Mapping[str, str]) -> Name:
    """Of two parts the first is a catalog, if there is one of that name: so Spark reads it."""
    if len(parts) == 1:
        return (_SPARKS_OWN, "default", *parts)
    names_a_catalog = parts[0] in catalogs and parts[0] != _SPARKS_OWN
    return parts if len(parts) > 2 or names_a_catalog else (_SPARKS_OWN, *parts)


def _lower(name: Sequence[str]) -> Name:
    return tuple(part.lower() for part in name)
