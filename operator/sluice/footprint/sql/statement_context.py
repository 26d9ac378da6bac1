"""Holds one statement while it is read: its text and tree, the table that it writes, and what is known around it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import islice
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from sluice.api.job import Operation
from sluice.footprint.errors import IF_SPARK_DOES, NotUnderstoodError, at
from sluice.footprint.model import EVERYTHING, TableFootprint
from sluice.footprint.operations import MAY_SELECT, WRITES_ROWS
from sluice.footprint.sources import ANY_SOURCES, NO_SOURCES, Sources
from sluice.footprint.sql.advice import LOOKED_UP_ELSEWHERE, how_to_bind, how_to_know
from sluice.footprint.sql.allowance import Allowance
from sluice.footprint.sql.changed_tables import ChangedTables
from sluice.footprint.sql.common_tables import CommonTables
from sluice.footprint.sql.grammar import asks_other_tables, foreign, holds_a_query
from sluice.footprint.sql.keywords import outside_parentheses, word
from sluice.footprint.sql.nodes import stranger
from sluice.footprint.sql.selected_tables import keep_meanings, sources_of
from sluice.footprint.sql.settings import Settings
from sluice.footprint.sql.statement_splitter import Statement
from sluice.footprint.sql.table_names import is_of_a_version, key_of_node
from sluice.footprint.sql.tree_summary import TreeSummary
from sluice.predicates import (
    Anything,
    ColumnType,
    Predicate,
    PredicateError,
    Region,
    compiled,
    from_conjuncts,
    parse,
)
from sluice.predicates.limits import MAX_TOKENS, excess
from sluice.predicates.syntax import condition_among, condition_in, statement_in
from sluice.tables import LogStore, Names, TableFacts, TableKey, in_catalog, lock_table_of, log_store_for


@dataclass(frozen=True)
class Surroundings:
    """What is known when a statement begins."""

    settings: Settings = field(default_factory=Settings)
    names: Names = field(default_factory=Names)
    facts: Mapping[TableKey, TableFacts] = field(default_factory=dict)
    """Facts about tables that are written, by each table's one key."""
    sources: Mapping[TableKey, TableFacts] = field(default_factory=dict)
    """Facts about tables that are selected from, by each table's one key."""
    views: Mapping[str, exp.Expr | None] = field(default_factory=dict)
    """Queries of temporary views by the view's lower-cased name; None where the query reads no Delta table that
    matters."""
    views_under: Mapping[str, Settings] = field(default_factory=dict)
    """The settings under which each view was made, which Spark keeps using to read it."""
    views_over_others: frozenset[str] = frozenset()
    """Views that select from a view which was replaced since: they keep their columns in the old order."""
    surveys: Mapping[int, TreeSummary] = field(default_factory=dict)
    """What is known of the views' trees, by the identity of each."""
    changed: ChangedTables = field(default_factory=ChangedTables)
    """Tables whose metadata an earlier statement changed: what was known of them may be wrong now."""
    moved: bool = False
    """Whether a USE came before, so that names are looked up elsewhere."""
    has_all_settings: bool = False
    """Whether the settings are all that the driver will have, those of its runtime profile included."""
    cautious: bool = False
    """Whether the engine may be another than open-source Delta, whose way of reading conditions was measured."""
    days: tuple[date, ...] = ()
    """One of them is current_date() when a statement runs."""
    promised_in: str = "spec.writes"
    """The field in which the job may say where its rows land."""
    allowance: Allowance = field(default_factory=Allowance, compare=False, repr=False)
    """What reading the job may still cost; statements share it."""

    def with_view(self, name: str, looked: TreeSummary, upon: Collection[str] = ()) -> "Surroundings":
        """Returns the surroundings with a new view. `upon` are views that select from one of this name."""
        query = looked.nodes[0]
        keep_meanings(looked, self.views)
        others = {at: survey for at, survey in self.surveys.items() if at != id(self.views.get(name))}
        return replace(
            self,
            views={**self.views, name: query},
            surveys={**others, id(query): looked},
            views_under={**self.views_under, name: self.settings},
            views_over_others=self.views_over_others.difference([name]).union(upon),
        )

    def inside_view(self, name: str) -> "Surroundings":
        """Returns what is known where the view's query is read. The driver looks at the day by the clock of the session, and not by
        that under which a view was made."""
        settings = self.views_under.get(name, self.settings)
        is_one_clock = settings.session.time_zone == self.settings.session.time_zone
        return replace(self, settings=settings, days=self.days if is_one_clock else ())

    def one_key(self, table: TableKey) -> TableKey:
        """The one key of a table that a statement names."""
        if not table.is_name:
            return self.names.key_of(table)
        return self.names.key_of(self._in_its_catalog(table)) if self._is_told(table) else table

    def is_table(self, table: TableKey) -> bool:
        """Whether it is surely a table, not a view over others."""
        return not table.is_name or (
            self._is_told(table) and self.names.is_table(self._in_its_catalog(table))
        )

    def _is_told(self, name: TableKey) -> bool:
        """Whether the name means what a policy means by it. A name of one part may be in a schema that is not Spark's
        own."""
        return not self.moved and ("." in name.text or not self.settings.has_own_schema)

    def _in_its_catalog(self, name: TableKey) -> TableKey:
        catalog = self.settings.default_catalog
        return name if catalog is None else in_catalog(name, catalog)

    def known(self, table: TableKey) -> TableFacts | None:
        return self._unchanged(table, self._given(table))

    def known_source(self, table: TableKey) -> TableFacts | None:
        facts = self._unchanged(table, self._among(self.sources, table))
        return facts if facts is not None and facts.exists else None

    def _unchanged(self, table: TableKey, facts: TableFacts | None) -> TableFacts | None:
        if facts is None or (self.changed.keys and self.changed.may_hold(self.one_key(table))):
            return None
        return facts if facts.unread is None else None

    def declared_store(self, table: TableKey) -> LogStore | None:
        """The declared log store, which no table's log names and no change of metadata changes."""
        facts = self._given(table)
        return facts.log_store if facts is not None else None

    def table_id(self, table: TableKey) -> str | None:
        """The table's id. No change of a table undoes that two locations led to one log."""
        facts = self._given(table)
        return facts.table_id if facts is not None else None

    def ids_of(self, keys: Iterable[TableKey]) -> dict[TableKey, str]:
        """Ids of tables that are selected from, by the keys that `names` gives."""
        found = {key: self.sources.get(key) or self.facts.get(key) for key in keys}
        return {key: facts.table_id for key, facts in found.items() if facts is not None and facts.table_id}

    def missing(self, table: TableKey) -> str:
        """Why nothing is known of a table, as the end of a sentence."""
        if self.moved and table.is_name:
            return ": after a USE it is not known which table a name means"
        facts = self._given(table)
        return f": {facts.unread}" if facts is not None and facts.unread is not None else ""

    def selected_by(
        self, tree: exp.Expr | None, survey: Callable[[exp.Expr], TreeSummary] = TreeSummary
    ) -> Sources:
        """What a statement or a query selects from; `tree` is None if it is too large to be read."""
        if tree is None:
            return ANY_SOURCES

        def known(query: exp.Expr) -> TreeSummary:
            return self.surveys.get(id(query)) or survey(query)

        found = sources_of(tree, self.views, self.settings.spark, known, self.allowance)
        return replace(found, any_table=True) if self._looks_elsewhere_in_views else found

    @property
    def _looks_elsewhere_in_views(self) -> bool:
        """Whether a view's query may mean other tables by the same names."""
        catalog = self.settings.default_catalog
        return any(under.default_catalog != catalog for under in self.views_under.values())

    def _given(self, table: TableKey) -> TableFacts | None:
        return self._among(self.facts, table)

    def _among(self, facts: Mapping[TableKey, TableFacts], table: TableKey) -> TableFacts | None:
        return None if table.is_name and not self._is_told(table) else facts.get(self.one_key(table))


