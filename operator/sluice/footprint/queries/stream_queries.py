"""Finds what Spark never streams: it refuses such a query before its first batch, each time that it is started.

Only what is certain is found. A stream ends no group and has no last row, because no watermark can be declared in the SQL that is
understood here, and because rows are appended batch by batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from sluice.footprint.sql.common_tables import CommonTables

VIEW = "source"
NEED_A_SCHEMA = frozenset({"csv", "json", "orc", "parquet"})
"""Formats of files whose columns Spark does not look up for a stream."""
_STREAMING_TABLES = "stream"
"""What the parser makes of `STREAM t`, in which Spark would stream another table."""
_EACH_BATCH = "have stream.sql do it with the rows of each batch, in the place of query and table"
_MERGE = "have stream.sql do it with the rows of each batch, and MERGE them into the table"
_AGGREGATES = exp.Count | exp.Sum | exp.Min | exp.Max | exp.Avg
_NUMBERS_ROWS = "MONOTONICALLY_INCREASING_ID"


@dataclass(frozen=True)
class Unstreamed:
    what: str
    instead: str = _EACH_BATCH


_NOTHING_OF_IT = Unstreamed(
    f"to run this, which does not select from the view {VIEW},", f"select from {VIEW}"
)


@dataclass
class _Look:
    case_sensitive: bool
    found: list[Unstreamed] = field(default_factory=list)
    _streams: dict[int, bool | None] = field(default_factory=dict)
    _common: CommonTables = field(default_factory=CommonTables)

    def streams(self, node: exp.Expr | None) -> bool | None:
        """Whether its rows come from the stream; None where that can't be told."""
        match node:
            case exp.Select():
                return self._select(node)
            case exp.SetOperation():
                return self._set(node)
            case exp.Subquery():
                return self._ordered(node, self._joined(node, self.streams(node.this)))
            case exp.Table():
                return self._joined(node, self._sampled(node, self._table(node)))
            case exp.Values():
                return False
            case _:
                return None

    def _table(self, node: exp.Table) -> bool | None:
        if not isinstance(node.this, exp.Identifier) or node.name.lower() == _STREAMING_TABLES:
            return None
        if node.args.get("db") is not None:
            return False
        name = node.name.lower()
        common = self._common.named(node)
        if common is not None and not self.case_sensitive:
            at = id(common)
            if at not in self._streams:
                self._streams[at] = self.streams(common.this)
            return self._streams[at]
        if name == VIEW:
            return None if self.case_sensitive else True
        return False if common is None else None

    def _sampled(self, node: exp.Expr, streams: bool | None) -> bool | None:
        sample = node.args.get("sample")
        # So many rows, of which Spark makes a LIMIT, are streamed.
        if streams and sample is not None and sample.args.get("size") is None:
            self.found.append(Unstreamed("TABLESAMPLE of it"))
        return None if node.args.get("pivots") else streams

    def _joined(self, node: exp.Expr, streams: bool | None) -> bool | None:
        for join in node.args.get("joins") or ():
            other = self.streams(join.this)
            self._join(join, streams, other)
            keeps_left_alone = join.kind in ("SEMI", "ANTI")
            streams = streams if keeps_left_alone else _either(streams, other)
        return streams

    def _join(self, join: exp.Join, left: bool | None, right: bool | None) -> None:
        if join.side == "FULL" and (left or right):
            self.found.append(Unstreamed("a FULL OUTER JOIN of it"))
        elif join.kind in ("SEMI", "ANTI") and right:
            self.found.append(Unstreamed(f"a {join.kind} JOIN with it on the right"))
        elif join.side == "LEFT" and left is False and right:
            self.found.append(Unstreamed("a LEFT JOIN with it on the right", "put it on the left"))
        elif join.side == "RIGHT" and left and right is False:
            self.found.append(Unstreamed("a RIGHT JOIN with it on the left", "put it on the right"))

    def _select(self, node: exp.Select) -> bool | None:
        given = node.args.get("from_")
        if given is None:
            return False
        streams = self._joined(node, self.streams(given.this))
        if streams:
            self.found += _of_select(node)
        return self._ordered(node, streams)

    def _set(self, node: exp.SetOperation) -> bool | None:
        left, right = self.streams(node.this), self.streams(node.expression)
        if isinstance(node, exp.Union) and None not in (left, right) and left is not right:
            self.found.append(
                Unstreamed("UNION of it and of other rows", "have a job of its own write the others once")
            )
        elif isinstance(node, exp.Union) and left and right and node.args.get("distinct"):
            self.found.append(
                Unstreamed("UNION without ALL", "write UNION ALL, or MERGE each batch by stream.sql")
            )
        elif isinstance(node, exp.Except) and right:
            self.found.append(Unstreamed("EXCEPT with it on the right"))
        elif isinstance(node, exp.Intersect) and (left or right):
            self.found.append(Unstreamed("INTERSECT"))
        return self._ordered(node, _either(left, right))

    def _ordered(self, node: exp.Expr, streams: bool | None) -> bool | None:
        if streams:
            for name, words in (("order", "ORDER BY"), ("sort", "SORT BY"), ("cluster", "CLUSTER BY")):
                if node.args.get(name) is not None:
                    self.found.append(
                        Unstreamed(words, "remove it: a Delta table keeps no order of its rows")
                    )
        if node.args.get("offset") is not None:
            self.found.append(Unstreamed("OFFSET, also of other rows,"))
        return streams


def unstreamed(query: exp.Expr, *, case_sensitive: bool) -> Unstreamed | None:
    """What Spark refuses of a stream's query, if anything is known of that kind."""
    look = _Look(case_sensitive)
    streams = look.streams(query)
    if look.found:
        return look.found[0]
    return _NOTHING_OF_IT if streams is False else None


def _either(one: bool | None, other: bool | None) -> bool | None:
    if one or other:
        return True
    return None if None in (one, other) else False


def _of_select(node: exp.Select) -> Iterator[Unstreamed]:
    if node.args.get("distinct") is not None:
        yield Unstreamed("DISTINCT", _MERGE)
    if node.args.get("group") is not None:
        yield Unstreamed("GROUP BY", _MERGE)
    having = node.args.get("having")
    for value in (*node.expressions, *([having] if having is not None else ())):
        for part in value.walk(prune=lambda part: isinstance(part, exp.Query | exp.Window)):
            if isinstance(part, exp.Window):
                yield Unstreamed("OVER, which looks at more than one row,")
            elif isinstance(part, _AGGREGATES):
                yield Unstreamed(f"{part.key.upper()}(), which counts in rows that are yet to come,", _MERGE)
            elif isinstance(part, exp.Anonymous) and part.name.upper() == _NUMBERS_ROWS:
                yield Unstreamed(f"{_NUMBERS_ROWS.lower()}()", "use uuid()")
