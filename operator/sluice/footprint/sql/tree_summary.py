"""What one walk over a tree finds, for all who would otherwise walk it again."""

from collections.abc import Sequence
from functools import cached_property

from sqlglot import exp

from sluice.footprint.sql.nodes import is_strange
from sluice.predicates.syntax import CALLED_AMONG, WRITTEN


class TreeSummary:
    """A tree's nodes, the nearest to the root first. The tree must not be changed any more."""

    def __init__(self, tree: exp.Expr) -> None:
        self.nodes: Sequence[exp.Expr] = _nodes(tree)

    @cached_property
    def strangers(self) -> Sequence[exp.Expr]:
        """Those that aren't understood and may read any table."""
        return [node for node in self.nodes if is_strange(node)]

    @cached_property
    def calls(self) -> Sequence[exp.Expr]:
        """Those that may call a function."""
        return [node for node in self.nodes if isinstance(node, exp.Func) or _is_called(node)]

    @cached_property
    def tables(self) -> Sequence[exp.Table]:
        return [node for node in self.nodes if isinstance(node, exp.Table)]

    @property
    def size(self) -> int:
        """How many of them may name a table or call a function."""
        return 1 + len(self.tables) + len(self.calls)

    def stranger(self, *, written: exp.Expr | None = None) -> exp.Expr | None:
        """The first that isn't understood. `written` is the node of the table that the statement writes."""
        return next((node for node in self.strangers if node is not written), None)


def _nodes(tree: exp.Expr) -> list[exp.Expr]:
    """The same as `tree.walk()`, which takes longer."""
    found = [tree]
    for node in found:
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                found.append(value)
            elif type(value) is list:
                found += [part for part in value if isinstance(part, exp.Expr)]
    return found


def _is_called(node: exp.Expr) -> bool:
    return bool(node.meta) and (WRITTEN in node.meta or CALLED_AMONG in node.meta)