def place(statement: Statement) -> str:
    return f"statement {statement.number}, line {statement.line}"


@dataclass(frozen=True)
class StatementContext:
    statement: Statement
    written: TableKey
    """The table as the statement names it."""
    around: Surroundings
    end: int = 0
    """Position of the token after the table's name."""
    field: str | None = None
    """The text's place in the spec; None for a statement of a script."""

    @property
    def place(self) -> str:
        return place(self.statement) if self.field is None else self.field

    def refused(self, why: str) -> NotUnderstoodError:
        return NotUnderstoodError(f"{self.place}: {why}")

    @cached_property
    def key(self) -> TableKey:
        return self.around.one_key(self.written)

    @cached_property
    def facts(self) -> TableFacts | None:
        return self.around.known(self.written)

    @cached_property
    def unread(self) -> str | None:
        """Why the statement is too large to be read; None if it isn't."""
        if self.statement.is_beyond:
            return f"the script has more than {MAX_TOKENS} tokens up to here"
        return self.statement.once("excess", lambda: excess(self._all_tokens, "the statement"))

    @property
    def _all_tokens(self) -> tuple[Token, ...]:
        return (*self.statement.common, *self.statement.tokens)

    @cached_property
    def tree(self) -> exp.Expr:
        """The statement's tree; use it only if the statement is not `unread`. Its nodes know their lines in the whole
        script."""
        tree = self.statement.once("tree", self._tree)
        if not self.around.cautious and self.statement.once(
            "asks", lambda: asks_other_tables(self.survey(tree))
        ):
            raise self.refused(_NO_SUBQUERY)
        if self.statement.common:
            self._refuse_names_of_two_things(tree)
        return tree

    def _tree(self) -> exp.Expr:
        try:
            tokens = (*self.statement.common, *_parsed(self.statement.tokens))
            tree = statement_in(tokens, self.statement.text)
        except PredicateError as error:
            raise self._unreadable(error) from error
        why = foreign(self._all_tokens, self.survey(tree))
        if why is not None:
            raise self.refused(why)
        return tree

    def survey(self, tree: exp.Expr) -> TreeSummary:
        """What a walk over the tree finds; a view's tree belongs to another statement, and the survey keeps it, so that no
        other tree gets its identity."""
        known = self.around.surveys.get(id(tree))
        return known or self.statement.once(("survey", id(tree)), lambda: TreeSummary(tree))

    def common_table(self, table: exp.Table, *, case_sensitive: bool = False) -> exp.CTE | None:
        """The common table that a name in the statement, or in a view, refers to."""
        known = self.statement.once("common tables", CommonTables)
        return known.named(table, case_sensitive=case_sensitive)

    def stranger_in(self, part: exp.Expr) -> exp.Expr | None:
        """A node of the part that isn't understood: none where the whole tree has none."""
        return stranger(part) if self.survey(part.root()).strangers else None

    def _refuse_names_of_two_things(self, tree: exp.Expr) -> None:
        """Refuses names that mean two tables: the parser merges the WITH before the statement with the one in its
        query, inner names last."""
        found = tree.args.get("with_")
        names = [common.alias_or_name.lower() for common in found.expressions] if found is not None else []
        names += [self.key.text] if self.key.is_name else []
        twice = next((name for name, times in Counter(names).items() if times > 1), None)
        if twice is not None:
            raise self.refused(f"{twice} is the name of two tables here: give each WITH name a different one")

    @cached_property
    def rows_known(self) -> dict[int, tuple[exp.Expr, Any]]:
        """What is known of the rows of queries within the statement, by the identity of their nodes."""
        return {}

    @cached_property
    def conditions_known(
        self,
    ) -> dict[tuple[int, frozenset[str] | None], tuple[object, Mapping[str, tuple[exp.Expr, ...]]]]:
        """What conditions say of each column, by the conditions' identity and the names that they may use for its
        table."""
        return {}

    @cached_property
    def subjects_known(self) -> dict[int, tuple[exp.Expr, Any]]:
        """What each condition within the statement is about, by the conditions' identity."""
        return {}

    @cached_property
    def calls_known(
        self,
    ) -> dict[tuple[int, frozenset[str]], tuple[object, Mapping[tuple[object, ...], tuple[exp.Expr, ...]]]]:
        """What conditions say of the value of each call, by the conditions' identity and the names of their one relation."""
        return {}

    @cached_property
    def bounds_known(self) -> dict[tuple[int, ColumnType | None, str], tuple[object, Predicate]]:
        """What conditions say of a column of the table that is written, by the conditions' identity and the type of theirs."""
        return {}

    @cached_property
    def told_by(self) -> dict[TableKey, TableFacts]:
        """Sources whose columns were used to tell where rows land."""
        return {}

    def columns_of(self, node: exp.Table) -> TableFacts | None:
        """What is known of a table in a query, its own or another; None for any version but the newest."""
        if is_of_a_version(node):
            return None
        if self.names_own_table(node):
            return self.facts
        key = key_of_node(node)
        facts = None if key is None else self.around.known_source(key)
        if key is not None and facts is not None:
            self.told_by[self.around.one_key(key)] = facts
        return facts

    def condition(self, start: int, end: int) -> exp.Expr:
        """The condition in the tokens from `start` to `end` of a statement that is not `unread`. It knows its lines
        as `tree` does."""
        found = self.statement.once(("condition", start, end), lambda: self._condition(start, end))
        if not self.around.cautious and holds_a_query(found):
            raise self.refused(_NO_SUBQUERY)
        return found

    def _condition(self, start: int, end: int) -> exp.Expr:
        try:
            return condition_among(self.statement.tokens[start:end], self.statement.text)
        except PredicateError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: PredicateError) -> NotUnderstoodError:
        return NotUnderstoodError(f"{at(self.place, error)}. {IF_SPARK_DOES}")

    # -------------------------------------------------------------------------------------------------- conditions

    def predicate(
        self,
        condition: str | exp.Expr,
        names: Collection[str] = (),
        others: Collection[str] | None = (),
    ) -> Predicate:
        """Returns the predicate that a condition states. Text that is not a condition is refused even where nothing
        is known of the table."""
        try:
            node = condition_in(condition) if isinstance(condition, str) else condition
            return Anything(node) if isinstance(node, str) else self._predicate(node, names, others)
        except PredicateError as error:
            raise at(self.place, error) from error

    def _predicate(
        self, condition: exp.Expr, names: Collection[str], others: Collection[str] | None
    ) -> Predicate:
        if self.facts is None or not self.facts.columns.columns:
            return Anything(
                f"nothing is known of {self.written}, whose partition columns are needed to tell writes apart"
                f"{self.around.missing(self.written)}"
            )
        unknown = self.around.settings.changes_anything
        if unknown is not None:
            return Anything(f"{unknown} may change what conditions mean")
        return parse(
            condition,
            self.facts.columns,
            session=replace(self.around.settings.session, days=self.around.days),
            names=names,
            others=others,
        )

    @property
    def whenever_it_runs(self) -> "StatementContext":
        """The statement read for any day: by a condition that Delta works out at the statement's end, or whose exact rows count."""
        return replace(self, around=replace(self.around, days=()))

    def recorded(self, predicate: Predicate) -> Region:
        """The partitions recorded for a condition, assuming no more than what an engine of which little is known
        surely does."""
        return self.scanned(from_conjuncts(predicate, simplified=False))

    def scanned(self, predicate: Predicate) -> Region:
        """The partitions that Delta records for a scan: everything without partition columns, even for `WHERE false`.
        Delta compares the partitions' values in the log, and '' is never one of them."""
        return EVERYTHING if self.is_unpartitioned else there(predicate)

    @property
    def _compacts(self) -> bool:
        """Whether Delta compacts after the commit: the session or the table may say so, and a table of which nothing
        is known may."""
        if self.around.settings.compacts or self.facts is None:
            return True
        return any(self.facts.properties.get(name, "false").lower() != "false" for name in _COMPACT)

    def _sources(self, operation: Operation) -> Sources:
        if operation in MAY_SELECT and self.unread is not None:
            return ANY_SOURCES
        if "tree" not in self.__dict__:
            return NO_SOURCES
        if self.around.views:
            return self.around.selected_by(self.tree, self.survey)
        spark = self.around.settings.spark
        return self.statement.once(
            ("sources", spark), lambda: self.around.selected_by(self.tree, self.survey)
        )

    def names_own_table(self, node: exp.Table) -> bool:
        """Whether a table in a query is surely the one that the statement writes."""
        key = key_of_node(node)
        return key is not None and self.around.one_key(key) == self.key

    @property
    def own_names(self) -> tuple[str, ...]:
        """The names that the statement may use for its table without an alias."""
        name = self.written.text
        return (name, name.rpartition(".")[2]) if self.written.is_name else ()

    def _keeps_partition_columns(self, operation: Operation) -> bool:
        """Whether the statement surely does: there are none, or it writes rows and no type may grow by them."""
        facts = self.facts
        if facts is None or self.is_unpartitioned:
            return facts is not None
        return operation in WRITES_ROWS and not facts.enabled("delta.enableTypeWidening")

    @property
    def is_unpartitioned(self) -> bool:
        """Whether the table is known to have no partition columns."""
        return self.facts is not None and not self.facts.columns.partition_columns

    # -------------------------------------------------------------------------------------------------- results

    def footprint(self, operation: Operation, **fields: Any) -> TableFootprint:
        facts = self.facts
        store = log_store_for(
            self.key,
            self.around.settings.conf,
            self.around.declared_store(self.written),
            all_settings=self.around.has_all_settings,
        )
        not_understood = tuple(dict.fromkeys(fields.pop("not_understood", ())))
        widened = tuple(dict.fromkeys((*not_understood, *_reasons(fields))))
        if facts is not None and not facts.exists:
            fields = {**fields, "creates": True}
        fields.setdefault("keeps_partition_columns", self._keeps_partition_columns(operation))
        if self.around.days:  # on a single day it touches less than on one of several
            fields = {**fields, "certain": False, "adds_surely": False}
        advice = fields.pop("reads_advice", None)
        if advice is None and facts is None:
            elsewhere = self.around.moved and self.key.is_name
            advice = LOOKED_UP_ELSEWHERE if elsewhere else how_to_know(self.key, operation)
        if advice is None:
            advice = how_to_bind(widened)
        lands = fields.get("adds")
        told = isinstance(lands, Region) and not (lands.is_empty or lands.is_everything)
        sources: Sources = fields.pop("sources", None) or self._sources(operation)
        return TableFootprint(
            table=self.key,
            statement=self.statement.number,
            operation=operation,
            write_serializable=facts is not None and facts.write_serializable,
            facts=facts,
            table_id=self.around.table_id(self.written),
            previews_rows=self.around.settings.previews_rows,
            compacts=self._compacts,
            log_store=store,
            lock_table=lock_table_of(self.around.settings.conf) if store is LogStore.S3_DYNAMODB else "",
            widened=widened[:16],
            not_understood=not_understood[:16],
            reads_advice=advice,
            sources=sources.under(self.around.one_key),
            told_by=tuple(self.told_by) if told else (),
            **fields,
        )


