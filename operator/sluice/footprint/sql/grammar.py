"""Finds what the SQL parser accepts and Spark's own refuses: the parser reads many dialects and tolerates missing parts."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from sluice.footprint.sql.adjacent_words import astray
from sluice.footprint.sql.keywords import outside_parentheses, words
from sluice.footprint.sql.required_parts import CHECKED, missing_in
from sluice.footprint.sql.tree_summary import TreeSummary

_CLAUSES: dict[type[exp.Expr], frozenset[str]] = {
    exp.Delete: frozenset({"with_", "this", "where"}),
    exp.Update: frozenset({"with_", "this", "expressions", "where"}),
    exp.Merge: frozenset({"with_", "this", "using", "on", "whens"}),
    exp.Insert: frozenset({"with_", "this", "expression", "overwrite", "where", "by_name"}),
}
"""All the clauses that Spark has in these statements."""
_VERBS: dict[type[exp.Expr], str] = {
    exp.Delete: "a DELETE",
    exp.Update: "an UPDATE",
    exp.Merge: "a MERGE",
    exp.Insert: "an INSERT",
}
_HAS_CLAUSES = frozenset({exp.Select, *_CLAUSES})
_EXAMINED = CHECKED | _HAS_CLAUSES | {exp.TableAlias, exp.Command}
_FINDS_ROWS = frozenset({exp.Delete, exp.Update, exp.Merge, exp.When, exp.Insert})
_DEEPER = {"(": 1, "CASE": 1, ")": -1, "END": -1}
_NONE_OF_SELECT = (
    "into",
    "kind",
    "match",
    "connect",
    "prewhere",
    "locks",
    "sample",
    "settings",
    "format",
    "for_",
)


def foreign(tokens: Sequence[Token], survey: TreeSummary) -> str | None:
    """Why Spark refuses the statement that was parsed into this tree; None if nothing is known against it."""
    written = words(tokens)
    why = astray(tokens, written) or _of_other_dialects(survey)
    if why is not None:
        return why
    tree = survey.nodes[0]
    if isinstance(tree, exp.Insert) and _is_conditional(tokens) and not _replaces_one_partition(tree):
        return (
            "IF NOT EXISTS belongs to INSERT OVERWRITE table PARTITION (column = value, ...) with a value for each column: "
            "remove it, or write that"
        )
    return _foreign_clause(tokens, written) if isinstance(tree, exp.Merge) else None


def _of_other_dialects(survey: TreeSummary) -> str | None:
    for node in survey.nodes:
        kind = type(node)
        if kind not in _EXAMINED:
            continue
        if isinstance(node, exp.TableAlias) and _is_made_up(node):
            return "a name made by IDENTIFIER(...) is not understood: write the name itself"
        why = missing_in(node)
        if why is not None:
            return why
        if kind is exp.Command:
            return "a part of it is not understood"
        if kind in _HAS_CLAUSES:
            why = _of_clauses(node)
            if why is not None:
                return why
    return None


def _of_clauses(node: exp.Expr) -> str | None:
    known = _CLAUSES.get(type(node))
    given = {name for name, value in node.args.items() if value}
    more = given.intersection(_NONE_OF_SELECT) if known is None else given - known
    if more:
        return f"Spark has no {min(more).strip('_').upper()} in {_VERBS.get(type(node), 'a SELECT')}"
    if known is None and not node.expressions:
        return "a SELECT lists no columns"
    if isinstance(node, exp.Delete | exp.Update | exp.Merge) and not _is_one_table(node.this):
        return f"{_VERBS[type(node)]} takes exactly one table"
    if isinstance(node, exp.Update) and not _is_list(node.args.get("expressions")):
        return "an UPDATE sets no column"
    return None


def _is_list(found: object) -> bool:
    """Whether something is in it: of `UPDATE *` the parser makes no list."""
    return isinstance(found, list) and bool(found)


def _is_one_table(node: exp.Expr | None) -> bool:
    if node is None:
        return True  # belongs to a clause of a MERGE
    return isinstance(node, exp.Table) and not (node.args.get("joins") or node.args.get("laterals"))


def _is_made_up(alias: exp.TableAlias) -> bool:
    """Whether the alias is `AS IDENTIFIER('x')`, which the parser takes for a name with a list of columns."""
    name = alias.this
    return isinstance(name, exp.Identifier) and not name.quoted and name.name.upper() == "IDENTIFIER"


def asks_other_tables(survey: TreeSummary) -> bool:
    """Whether a condition by which a statement finds its rows holds a query: open-source Delta refuses every kind of
    query there. Values that are set may come from one."""
    conditions = [
        node.args.get(name)
        for node in survey.nodes
        if type(node) in _FINDS_ROWS
        for name in ("where", "on", "condition")
    ]
    return any(isinstance(condition, exp.Expr) and holds_a_query(condition) for condition in conditions)


def holds_a_query(condition: exp.Expr) -> bool:
    return condition.find(exp.Query, exp.Exists) is not None


def _is_conditional(tokens: Sequence[Token]) -> bool:
    found = [text for _, text in islice(outside_parentheses(tokens), 16)]
    return any(found[at : at + 3] == ["IF", "NOT", "EXISTS"] for at in range(len(found)))


def _replaces_one_partition(tree: exp.Insert) -> bool:
    clause = tree.this.find(exp.Partition)
    fixed = clause is not None and all(isinstance(part, exp.EQ) for part in clause.expressions)
    return fixed and bool(tree.args.get("overwrite"))


def _foreign_clause(tokens: Sequence[Token], written: Sequence[str]) -> str | None:
    """Why Spark refuses a clause of a MERGE: each WHEN says whether rows match, and only the last of its kind may
    have no condition."""
    if all(text != "USING" for _, text in outside_parentheses(tokens)):
        return "a MERGE lacks USING"
    clauses = list(_clauses_of_merge(written))
    for clause in clauses:
        kind = clause[1:3] if clause[1:2] == ["NOT"] else clause[1:2]
        if (
            kind not in (["MATCHED"], ["NOT", "MATCHED"])
            or clause[-1:] != ["THEN"]
            or _begins_another(clause)
        ):
            return "a clause of the MERGE is not understood: write WHEN [NOT] MATCHED [AND condition] THEN action"
    conditional: dict[tuple[bool, bool], list[bool]] = {}
    for clause in clauses:
        conditional.setdefault(("NOT" in clause[1:2], "SOURCE" in clause[3:5]), []).append("AND" in clause)
    if not all(all(of_kind[:-1]) for of_kind in conditional.values()):
        return "only the last clause of its kind in a MERGE may have no condition: add one to the others"
    return None


def _begins_another(clause: Sequence[str]) -> bool:
    return any(clause[position] == "WHEN" for position in _outside_of_values(clause) if position)


def _clauses_of_merge(written: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yields the words of each clause from WHEN to its THEN, or to the end if it has none."""
    outside = list(_outside_of_values(written))
    ends = [*(position + 1 for position in outside if written[position] == "THEN"), len(written)]
    for start in outside:
        if written[start] == "WHEN":
            yield written[start : ends[bisect_right(ends, start)]]


def _outside_of_values(written: Sequence[str]) -> Iterator[int]:
    """Yields the positions that are in no parentheses and no CASE."""
    depth = 0
    for position, text in enumerate(written):
        depth += _DEEPER.get(text, 0)
        if depth == 0:
            yield position
