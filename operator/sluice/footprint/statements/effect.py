"""The effect of a statement: what it does to tables and to the session of the statements after it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.model import Metadata, TableFootprint
from sluice.footprint.sources import NO_SOURCES, Sources
from sluice.footprint.sql.keywords import words
from sluice.footprint.sql.statement_context import StatementContext, Surroundings, place
from sluice.footprint.sql.statement_splitter import Statement
from sluice.footprint.sql.table_names import Named, folder_at, table_at
from sluice.footprint.sql.word_patterns import fits


@dataclass(frozen=True)
class Effect:
    around: Surroundings
    """What holds for the next statement."""
    tables: tuple[TableFootprint, ...] = ()
    selected: Sources = NO_SOURCES
    """What it reads without writing a table."""


Reader = Callable[[Statement, Surroundings, int], Effect]
"""Reads a statement in its surroundings; the number counts the words that identified its kind."""


def on_table(
    read: Callable[[StatementContext], TableFootprint], *, follows: str | None = None, folder: bool = False
) -> Reader:
    """Makes a reader for statements about one table. `follows` is all that may come after the table, where the SQL
    parser does not read it. With `folder` the table may be named by its location as a string."""

    def reader(statement: Statement, around: Surroundings, beginning: int) -> Effect:
        target = _target(statement, beginning, folder=folder)
        reading = StatementContext(statement, target.key, around, target.end)
        if target.key.is_name and target.key.text in around.views:
            raise reading.refused(
                f"{target.key} is a temporary view: name the table itself, so that conditions are about its columns"
            )
        if follows is not None and not fits(statement.tokens[target.end :], follows):
            raise reading.refused(
                f"{target.key} is followed by {_after(statement, target.end)}, {_of_no_use(statement, target.end)}"
            )
        found = read(reading)
        if found.metadata not in (Metadata.NONE, Metadata.SAME, Metadata.IDENTITY):
            return Effect(replace(around, changed=around.changed.with_tables([found.table])), (found,))
        return Effect(around, (found,))

    return reader


def _of_no_use(statement: Statement, end: int) -> str:
    """Says why it is refused: Delta has partitions, but none of Hive's statements that add or remove them."""
    if words(statement.tokens[end : end + 2]) in (["RENAME", "TO"], ["SET", "LOCATION"]):
        return "by which a name leads elsewhere while jobs use it: do that outside of jobs"
    if "PARTITION" in words(statement.tokens[end : end + 5]):
        return "which Delta refuses: write DELETE FROM table WHERE condition on the partition columns"
    return "which Spark does not understand there"


def _after(statement: Statement, position: int) -> str:
    """The rest of the statement as it is written."""
    if position >= len(statement.tokens):
        return "nothing"
    rest = statement.text[statement.tokens[position].start - statement.tokens[0].start :]
    return repr(" ".join(rest.split())[:80])


def on_session(change: Callable[[Statement, Surroundings, int], Surroundings]) -> Reader:
    return lambda statement, around, beginning: Effect(change(statement, around, beginning))


def refused(why: str) -> Reader:
    def reader(statement: Statement, _around: Surroundings, _beginning: int) -> Effect:
        raise NotUnderstoodError(f"{place(statement)}: {why}")

    return reader


def _target(statement: Statement, position: int, *, folder: bool) -> Named:
    try:
        named = table_at(statement.tokens, position)
        if named is None and folder:
            named = folder_at(statement.tokens, position)
    except NotUnderstoodError as error:
        raise NotUnderstoodError(f"{place(statement)}: {error}") from None
    if named is None:
        verb = " ".join(token.text.upper() for token in statement.tokens[:position])
        raise NotUnderstoodError(
            f"{place(statement)}: {verb} must be followed by a table, as catalog.schema.table or "
            f"delta.`s3://bucket/table`{_but_is_followed(statement, position)}"
        )
    return named


def _but_is_followed(statement: Statement, position: int) -> str:
    if position >= len(statement.tokens):
        return ""
    found = statement.tokens[position].text
    if found.upper() == "IDENTIFIER":
        return ": Sluice does not resolve IDENTIFIER(...)"
    return f": {found!r} is not one"
