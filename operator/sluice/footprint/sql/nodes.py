"""Lists the parts of a parsed statement that are understood: each node by its class, with the arguments whose meaning is
known.

The parser knows all dialects' words at once, and puts what only some of them have into arguments of common nodes. So
a node that isn't listed, or that has an argument set that isn't listed, says something unknown, and nothing may be
concluded about what it is part of. Functions aren't listed: they are recognised by their names.
"""

from collections.abc import Iterator, Mapping

from sqlglot import exp

_Known = Mapping[type[exp.Expr], frozenset[str]]


def _with(arguments: str, *classes: type[exp.Expr]) -> _Known:
    return dict.fromkeys(classes, frozenset(arguments.split()))


_CUT = "order sort cluster distribute limit offset"
"""Clauses that order rows or drop some of them."""

RELATIONS: _Known = {
    **_with(
        f"with_ expressions hint distinct from_ laterals joins where group having qualify windows {_CUT}",
        exp.Select,
    ),
    **_with(f"this alias with_ {_CUT}", exp.Subquery),
    **_with(f"with_ this expression distinct {_CUT}", exp.Union, exp.Except, exp.Intersect),
    **_with("expressions alias", exp.Values),
    **_with("this db catalog alias version sample", exp.Table),
    **_with("this columns", exp.TableAlias),
    **_with("this", exp.From, exp.Where),
    **_with("this on using side kind method", exp.Join),
    **_with("this view outer alias", exp.Lateral),
    **_with("expressions", exp.With),
    **_with("this alias", exp.CTE),
    **_with("expressions all", exp.Group),
    **_with("", exp.Distinct),
}
"""Nodes whose rows are followed."""

PROJECTIONS: _Known = {
    **_with("this alias", exp.Alias),
    **_with("this expressions", exp.Aliases),
    **_with("except_", exp.Star),
}

SCALARS: _Known = {
    **_with("", exp.Null),
    **_with("this", exp.Boolean, exp.Paren, exp.Neg, exp.Not, exp.BitwiseNot, exp.RawString, exp.HexString),
    **_with(
        "this", exp.Placeholder, exp.Var, exp.Exists, exp.IgnoreNulls, exp.RespectNulls, exp.DataTypeParam
    ),
    **_with("this is_string", exp.Literal),
    **_with("this quoted", exp.Identifier),
    **_with("this table db catalog", exp.Column),
    **_with(
        "this expression",
        *(exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Mod),
        *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift),
        *(exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
        *(exp.And, exp.Or, exp.Is, exp.RegexpLike, exp.Escape, exp.Dot),
        *(exp.Filter, exp.WithinGroup, exp.IntervalSpan),
    ),
    **_with("this expression negate", exp.Like, exp.ILike),
    **_with("this expression typed safe", exp.Div),
    **_with("this expression safe", exp.DPipe),
    **_with("this low high", exp.Between),
    **_with("this expressions query", exp.In),
    **_with("this to safe", exp.Cast, exp.TryCast),
    **_with("this expressions nested", exp.DataType),
    **_with("this kind", exp.ColumnDef),
    **_with("this ifs default", exp.Case),
    **_with("this true false", exp.If),
    **_with("this unit", exp.Interval),
    **_with("this expressions offset", exp.Bracket),
    **_with("expressions", exp.Tuple),
    **_with("this partition_by order spec alias over", exp.Window),
    **_with("kind start start_side end end_side", exp.WindowSpec),
    **_with("this expressions", exp.Order),
    **_with("this zone", exp.AtTimeZone),
    **_with("this desc nulls_first", exp.Ordered),
    **_with("this", exp.Where),
}
"""Nodes that are one value in one column, as long as all their parts are."""

_BESIDE: _Known = {
    **_with(f"{' '.join(sorted(RELATIONS[exp.Table]))} joins pivots", exp.Table),
    **_with("this kind expression", exp.Version),
    **_with("percent rows size seed bucket_numerator bucket_denominator method", exp.TableSample),
    **_with("this", exp.Having, exp.Qualify, exp.Any, exp.All),
    **_with("expressions", exp.Hint, exp.Cluster, exp.Distribute, exp.Sort, exp.Distinct),
    **_with("expression", exp.Limit, exp.Offset),
    **_with("this expressions", exp.JoinHint, exp.Lambda, exp.Schema),
    **_with("this expression", exp.Kwarg, exp.PropertyEQ),
    **_with("expressions all rollup cube grouping_sets", exp.Group),
    **_with("expressions", exp.Rollup, exp.Cube, exp.GroupingSets, exp.JSONPath, exp.Partition),
    **_with("", exp.JSONPathRoot, exp.JSONPathWildcard),
    **_with("this quoted", exp.JSONPathKey),
    **_with("this", exp.JSONPathSubscript),
    **_with("this alias", exp.PivotAlias),
    **_with("expressions fields unpivot alias columns include_nulls pivot_column_naming", exp.Pivot),
    **_with("this expression overwrite where by_name with_", exp.Insert),
    **_with("this using on whens with_", exp.Merge),
    **_with("expressions", exp.Whens),
    **_with("matched source condition then", exp.When),
    **_with("this expressions where with_", exp.Update),
    **_with("this where with_", exp.Delete),
}
"""Nodes that are only known to read no tables but those that they name."""

UNDERSTOOD: _Known = {**RELATIONS, **SCALARS, **PROJECTIONS, **_BESIDE}


def has_only(node: exp.Expr, known: _Known) -> bool:
    """Whether it is one of these nodes and only known arguments are set."""
    arguments = known.get(type(node))
    if arguments is None:
        return False
    if node.args.keys() <= arguments:
        return True
    for name, value in node.args.items():  # noqa: SIM110 - runs for every node, and all(...) takes twice as long
        if value and name not in arguments:
            return False
    return True


def is_strange(node: exp.Expr) -> bool:
    """Whether it isn't understood and may read any table."""
    return not (has_only(node, UNDERSTOOD) or _is_function(node))


def stranger(tree: exp.Expr) -> exp.Expr | None:
    """Finds a part that isn't understood and may read any table."""
    return next(filter(is_strange, tree.walk()), None)


def _is_function(node: exp.Expr) -> bool:
    return isinstance(node, exp.Func) and type(node) not in UNDERSTOOD


def values_in(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the node and its parts, down to functions and subqueries, which are one value whatever they contain."""
    return node.walk(prune=lambda part: _is_function(part) or isinstance(part, exp.Query))
