"""Three-valued predicate logic over a table's columns: what a Spark SQL condition says, and whether two can meet.

    table = Table.of({"date": "date", "region": "string", "k": "int"}, partition_columns=["date", "region"])
    p = parse("date = DATE '2026-11-19' AND k > 5", table, session=Session("UTC", ansi=True))
    r = compiled(p).on_partitions()            # a Region: compile once, ask often
    disjoint(r, compiled(parse("date = DATE '2026-11-20'", table)))    # True: no row can match both
    to_sql(overlap(r, r))                      # "date = DATE '2026-11-19'"

The one promise: **an answer that forbids is never wrong.** `disjoint` and `covers` say True only if it holds for
every row that Spark could ever see; `False` means "can't be shown". Whatever isn't understood is `Anything(reason)`,
and `reasons(p)` (or `Region.reasons`) tells people why. A condition that makes no sense at all (unknown column, `date
= 'banana'`, left-over template, a parameter without its value) raises `PredicateError` with line, column and message, and nothing
else is raised for bad input.

For those who write footprints:

- Whole statements are parsed by `syntax.statement_in`, after `limits.excess` said None and `refuse_templates` returned; hand the
  condition's node to `parse`. Never call sqlglot's parser yourself, which throws anything, nor its optimizer: it is unsound here.
- `names` are the table's own names in the statement (alias, or dotted name), `others` those of every other relation in scope (a
  MERGE's source; `None` if unknown). Their columns become `Anything`. In `WHEN NOT MATCHED` only the source's columns
  are in scope: parse that condition with the *source's* columns as the table.
- What a transaction **reads** is what Delta makes of the text, not what the text implies:
  `from_whole(p, simplified=True)` for DELETE and UPDATE, `from_whole(p, simplified=False)` for replaceWhere,
  `from_conjuncts(p, simplified=True)` for MERGE's ON and for scans (INSERT ... SELECT from the target, subqueries on it),
  `from_conjuncts(p, simplified=False)` for each condition of a MERGE's clauses. Then `compiled`.
- Where rows may **land** is what's implied: `compiled(p).on_partitions()`.
- `conjunction`, `disjunction` and `Not` build predicates from predicates (ON and the OR of the clauses); `ALWAYS`, `NEVER` and
  `Anything("why")` stand for everything, nothing and don't know.
- `covers(outer, inner)` checks a promise: every row of `inner` is one of `outer`.
- Rows with '' in a string partition column land in the NULL partition (Delta can't tell them apart); `compiled` knows.
- Confs that change what text means (`spark.sql.legacy.*`, escapedStringLiterals, doubleQuotedIdentifiers):
  don't parse, take `Anything`.
- Functions and operators over partition columns are understood if they're in the closed list of `functions`: their conditions
  are sides of computed columns (`computed_columns`), which `disjoint` tries on the values that both sides admit, if these are few.
- Timestamps are compared only between sessions of one time zone; without a zone they are `Anything`.
- current_date() is one of the session's `days`; without days, conditions on it are `Anything`.

Layers: values < columns < literals < coercion < tree < atoms < functions < computed_columns < small_domains < region < text;
syntax < reason_texts < scope < terms < normal_form, days < condition_parser; nnf below region, partition_projection beside it.
Pure: no I/O, no clock, no globals; limits count nodes, so the same text always gives the same answer.
"""

from typing import TYPE_CHECKING

from sluice.lazy_names import load_from

if TYPE_CHECKING:
    from sluice.predicates.columns import Column, ColumnType, Kind, Table, parse_type
    from sluice.predicates.condition_parser import parse
    from sluice.predicates.errors import PredicateError
    from sluice.predicates.partition import partition_region
    from sluice.predicates.partition_projection import from_conjuncts, from_whole
    from sluice.predicates.region import Region, compiled, covers, disjoint, merged, overlap
    from sluice.predicates.scope import is_told_in
    from sluice.predicates.session import Session
    from sluice.predicates.syntax import refuse_templates
    from sluice.predicates.text import blank, quoted, to_sql
    from sluice.predicates.tree import (
        ALWAYS,
        NEVER,
        And,
        Anything,
        Atom,
        IsNull,
        IsTrue,
        Not,
        Or,
        Predicate,
        TruthValue,
        conjunction,
        disjunction,
        reasons,
    )

__all__ = [
    "ALWAYS",
    "NEVER",
    "And",
    "Anything",
    "Atom",
    "Column",
    "ColumnType",
    "IsNull",
    "IsTrue",
    "Kind",
    "Not",
    "Or",
    "Predicate",
    "PredicateError",
    "Region",
    "Session",
    "Table",
    "TruthValue",
    "blank",
    "compiled",
    "conjunction",
    "covers",
    "disjoint",
    "disjunction",
    "from_conjuncts",
    "from_whole",
    "is_told_in",
    "merged",
    "overlap",
    "parse",
    "parse_type",
    "partition_region",
    "quoted",
    "reasons",
    "refuse_templates",
    "to_sql",
]

_MODULE_OF = {
    "ALWAYS": "tree",
    "And": "tree",
    "Anything": "tree",
    "Atom": "tree",
    "Column": "columns",
    "ColumnType": "columns",
    "IsNull": "tree",
    "IsTrue": "tree",
    "Kind": "columns",
    "NEVER": "tree",
    "Not": "tree",
    "Or": "tree",
    "Predicate": "tree",
    "PredicateError": "errors",
    "Region": "region",
    "Session": "session",
    "Table": "columns",
    "TruthValue": "tree",
    "blank": "text",
    "compiled": "region",
    "conjunction": "tree",
    "covers": "region",
    "disjoint": "region",
    "disjunction": "tree",
    "from_conjuncts": "partition_projection",
    "from_whole": "partition_projection",
    "is_told_in": "scope",
    "merged": "region",
    "overlap": "region",
    "parse": "condition_parser",
    "parse_type": "columns",
    "partition_region": "partition",
    "quoted": "text",
    "reasons": "tree",
    "refuse_templates": "syntax",
    "to_sql": "text",
}

__getattr__ = load_from(__name__, _MODULE_OF)
