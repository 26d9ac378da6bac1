"""`sluice footprint`: what was understood of a job's manifest, for people and for tools."""

import json
from typing import Any

from sluice.footprint import JobFootprint, TableFootprint

Found = list[tuple[str, JobFootprint]]


def as_json(found: Found) -> str:
    jobs = [{"job": name, "tables": [_table(table) for table in job.tables]} for name, job in found]
    return json.dumps(jobs[0] if len(jobs) == 1 else jobs, indent=2, ensure_ascii=False)


def _table(table: TableFootprint) -> dict[str, Any]:
    return {
        "table": table.table.text,
        "statement": table.statement,
        "operation": table.operation.value,
        "reads": table.reads_text,
        "writes": table.writes_text,
        "blind": table.is_blind,
        "metadata": table.metadata.value,
        "widened": list(table.widened),
        "advice": [advice for advice in (table.reads_advice, table.writes_advice) if advice],
    }


def as_text(found: Found) -> str:
    lines = []
    for name, job in found:
        lines.append(name)
        for table in job.tables:
            shown = _table(table)
            lines.append(f"  statement {table.statement}: {shown['operation']} on {shown['table']}")
            lines.append(f"    reads   {'nothing (blind)' if shown['blind'] else shown['reads']}")
            lines.append(f"    writes  {shown['writes']}")
            if shown["metadata"] != "none":
                lines.append(f"    metadata  {shown['metadata']}")
            lines += [f"    widened  {why}" for why in shown["widened"]]
            lines += [f"    advice   {advice}" for advice in shown["advice"]]
    return "\n".join(lines)
