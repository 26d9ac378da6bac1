"""A footprint as a job's status shows it."""

from sluice.api.job_status import MAX_FOOTPRINTS, TableFootprint
from sluice.footprint import JobFootprint


def recorded(footprint: JobFootprint) -> tuple[TableFootprint, ...]:
    return tuple(
        TableFootprint(
            table=table.table.text,
            statement=table.statement,
            operation=table.operation,
            reads=table.reads_text,
            writes=table.writes_text,
            metadata=table.changes_metadata,
            widened=table.widened,
        )
        for table in footprint.tables[:MAX_FOOTPRINTS]
    )
