"""`sluice footprint`: what was understood of a job's manifest, for people."""

from collections.abc import Iterable

from sluice.footprint import JobFootprint, TableFootprint
from sluice.footprint.model import Metadata

Found = list[tuple[str, JobFootprint]]


def as_text(found: Found, assumptions: Iterable[str] = ()) -> str:
    lines = []
    for name, job in found:
        lines.append(name)
        for table in job.tables:
            lines += _shown(table)
    lines += [f"Assumed: {assumption}." for assumption in assumptions]
    return "\n".join(lines)


def _shown(table: TableFootprint) -> list[str]:
    if table.hook:
        return [
            f"  statement {table.statement}: Optimize on {table.table.text}, by auto-compaction after its own commit",
            f"    rewrites  {_where(table.writes_text)}; nothing says that auto-compaction is off",
        ]
    lines = [
        f"  statement {table.statement}: {table.operation.value} on {table.table.text}",
        f"    reads    {'nothing (blind)' if table.is_blind else _where(table.reads_text)}",
        f"    writes   {_where(table.writes_text)}",
    ]
    if table.metadata in _OF_METADATA:
        lines.append(f"    changes  {_OF_METADATA[table.metadata]}")
    lines += [f"    widened  {why}" for why in table.widened]
    advised = (table.reads_advice, table.writes_advice)
    return lines + [f"    advice   {advice}" for advice in advised if advice and advice not in table.widened]


def _where(condition: str) -> str:
    return {"true": "all of the table", "false": "nothing"}.get(condition, condition)


_OF_METADATA = {
    Metadata.IDENTITY: "perhaps the mark of an identity column",
    Metadata.ENABLES: "the table's features",
    Metadata.MAY_CHANGE: "perhaps the table's metadata, such as its columns",
    Metadata.RESTORES: "the table's metadata, back to what it was",
    Metadata.CHANGES: "the table's metadata",
}