_NO_SUBQUERY = (
    "Delta refuses a subquery in the condition by which a statement finds its rows: write a MERGE with the query as its "
    "source"
)
_COMPACT = ("delta.autoOptimize.autoCompact", "delta.autoOptimize")


_UNPARSED = (["WITH", "SCHEMA", "EVOLUTION"], ["IF", "NOT", "EXISTS"])


def _parsed(tokens: tuple[Token, ...]) -> list[Token]:
    """Removes words after the verb or after PARTITION (...) that the parser does not know and that do not change
    where rows land."""
    if [word(token) for token in tokens[1:4]] == _UNPARSED[0]:
        return [tokens[0], *tokens[4:]]
    if tokens and word(tokens[0]) == "INSERT":
        outside = list(islice(outside_parentheses(tokens), 16))
        for number in range(len(outside) - 2):
            if [text for _, text in outside[number : number + 3]] == _UNPARSED[1]:
                start = outside[number][0]
                return [*tokens[:start], *tokens[start + 3 :]]
    return list(tokens)


def _reasons(fields: Mapping[str, Any]) -> tuple[str, ...]:
    regions = (fields.get(name) for name in ("reads", "reads_files", "adds", "removes"))
    return tuple(reason for region in regions if isinstance(region, Region) for reason in region.reasons)


def partitions(predicate: Predicate) -> Region:
    """The partitions where new rows that match land."""
    return compiled(predicate).on_partitions()


def there(predicate: Predicate) -> Region:
    """The partitions where the table's matching rows are: '' was written as NULL and is no longer found."""
    return compiled(predicate, stored=False).on_partitions()


def not_understood(footprint: TableFootprint, why: str) -> TableFootprint:
    """Returns the footprint with one more reason for which nobody can say what the statement does."""
    return replace(
        footprint,
        widened=tuple(dict.fromkeys((*footprint.widened, why)))[:16],
        not_understood=tuple(dict.fromkeys((*footprint.not_understood, why)))[:16],
    )
