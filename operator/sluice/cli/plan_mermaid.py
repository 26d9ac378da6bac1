"""`sluice plan -o mermaid`: Markdown with one graph a table, for a pull request. A job that is in nobody's way is not drawn.

Mermaid draws no graph of more than 500 edges or 50,000 characters, unless whoever shows it allows more, which a comment of a pull
request does not. So the worst conflicts are drawn first, and what was left out is said.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from sluice.conflicts import Level, PairOrder
from sluice.offline.improvements import Edge
from sluice.offline.plan import Plan

MOST_EDGES = 500
MOST_CHARACTERS = 50_000
MOST_TABLES = 10
"""Tables of which a graph is drawn unless all are asked for."""
_LONGEST_LABEL = 80
_WORSE = "stroke:#c00,stroke-width:2px"
_STYLE = "  classDef together fill:#dfd,stroke:#080"
_ROOM = 8
"""Characters that an edge costs in the line that colours it: its number and a comma."""


def as_mermaid(plan: Plan, most: int | None = MOST_TABLES) -> str:
    """Draws a line between two jobs that wait for each other, or an arrow from the one that may safely commit first."""
    by_table: dict[str, list[Edge]] = defaultdict(list)
    for edge in plan.edges:
        by_table[edge.table].append(edge)
    if not by_table:
        return f"No two of these {len(plan.jobs):,} jobs are in each other's way."
    tables = sorted(by_table, key=lambda table: (-len(by_table[table]), table))
    parts = ["\n".join(_section(plan, table, by_table[table])) for table in tables[:most]]
    if most is not None and len(tables) > most:
        left = sum(len(by_table[table]) for table in tables[most:])
        parts.append(
            f"Not drawn: {_counted(left, 'conflict')} on {_counted(len(tables) - most, 'more table')}; `--all` draws them."
        )
    return "\n\n".join(parts)


def _section(plan: Plan, table: str, edges: Sequence[Edge]) -> Iterator[str]:
    worst_first = sorted(edges, key=lambda edge: (edge.perhaps is not None, -edge.level))
    graph, drawn = _graph(plan, worst_first)
    yield f"### `{_plain(table)}`"
    yield ""
    yield "```mermaid"
    yield from graph
    yield "```"
    if drawn < len(edges):
        yield ""
        yield (
            f"Drawn: {drawn:,} of {_counted(len(edges), 'conflict')}, the worst first, because Mermaid draws no more; "
            "`-o text --all` lists them all."
        )


def _graph(plan: Plan, edges: Sequence[Edge]) -> tuple[list[str], int]:
    together = set(plan.widest.members)
    nodes: dict[int, str] = {}
    lines: list[str] = []
    worse: list[str] = []
    size = len("graph LR\n") + len(_STYLE) + len(f"\n  linkStyle  {_WORSE}\n")
    for edge in edges[:MOST_EDGES]:
        line = _line(edge)
        new = {
            number: f'  j{number}["{_label(plan.jobs[number].name)}"]{":::together" if number in together else ""}'
            for number in (edge.first, edge.second)
            if number not in nodes
        }
        size += sum(len(text) + 1 for text in (line, *new.values())) + _ROOM
        if size > MOST_CHARACTERS:
            break
        nodes.update(new)
        lines.append(line)
        if edge.level > Level.MAY:
            worse.append(str(len(lines) - 1))
    styled = [f"  linkStyle {','.join(worse)} {_WORSE}"] if worse else []
    return ["graph LR", *nodes.values(), *lines, *styled, _STYLE], len(lines)


def _line(edge: Edge) -> str:
    first, second = edge.first, edge.second
    if edge.pair.order is PairOrder.SECOND_THEN_FIRST:
        first, second = second, first
    arrow = "---" if edge.pair.order is PairOrder.NONE else "-->"
    return f'  j{first} {arrow}|"{_label(f"{edge.level}: {edge.what}")}"| j{second}'


def _label(text: str) -> str:
    """Mermaid ends a label at a quote, and reads HTML and Markdown in it."""
    plain = _plain(text)
    for one, entity in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("&", "#amp;")):
        plain = plain.replace(one, entity)
    return plain


def _plain(text: str) -> str:
    plain = " ".join(text.replace("`", "'").split())
    return plain if len(plain) <= _LONGEST_LABEL else f"{plain[: _LONGEST_LABEL - 1]}…"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
