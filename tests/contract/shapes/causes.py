"""The reader as it was before it knew better: for each cause of a wrong `never`, the one rule that keeps it out, taken away."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import pytest
from sqlglot import exp

from sluice.footprint.queries import cells, outputs, rows
from sluice.footprint.queries.cells import Cell
from sluice.footprint.sql import common_tables, settings
from sluice.footprint.sql.known import Version
from sluice.footprint.sql.settings import Settings
from sluice.footprint.sql.statement_context import StatementContext, partitions
from sluice.footprint.statements import delete_update, insert, merge
from sluice.predicates import Predicate, Region

Reader = pytest.MonkeyPatch


def generators_are_one_value(reader: Reader) -> None:
    """inline, posexplode, stack and their like make several columns, and shift those after them."""

    def outputs_of(query: exp.Select, spark: Version | None) -> Iterator[object]:
        for projection in query.expressions:
            found = list(outputs._outputs(projection, spark))
            yield from found[:1] if isinstance(projection, exp.Aliases) else found

    reader.setattr(outputs, "_generates", lambda _: False)
    reader.setattr(rows, "outputs_of", outputs_of)


def grouping_sets_are_groups(reader: Reader) -> None:
    """ROLLUP, CUBE and GROUPING SETS put NULL where the value was."""
    reader.setattr(rows, "_groups_widely", lambda *_: False)


def set_operations_keep_types(reader: Reader) -> None:
    """'01' beside 1 is stored as '1'."""

    def as_they_are(columns: Sequence[Cell], _: StatementContext) -> tuple[Cell, ...]:
        return tuple(columns)

    reader.setattr(rows, "side_by_side", as_they_are)


def constants_bound_what_is_replaced(reader: Reader) -> None:
    """REPLACE WHERE 1 = 0: Delta writes anywhere."""

    def as_it_matches(_: StatementContext, __: object, predicate: Predicate, ___: Region) -> Region:
        return partitions(predicate)

    reader.setattr(insert, "where_rows_may_land", as_it_matches)


def names_by_identifier_are_unseen(reader: Reader) -> None:
    """SET IDENTIFIER('d') = ... sets d."""

    def by_its_name(node: exp.Expr, _: Collection[str], __: StatementContext) -> list[str]:
        return [node.name.lower()]

    for module in (delete_update, merge):
        reader.setattr(module, "columns_named", by_its_name, raising=False)


def quoted_names_are_unseen(reader: Reader) -> None:
    """A column may be generated from `my-ts`."""

    def plain_words(expression: str) -> set[str]:
        return {word.lower() for word in re.findall(r"\w+", expression)}

    reader.setattr(delete_update, "_columns_named", plain_words)


def common_tables_see_all(reader: Reader) -> None:
    """A common table sees those before it alone: another of that name is a view or a table."""

    def any_of_them(scope: common_tables._Scope, name: str, *, case_sensitive: bool) -> exp.CTE | None:
        named = scope.with_.exact if case_sensitive else scope.with_.folded
        return scope.with_.node.expressions[named[name]] if name in named else None

    reader.setattr(common_tables._Scope, "find", any_of_them)


def floats_are_exact(reader: Reader) -> None:
    """A DOUBLE that equals 9007199254740993 is stored as ...992, a FLOAT that equals 16777217 as ...216."""

    def itself(number: int, _: StatementContext, *, in_list: bool) -> Iterator[int]:
        yield number

    reader.setattr(cells, "_rounded", itself)
    reader.setattr(cells, "_ROUNDED_BY_DOUBLES", 1 << 64)


def keys_have_no_case(reader: Reader) -> None:
    """Spark passes over spark.sql.sources.partitionoverwritemode."""
    key = settings._OVERWRITE_MODE
    changed = Settings.changed

    def in_any_case(self: Settings, name: str, value: str | None) -> Settings:
        return changed(self, key if name.lower() == key.lower() else name, value)

    reader.setattr(Settings, "changed", in_any_case)


def patterns_are_names(reader: Reader) -> None:
    """Spark takes `id|b` for two columns if quotedRegexColumnNames is set."""
    changed = Settings.changed

    def passed_over(self: Settings, name: str, value: str | None) -> Settings:
        return self if name.endswith("quotedRegexColumnNames") else changed(self, name, value)

    reader.setattr(Settings, "changed", passed_over)


CAUSES: Mapping[str, Callable[[Reader], None]] = {
    cause.__name__: cause
    for cause in (
        generators_are_one_value,
        grouping_sets_are_groups,
        set_operations_keep_types,
        constants_bound_what_is_replaced,
        names_by_identifier_are_unseen,
        quoted_names_are_unseen,
        common_tables_see_all,
        floats_are_exact,
        keys_have_no_case,
        patterns_are_names,
    )
}
