"""MERGE: a bound on its reads is no bound on its writes, because rows that match nothing land where the source says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sluice.api.job import Operation
from sluice.footprint.model import NOTHING, Parts, TableFootprint
from sluice.footprint.queries.cells import Cell, Constant, called, conditions_on, says
from sluice.footprint.queries.reads import Reads, reads_of
from sluice.footprint.queries.rows import ANY_ROW, Row, rows_of, said_of
from sluice.footprint.regions import EVERYTHING, because, united
from sluice.footprint.sql.advice import APART_FROM_BY_SOURCE, BY_SOURCE, how_to_name_partitions
from sluice.footprint.sql.nodes import UNDERSTOOD, has_only
from sluice.footprint.sql.statement_context import StatementContext, partitions, there
from sluice.footprint.statements.delete_update import assignments, columns_named, moved, names_of
from sluice.footprint.statements.insert import adds_identity, evolution, how_to_be_understood
from sluice.footprint.statements.row_level_statements import against_rows, filters_target
from sluice.predicates import (
    ALWAYS,
    Predicate,
    Region,
    conjunction,
    disjunction,
    from_conjuncts,
)
from sluice.predicates.limits import MAX_CLAUSES, MAX_ROWS, MAX_WORK
from sluice.predicates.syntax import conjuncts
from sluice.predicates.tree import size


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
    def updates(self) -> bool:
        return isinstance(self.then, exp.Update)

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

    @property
    def is_spark(self) -> bool:
        """Whether Spark has such a clause: the parser also accepts INSERT for rows that match, and words of other
        dialects."""
        then = self.node.args.get("then")
        if not has_only(self.node, UNDERSTOOD):
            return False
        if self.inserts:
            return isinstance(then, exp.Insert) and has_only(then, UNDERSTOOD) and self._inserts_plainly(then)
        if isinstance(then, exp.Update) and has_only(then, UNDERSTOOD):
            return _is_all(then.expressions) or all(isinstance(node, exp.EQ) for node in then.expressions)
        return isinstance(then, exp.Var) and then.name.upper() == "DELETE"

    def _inserts_plainly(self, then: exp.Insert) -> bool:
        if isinstance(then.this, exp.Star):
            return _is_all([then.this]) and then.expression is None
        columns, values = then.this, then.expression
        return (
            isinstance(columns, exp.Tuple)
            and isinstance(values, exp.Tuple)
            and len(columns.expressions) == len(values.expressions)
        )


def _is_all(nodes: Sequence[exp.Expr]) -> bool:
    return len(nodes) == 1 and isinstance(nodes[0], exp.Star) and not any(nodes[0].args.values())


class _Merge:
    def __init__(self, reading: StatementContext, tree: exp.Merge) -> None:
        self.reading = reading
        self.clauses = [_Clause(node) for node in tree.args["whens"].expressions]
        self.names = names_of(tree.this, reading)
        source = tree.args["using"]
        self.alias = source.alias_or_name
        self.others = _names_of_source(source)
        self.conditions = [tree.args["on"], *(clause.condition for clause in self.clauses)]
        self.on = reading.predicate(tree.args["on"], self.names, self.others)
        self._known: dict[int, Predicate] = {}
        rows = rows_of(source, reading)
        if rows is not None and len(rows) * len(self.clauses) > MAX_ROWS:
            rows = None
        self.known = bool(rows)
        self.rows: tuple[Row, ...] = rows or (ANY_ROW,)

    def reads(self) -> Region:
        """What it reads, as open-source Delta records it: by ON, and also by the clauses' conditions if all clauses
        are WHEN MATCHED. For other engines it is only documented that the merge condition counts."""
        if self.by_source:
            return because(EVERYTHING, BY_SOURCE)
        return self.reads_by_on()

    @property
    def by_source(self) -> bool:
        return any(clause.by_source for clause in self.clauses)

    def reads_by_on(self) -> Region:
        """What it reads without its WHEN NOT MATCHED BY SOURCE."""
        simplified = not self.reading.around.cautious
        parts: list[Predicate] = [from_conjuncts(self.on, simplified=simplified)]
        if simplified and all(clause.matched or clause.by_source for clause in self.clauses):
            parts.append(
                disjunction(
                    from_conjuncts(self._of(clause), simplified=False)
                    for clause in self.clauses
                    if clause.matched
                )
            )
        return self.reading.scanned(conjunction(parts))

    def rewrites(self) -> Region:
        """Where files are rewritten. Delta rewrites all files in which a row matches ON, whether or not a clause's
        condition holds for it, unless all clauses are WHEN MATCHED; with BY SOURCE it takes all files."""
        return EVERYTHING if self.by_source else self.rewrites_by_on()

    def rewrites_by_on(self) -> Region:
        """Where it rewrites files without its WHEN NOT MATCHED BY SOURCE."""
        if any(clause.inserts for clause in self.clauses):
            matched = any(clause.matched for clause in self.clauses)
            return there(self.on) if matched else NOTHING
        return united(self._matching)

    @cached_property
    def _matching(self) -> Sequence[Region]:
        """For each clause for rows that match, where they are: by ON alone, if ON is too large to be read once for each."""
        matched = [clause for clause in self.clauses if clause.matched]
        if size(self.on) * len(matched) > MAX_WORK // 4:
            return [there(self.on)] * len(matched)
        return [there(conjunction([self.on, self._of(clause)])) for clause in matched]

    @cached_property
    def _changes(self) -> Region:
        """Where rows are updated or deleted."""
        matching = iter(self._matching)
        return united(
            next(matching) if clause.matched else there(self._of(clause))
            for clause in self.clauses
            if clause.matched or clause.by_source
        )

    @cached_property
    def brings(self) -> Region:
        """Where it inserts rows or moves them to."""
        return united(brought for _, brought in self._brought)

    @cached_property
    def _brought(self) -> list[tuple[_Clause, Region]]:
        return [(clause, self._brought_by(clause)) for clause in self.clauses]

    def _brought_by(self, clause: _Clause) -> Region:
        if clause.inserts:
            return self._inserted(clause)
        if not clause.updates:
            return NOTHING
        names = self._partitions if clause.sets_all else self._given(clause)
        return moved(self.reading, self._changes, names, self._values(clause))

    def how_to_bring_less(self) -> str | None:
        """Names the clauses that bring rows anywhere and can say of the source's rows which they bring."""
        anywhere = [clause for clause, brought in self._brought if brought.is_everything]
        kinds = {
            "WHEN NOT MATCHED" if clause.inserts else "WHEN MATCHED"
            for clause in anywhere
            if not clause.by_source
        }
        promise = self.reading.around.promised_in
        if not anywhere:
            return None
        if not kinds:
            return f"say where its new rows land: {promise}"
        clauses = " and ".join(sorted(kinds))
        return (
            f"say where its new rows land: with a condition on the source's column in {clauses}, a filter in the source query, "
            f"or {promise}"
        )

    def how_to_read_less(self) -> str | None:
        """Advises how to read less. With BY SOURCE a condition in ON does not help, and changes which rows match; another MERGE
        for these rows reads less only if their own condition names partitions."""
        if not self.by_source:
            return self._how_to_name_partitions()
        if not _has_partitions(self.reading) or self._unmatched.is_everything:
            return None
        if self._reads_of_the_rest is None:
            rest = self._how_to_name_partitions()
            return None if rest is None else f"{APART_FROM_BY_SOURCE}; of the rest, {rest}"
        return APART_FROM_BY_SOURCE

    def _how_to_name_partitions(self) -> str | None:
        understood, facts = how_to_be_understood(partitions(self.on)), self.reading.facts
        if understood is not None or facts is None:
            return understood
        return how_to_name_partitions(facts.columns.partition_columns, next(iter(self.names), None))

    @cached_property
    def _unmatched(self) -> Region:
        """Where WHEN NOT MATCHED BY SOURCE changes rows, by its own conditions."""
        return united(there(self._of(clause)) for clause in self.clauses if clause.by_source)

    @cached_property
    def _reads_of_the_rest(self) -> Region | None:
        """What it reads but for WHEN NOT MATCHED BY SOURCE; None if that is all of the table."""
        if all(clause.by_source for clause in self.clauses):
            return NOTHING
        found = self.reads_by_on()
        return None if found.is_everything else found

    def parts(self, condition: Region, source: Reads) -> Parts:
        if not self.by_source:
            return Parts(condition, source.by_name, source.known, self.brings)
        reads, rewrites = [source.known, self._unmatched], [self._unmatched]
        if self._reads_of_the_rest is not None:  # else it is advised on as well
            reads.append(self._reads_of_the_rest)
            rewrites.append(self.rewrites_by_on())
        return Parts(condition, source.by_name, united(reads), self.brings, united(rewrites))

    def brings_rows_anywhere(self, rewritten: Region) -> bool:
        """Whether it may bring rows anywhere; rows that it only updates or deletes stay where they were."""
        return not rewritten.is_everything or any(clause.inserts for clause in self.clauses)

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
        known = id(clause.node)
        if known not in self._known:
            names = () if clause.inserts else self.names
            self._known[known] = self.reading.predicate(clause.condition, names, self.others)
        return self._known[known]

    def _named(self, clause: _Clause) -> Sequence[str] | None:
        """The columns that get values; None if they aren't known."""
        if clause.sets_all:
            row = self.rows[0]
            return [name for name, _ in row.cells] if self.known and row.others is None else None
        return list(self._given(clause))

    def _given(self, clause: _Clause) -> Mapping[str, exp.Expr]:
        """The lower-cased columns and their values in a clause that lists them."""
        if clause.updates:
            return assignments(clause.then.expressions, self.names, self.reading)
        found = {}
        values = clause.then.expression.expressions
        for node, value in zip(clause.then.this.expressions, values, strict=True):
            columns = columns_named(node, self.names, self.reading)
            if not columns:
                raise self.reading.refused(f"{node.sql('spark')}: write names of columns after INSERT")
            found.update(dict.fromkeys(columns, value))
        return found

    def _inserted(self, clause: _Clause) -> Region:
        if self.reading.facts is None:
            return EVERYTHING
        columns = self.reading.facts.columns.partition_columns
        return partitions(
            disjunction(
                conjunction(says(row.get(c.name.lower()), c, self.reading) for c in columns)
                for row in self._values(clause)
            )
        )

    @property
    def _partitions(self) -> Sequence[str]:
        facts = self.reading.facts
        return [] if facts is None else [column.name.lower() for column in facts.columns.partition_columns]

    def _values(self, clause: _Clause) -> list[Mapping[str, Cell]]:
        """What the clause puts into columns, for each of the source's rows that may reach it."""
        fixed: dict[str, Cell] = {}
        taken = {name: name for name in self._partitions} if clause.sets_all else {}
        for name, node in {} if clause.sets_all else self._given(clause).items():
            if not isinstance(node, exp.Column) or node.args.get("db"):
                fixed[name] = Constant(node)
            elif node.table.lower() == self.alias.lower() or (clause.inserts and not node.table):
                taken[name] = node.name
        conditions = self._said_by(clause) if taken else ()
        said = [
            (name, source, conditions_on(self.reading, conditions, source)) for name, source in taken.items()
        ]
        return [
            fixed
            | {
                name: said_of(row.named(source, self.reading), of_it, self.reading)
                for name, source, of_it in said
            }
            for row in self.rows
        ]

    def _said_by(self, clause: _Clause) -> tuple[exp.Expr, ...]:
        """What the clause's condition says of the source, and ON as well for rows that match."""
        conditions = [
            *conjuncts(clause.condition),
            *(self._on_parts if clause.matched else ()),
        ]
        calls = {self.alias.lower(), *([""] if clause.inserts else [])}
        return called(conditions, calls, self.reading)

    @cached_property
    def _on_parts(self) -> tuple[exp.Expr, ...]:
        return conjuncts(self.conditions[0])


