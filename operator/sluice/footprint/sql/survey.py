"""What one walk over a tree finds, for all who would otherwise walk it again."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sluice.footprint.sql.nodes import is_strange
from sluice.predicates.syntax import CALLED_AMONG, WRITTEN


@dataclass(frozen=True, eq=False)
class Survey:
    nodes: Sequence[exp.Expr]
    """All of them, the nearest to the root first. A tree that was surveyed must not be changed."""
    strangers: Sequence[exp.Expr]
    """Those that aren't understood and may read any table."""
    calls: Sequence[exp.Expr]
    """Those that may call a function."""
    tables: Sequence[exp.Table]

    def stranger(self, *, written: exp.Expr | None = None) -> exp.Expr | None:
        """The first that isn't understood. `written` is the node of the table that the statement writes."""
        return next((node for node in self.strangers if node is not written), None)


def surveyed(tree: exp.Expr) -> Survey:
    nodes = _nodes(tree)
    return Survey(
        nodes,
        [node for node in nodes if is_strange(node)],
        [node for node in nodes if isinstance(node, exp.Func) or _is_called(node)],
        [node for node in nodes if isinstance(node, exp.Table)],
    )


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
