"""MERGE: what bounds its reads does not bound its writes, because rows that match nothing land where the source says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sluice.api.job import Operation
from sluice.footprint.model import NOTHING, TableFootprint
from sluice.footprint.queries.cells import Cell, Constant, FromTable, says
from sluice.footprint.queries.reads import reads_of
from sluice.footprint.queries.rows import Row, rows_of
from sluice.footprint.regions import EVERYTHING, united, without
from sluice.footprint.sql.reading import Reading, partitions, there
from sluice.footprint.statements.by_row import against_rows, filters_target
from sluice.footprint.statements.change import assignments, follows, moved, names_of
from sluice.footprint.statements.insert import adds_identity, evolution, pin_advice, refuse_unknown
from sluice.predicates import (
    ALWAYS,
    Predicate,
    Region,
    conjunction,
    disjunction,
    from_conjuncts,
    overlap,
)
from sluice.predicates.syntax import conjuncts
from sluice.tables import TableFacts

_MANY = 1000
"""Rows of a source times clauses that are read one by one."""


@dataclass(frozen=True)
class _Clause:
    node: exp.When

    @property
    def matched(self) -> bool:
        return bool(self.node.args.get("matched"))

    @property
    def by_source(self) -> bool:
        return not self.matched and bool(self.node.args.get("source"))

    @property
    def inserts(self) -> bool:
        return not self.matched and not self.by_source

    @property
    def does_nothing_known(self) -> bool:
        then = self.node.args.get("then")
        if self.inserts:
            return not isinstance(then, exp.Insert) or not isinstance(then.this, exp.Star | exp.Tuple)
        return not isinstance(then, exp.Update) and not (isinstance(then, exp.Var) and then.name == "DELETE")

    @property
    def condition(self) -> exp.Expr | None:
        condition = self.node.args.get("condition")
        return condition if isinstance(condition, exp.Expr) else None

    @property
    def then(self) -> exp.Expr:
        then = self.node.args["then"]
        assert isinstance(then, exp.Expr)  # noqa: S101 - sqlglot's type is loose
        return then

    @property
    def sets_all(self) -> bool:
        return any(isinstance(node, exp.Star) for node in (*self.then.expressions, self.then.this))


class _Merge:
    def __init__(self, reading: Reading, tree: exp.Merge) -> None:
        self.reading = reading
        self.clauses = [_Clause(node) for node in tree.args["whens"].expressions]
        self.names = names_of(tree.this, reading)
        source = tree.args["using"]
        self.alias = source.alias_or_name
        self.others = _names_of_source(source)
        self.conditions = [tree.args["on"], *(clause.condition for clause in self.clauses)]
        self.on = reading.predicate(tree.args["on"], self.names, self.others)
        rows = rows_of(source, reading)
        if rows is not None and len(rows) * len(self.clauses) > _MANY:
            rows = None
        self.known = bool(rows)
        self.rows: tuple[Row, ...] = rows or (Row((), star=FromTable("*", (), own=False)),)

    def reads(self) -> Region:
        """As open-source Delta records it: by ON, and by the clauses' conditions if rows are only ever matched. Of other
        engines it is only written that the merge condition counts."""
        if any(clause.by_source for clause in self.clauses):
            return EVERYTHING
        simplified = not self.reading.around.cautious
        parts: list[Predicate] = [from_conjuncts(self.on, simplified=simplified)]
        if simplified and all(clause.matched for clause in self.clauses):
            parts.append(
                disjunction(from_conjuncts(self._of(clause), simplified=False) for clause in self.clauses)
            )
        return self.reading.scanned(conjunction(parts))

    def rewrites(self) -> Region:
        """Where files are written anew. Delta does so with all files in which a row matches ON, whether or not a clause's
        condition holds for it, unless there are no clauses but WHEN MATCHED; with BY SOURCE it takes all files."""
        if any(clause.by_source for clause in self.clauses):
            return EVERYTHING
        if any(clause.inserts for clause in self.clauses):
            matched = any(clause.matched for clause in self.clauses)
            return there(self.on) if matched else NOTHING
        return self._changes

    @cached_property
    def _changes(self) -> Region:
        """Where rows are updated or deleted."""
        found = []
        for clause in self.clauses:
            if clause.matched:
                found.append(there(conjunction([self.on, self._of(clause)])))
            elif clause.by_source:
                found.append(there(self._of(clause)))
        return united(found)

    def adds(self, rewritten: Region) -> Region:
        return united([rewritten, *self._moves(self._changes), *self._inserts()])

    def against_rows(self) -> str | None:
        why = against_rows(self.reading, self.conditions)
        if why is None and not filters_target(self.conditions[0], self.names):
            return "its condition has no predicate on the target alone"
        return why

    def generates_identity(self) -> bool:
        return any(
            clause.inserts and adds_identity(self.reading, self._named(clause)) for clause in self.clauses
        )

    def _of(self, clause: _Clause) -> Predicate:
        if clause.condition is None:
            return ALWAYS
        return self.reading.predicate(clause.condition, () if clause.inserts else self.names, self.others)

    def _named(self, clause: _Clause) -> list[str] | None:
        if clause.sets_all:
            return (
                [name for name, _ in self.rows[0].cells] if self.known and self.rows[0].star is None else None
            )
        return [column.name for column in clause.then.this.expressions]

    def _moves(self, changed: Region) -> Iterator[Region]:
        facts = self.reading.facts
        for clause in self.clauses:
            if clause.inserts or not isinstance(clause.then, exp.Update):
                continue
            if facts is None:
                yield EVERYTHING
            elif clause.sets_all:
                names = [column.name for column in facts.columns.partition_columns]
                values = [(name, None) for name in names]
                yield overlap(without(changed, names), self._landing(clause, values, from_source=True))
            else:
                yield from self._sets(clause, facts, changed)

    def _sets(self, clause: _Clause, facts: TableFacts, changed: Region) -> Iterator[Region]:
        given = assignments(clause.then.expressions, self.names, self.reading)
        plain = {name: node for name, node in given.items() if not self._of_source(node)}
        sourced = [(name, node) for name, node in given.items() if name not in plain]
        yield moved(self.reading, changed, plain)
        columns = [column.name for column in facts.columns.partition_columns]
        if any(name.lower() in (column.lower() for column in columns) for name, _ in sourced):
            follow = [column for column in columns if follows(facts, column, given)]
            yield overlap(
                without(changed, [*given, *follow]), self._landing(clause, sourced, from_source=False)
            )
        elif any(follows(facts, column, [name for name, _ in sourced]) for column in columns):
            yield without(changed, [column for column in columns if follows(facts, column, given)])

    def _inserts(self) -> Iterator[Region]:
        for clause in self.clauses:
            if not clause.inserts:
                continue
            facts = self.reading.facts
            if facts is None:
                yield EVERYTHING
            elif clause.sets_all:
                columns = [(column.name, None) for column in facts.columns.partition_columns]
                yield self._landing(clause, columns, from_source=True)
            else:
                names = self._named(clause) or []
                refuse_unknown(self.reading, names)
                values = clause.then.expression.expressions if clause.then.expression is not None else []
                given = {name.lower(): value for name, value in zip(names, values, strict=False)}
                wanted = [(c.name, given.get(c.name.lower())) for c in facts.columns.partition_columns]
                yield self._landing(clause, wanted, from_source=False)

    def _landing(
        self, clause: _Clause, columns: Sequence[tuple[str, exp.Expr | None]], *, from_source: bool
    ) -> Region:
        """Where these columns' values put rows; by name from the source, or by the value given for each."""
        facts = self.reading.facts
        if facts is None:
            return EVERYTHING
        conditions = conjuncts(clause.condition) if clause.inserts else ()
        alternatives = []
        for row in self.rows:
            parts = []
            for name, node in columns:
                column = facts.columns.find(name)
                if column is None or not column.is_partition:
                    continue
                source = name if from_source else self._source_column(node)
                cell = self._from_row(row, source) if source else None if node is None else Constant(node)
                parts.append(says(cell, column, self.reading))
                if source:
                    about = tuple(c for c in conditions if self._is_about_source(c))
                    parts.append(says(FromTable(source, about, own=False), column, self.reading))
            alternatives.append(conjunction(parts))
        return partitions(disjunction(alternatives))

    def _from_row(self, row: Row, name: str) -> Cell:
        return row.named(name)

    def _source_column(self, node: exp.Expr | None) -> str | None:
        if (
            isinstance(node, exp.Column)
            and node.table.lower() in ("", self.alias.lower())
            and not node.args.get("db")
        ):
            return node.name
        return None

    def _of_source(self, node: exp.Expr) -> bool:
        return isinstance(node, exp.Column) and bool(node.table) and node.table.lower() == self.alias.lower()

    def _is_about_source(self, condition: exp.Expr) -> bool:
        return all(c.table.lower() in ("", self.alias.lower()) for c in condition.find_all(exp.Column))