def _names_of_source(source: exp.Expr) -> list[str] | None:
    """The names of the source; None if it has none that can be told from the target's."""
    if source.alias:
        return [source.alias]
    if isinstance(source, exp.Table) and "/" not in source.name:
        return [".".join(part.name for part in source.parts)]
    return None


def _has_partitions(reading: StatementContext) -> bool:
    """Whether the table has partitions, or may have them because nothing is known of it."""
    return reading.facts is None or bool(reading.facts.columns.partition_columns)


def merge(reading: StatementContext) -> TableFootprint:
    if reading.unread is not None:
        metadata = evolution(reading, identity=adds_identity(reading, None))
        return reading.footprint(Operation.MERGE, metadata=metadata, not_understood=(reading.unread,))
    tree = reading.tree
    if (
        not isinstance(tree, exp.Merge)
        or not has_only(tree, UNDERSTOOD)
        or tree.args.get("whens") is None
        or not isinstance(tree.args.get("on"), exp.Expr)
    ):
        raise reading.refused("the MERGE is not understood: write it more simply, or declare spec.footprint")
    if not all(_Clause(node).is_spark for node in tree.args["whens"].expressions):
        raise reading.refused(
            "a clause of the MERGE is not understood: write UPDATE SET or DELETE after THEN, and after WHEN NOT "
            "MATCHED an INSERT with as many values as columns"
        )
    if len(tree.args["whens"].expressions) > MAX_CLAUSES:
        metadata = evolution(reading, identity=adds_identity(reading, None))
        why = f"the MERGE has more than {MAX_CLAUSES} clauses"
        return reading.footprint(Operation.MERGE, metadata=metadata, not_understood=(why,))
    found = _Merge(reading, tree)
    source = reads_of(tree, reading, written=tree.this)
    recorded = found.reads()
    reads = united([recorded, source.region])
    rewritten = found.rewrites()
    adds = united([rewritten, found.brings])
    return reading.footprint(
        Operation.MERGE,
        reads=reads,
        reads_files=reads,
        adds=adds,
        removes=rewritten,
        metadata=evolution(reading, identity=found.generates_identity()),
        not_by_row=found.against_rows(),
        not_understood=source.widened,
        parts=found.parts(recorded, source),
        reads_advice=found.how_to_read_less() if recorded.is_everything else None,
        writes_advice=found.how_to_bring_less()
        if adds.is_everything and found.brings_rows_anywhere(rewritten) and _has_partitions(reading)
        else None,
    )
