"""Common tables: what WITH defines, and which definition a name in a query refers to."""

from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp


@dataclass(frozen=True)
class _With:
    """The definitions of a WITH by name, the first of each name."""

    node: exp.With

    @cached_property
    def positions(self) -> dict[int, int]:
        return {id(definition): position for position, definition in enumerate(self.node.expressions)}

    @cached_property
    def exact(self) -> dict[str, int]:
        names = [definition.alias_or_name for definition in self.node.expressions]
        return {name: position for position, name in reversed([*enumerate(names)])}

    @cached_property
    def folded(self) -> dict[str, int]:
        names = [definition.alias_or_name.lower() for definition in self.node.expressions]
        return {name: position for position, name in reversed([*enumerate(names)])}


@dataclass(frozen=True)
class _Scope:
    """What a part of a query can see: the first so many definitions of the nearest WITH, and those of the WITHs around it."""

    with_: _With
    visible: int
    outer: "_Scope | None"

    def find(self, name: str, *, case_sensitive: bool) -> exp.CTE | None:
        position = (self.with_.exact if case_sensitive else self.with_.folded).get(name)
        if position is None or position >= self.visible:
            return None
        found: exp.CTE = self.with_.node.expressions[position]
        return found


class CommonTables:
    """Remembers what each part of a tree can see: climbing the tree for each table of a long chain of queries, and asking each
    definition, would take as long as the square of their number."""

    def __init__(self) -> None:
        self._withs: dict[int, _With] = {}
        self._scopes: dict[int, tuple[exp.Expr, _Scope | None]] = {}

    def named(self, table: exp.Table, *, case_sensitive: bool = False) -> exp.CTE | None:
        """Returns the common table that the name refers to, from the nearest WITH around it; a definition sees only the
        ones before it."""
        if len(table.parts) != 1:
            return None
        name = table.name if case_sensitive else table.name.lower()
        scope = self._scope(table)
        while scope is not None:
            found = scope.find(name, case_sensitive=case_sensitive)
            if found is not None:
                return found
            scope = scope.outer
        return None

    def _scope(self, node: exp.Expr) -> _Scope | None:
        climbed: list[exp.Expr] = []
        while id(node) not in self._scopes and node.parent is not None:
            climbed.append(node)
            node = node.parent
        _, scope = self._scopes.get(id(node), (node, None))
        for inside in reversed(climbed):
            scope = self._seen_by(inside, scope)
            self._scopes[id(inside)] = inside, scope
        return scope

    def _seen_by(self, inside: exp.Expr, outer: _Scope | None) -> _Scope | None:
        """What the part sees; `outer` is what the node around it sees."""
        around = inside.parent
        if isinstance(around, exp.With):
            with_ = self._with(around)
            return _Scope(with_, with_.positions.get(id(inside), len(with_.positions)), outer)
        found = None if around is None else around.args.get("with_")
        if not isinstance(found, exp.With) or inside is found:
            return outer
        with_ = self._with(found)
        return _Scope(with_, len(with_.positions), outer)

    def _with(self, node: exp.With) -> _With:
        return self._withs.setdefault(id(node), _With(node))