def _names_of_source(source: exp.Expr) -> list[str] | None:
    """None where it has no name that could be told from the target's."""
    if source.alias:
        return [source.alias]
    if isinstance(source, exp.Table) and "/" not in source.name:
        return [".".join(part.name for part in source.parts)]
    return None


def merge(reading: Reading) -> TableFootprint:
    if reading.unread is not None:
        metadata = evolution(reading, identity=adds_identity(reading, None))
        return reading.footprint(Operation.MERGE, metadata=metadata, widened=(reading.unread,))
    tree = reading.tree
    if not isinstance(tree, exp.Merge) or tree.args.get("whens") is None or tree.args.get("on") is None:
        raise reading.refused("the MERGE is not understood: write it plainly, or declare spec.footprint")
    if any(_Clause(node).does_nothing_known for node in tree.args["whens"].expressions):
        raise reading.refused(
            "a clause of the MERGE is not understood: after THEN follows UPDATE SET or DELETE, of WHEN NOT MATCHED an INSERT"
        )
    found = _Merge(reading, tree)
    source = reads_of(tree, reading, written=tree.this)
    recorded = found.reads()
    reads = united([recorded, source.region])
    rewritten = found.rewrites()
    adds = found.adds(rewritten)
    return reading.footprint(
        Operation.MERGE,
        reads=reads,
        reads_files=reads,
        adds=adds,
        removes=rewritten,
        metadata=evolution(reading, identity=found.generates_identity()),
        not_by_row=found.against_rows(),
        widened=source.widened,
        reads_advice=pin_advice(reading, partitions(found.on)) if recorded.is_everything else None,
        writes_advice="say where its new rows land: spec.writes, a condition on the source's column in WHEN NOT MATCHED, "
        "or a filter in the source query"
        if adds.is_everything
        else None,
    )
