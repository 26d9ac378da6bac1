"""Makes footprints of what jobs touched, partition by partition, where nobody knows their text: as a declared footprint, from
which the operator would make the same."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sluice.api.job import DeclaredFootprint, Operation
from sluice.api.tables import TableRef
from sluice.footprint import JobFootprint
from sluice.footprint.declared_footprint import declared_footprint
from sluice.footprint.sql.statement_context import Surroundings
from sluice.predicates import Table
from sluice.tables import Dialect, LogStore, Names, TableFacts, TableKey, key_of_name, key_of_path

Partition = Mapping[str, str | None]

EVERYTHING: Final = None
NOTHING: Final[tuple[Partition, ...]] = ()


@dataclass(frozen=True)
class TouchedTables:
    """What a job does to one table, for certain."""

    table: TableRef
    operation: Operation
    reads: Sequence[Partition] | None = EVERYTHING
    writes: Sequence[Partition] | None = EVERYTHING
    metadata: bool = False


def footprint_of_touched(
    touched: Iterable[TouchedTables], facts: Mapping[TableKey, TableFacts], names: Names | None = None
) -> JobFootprint:
    """`facts`: about each of the tables, by the one key that `names` gives it."""
    around = Surroundings(facts=facts, names=names or Names())
    tables = []
    for number, one in enumerate(touched, start=1):
        declared = DeclaredFootprint.model_construct(  # the texts may be longer than people's may
            table=one.table,
            operation=one.operation,
            reads=_condition(one.reads),
            writes=_condition(one.writes),
            metadata=one.metadata,
        )
        tables.append(
            replace(declared_footprint(declared, around, f"touches.{number}"), statement=number, certain=True)
        )
    dialects = {facts[one.table].dialect for one in tables if one.table in facts}
    return JobFootprint(tuple(tables), dialects.pop() if len(dialects) == 1 else None)


def facts_by_partitions(columns: Sequence[str], dialect: Dialect | None = None) -> TableFacts:
    """Facts about a table of which only the partition columns' names are known: their values are compared as texts. Its writers
    are taken to commit through a LogStore that keeps them apart."""
    texts = [(name, "string") for name in columns]
    return TableFacts(columns=Table.of(texts, columns), dialect=dialect, log_store=LogStore.SAFE)


def key_of_table(table: TableRef) -> TableKey:
    return key_of_path(table.path) if table.path is not None else key_of_name(table.name or "")


def _condition(partitions: Sequence[Partition] | None) -> str:
    """The condition that exactly these partitions match. Partitions that differ in the last column alone are one alternative,
    so that many of them stay few boxes."""
    if partitions is None:
        return "true"
    if not partitions:
        return "false"
    alike: dict[tuple[tuple[str, str | None], ...], dict[str, dict[str | None, None]]] = {}
    for partition in partitions:
        if not partition:
            return "true"
        *before, (last, value) = partition.items()
        alike.setdefault(tuple(before), defaultdict(dict))[last][value] = None
    return " OR ".join(
        " AND ".join([*(_one_of(name, [value]) for name, value in before), _one_of(last, list(values))])
        for before, lasts in alike.items()
        for last, values in lasts.items()
    )


def _one_of(column: str, values: Sequence[str | None]) -> str:
    name = "`{}`".format(column.replace("`", "``"))
    given = ", ".join(_literal(value) for value in values if value is not None)
    parts = [f"{name} IN ({given})"] if given else []
    parts += [f"{name} IS NULL"] if None in values else []
    return f"({' OR '.join(parts)})"


def _literal(text: str) -> str:
    return "'{}'".format(text.replace("\\", "\\\\").replace("'", "\\'"))
