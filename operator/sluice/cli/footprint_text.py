"""`sluice footprint`: what was understood of a job's manifest, for people."""

from collections.abc import Iterable, Iterator

from rich.console import Console

from sluice.api.job import Operation
from sluice.cli.outputs import print_hanging
from sluice.footprint import TableFootprint
from sluice.footprint.model import Follows, Metadata
from sluice.offline.assumptions import Assumption, in_one
from sluice.offline.pairs import Understood, without_cluster

_Line = tuple[str, str]
"""A label, and the text beside it."""


def show(jobs: Iterable[Understood], out: Console, assumptions: Iterable[Assumption] = ()) -> None:
    for job in jobs:
        print_hanging(out, "", job.name)
        for label, text in (
            *_of_stream(job),
            *(line for table in job.footprint.tables for line in _shown(table)),
        ):
            print_hanging(out, label, text, indent=len(label))
    for assumption in in_one(assumptions):
        print_hanging(out, "Assumed: ", f"{assumption}.")


def _of_stream(job: Understood) -> Iterator[_Line]:
    found = job.footprint
    for source in found.streams_from:
        yield "  streams from ", f"{source.text}; {_FOLLOWS[found.follows]}"
    for table in found.looks_into:
        yield "  joins ", f"{table.text}, by the columns that it has when the stream begins"
    for checkpoint in sorted(job.checkpoints):
        yield "  checkpoint ", checkpoint
    for warning in job.warnings:
        yield "  warning ", warning


def _shown(table: TableFootprint) -> Iterator[_Line]:
    statement = f"  statement {table.statement}: "
    if table.hook:
        yield statement, f"Optimize on {table.table.text}, by auto-compaction after its own commit"
        yield _line("rewrites", f"{_where(table.writes_text)}; nothing says that auto-compaction is off")
        return
    yield statement, f"{table.operation.value} on {table.table.text}"
    yield _line("reads", "nothing (blind)" if table.is_blind else _where(table.reads_text))
    yield _line("writes", _where(table.writes_text))
    if table.deletes_text is not None:
        yield _line("deletes", _deleted(table.operation, table.deletes_text))
    if table.metadata in _OF_METADATA:
        yield _line("changes", _OF_METADATA[table.metadata])
    for why in table.widened:
        yield _line("widened", why)
    if table.why_everywhere is not None:
        yield _line("because", table.why_everywhere)
    for advice in (table.reads_advice, table.writes_advice):
        if advice and advice not in table.widened:
            yield _line("advice", without_cluster(advice))


def _line(label: str, text: str) -> _Line:
    return f"    {label:8} ", text


def _deleted(operation: Operation, condition: str) -> str:
    if operation is Operation.OVERWRITE_PARTITIONS and condition == "true":
        return "each partition that it writes"
    return _where(condition)


def _where(condition: str) -> str:
    return {"true": "all of the table", "false": "nothing"}.get(condition, condition)


_FOLLOWS = {
    Follows.APPENDS: "rewriting or deleting rows there would break it for good",
    Follows.DELETES: "rewriting rows there would break it for good",
    Follows.CHANGES: "whatever is done to rows there",
}
_OF_METADATA = {
    Metadata.IDENTITY: "perhaps the table's metadata, which hold how far an identity column has counted",
    Metadata.ENABLES: "the table's features",
    Metadata.MAY_CHANGE: "perhaps the table's metadata, such as its columns",
    Metadata.RESTORES: "the table's metadata, back to what it was",
    Metadata.CHANGES: "the table's metadata",
}
