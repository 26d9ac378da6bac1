"""What each statement of a script does, one footprint a table; settings and views of the session go on to the next."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.model import Metadata, TableFootprint
from sluice.footprint.sql.naming import Named, table_at
from sluice.footprint.sql.reading import Reading, Surroundings, place
from sluice.footprint.sql.statement import Statement
from sluice.footprint.sql.words import starts_with
from sluice.footprint.statements import alter, change, create, insert, maintenance, merge, session

_Reader = Callable[[Reading], TableFootprint]

_VERBS: tuple[tuple[tuple[str, ...], _Reader], ...] = (
    (("INSERT", "WITH", "SCHEMA", "EVOLUTION", "INTO"), insert.insert),
    (("INSERT", "INTO", "TABLE"), insert.insert),
    (("INSERT", "INTO"), insert.insert),
    (("INSERT", "OVERWRITE", "TABLE"), insert.insert),
    (("INSERT", "OVERWRITE"), insert.insert),
    (("MERGE", "WITH", "SCHEMA", "EVOLUTION", "INTO"), merge.merge),
    (("MERGE", "INTO"), merge.merge),
    (("UPDATE",), change.update),
    (("DELETE", "FROM"), change.delete),
    (("TRUNCATE", "TABLE"), change.emptied),
    (("OPTIMIZE",), maintenance.optimize),
    (("REORG", "TABLE"), maintenance.reorg),
    (("VACUUM",), maintenance.vacuum),
    (("ALTER", "TABLE"), alter.alter),
    (("COMMENT", "ON", "TABLE"), alter.comment),
    (("RESTORE", "TABLE"), maintenance.restore),
    (("RESTORE",), maintenance.restore),
    (("CREATE", "OR", "REPLACE", "TABLE"), create.replace_table),
    (("REPLACE", "TABLE"), create.replace_table),
    (("CREATE", "TABLE", "IF", "NOT", "EXISTS"), create.create),
    (("CREATE", "TABLE"), create.create),
    (("CONVERT", "TO", "DELTA"), create.convert),
)


@dataclass(frozen=True)
class Script:
    """Statements that were read, and what holds for the next one."""

    around: Surroundings
    tables: tuple[TableFootprint, ...] = field(default=())

    def then(self, statement: Statement) -> "Script":
        around = session.after(statement, self.around)
        if around is not None:
            return replace(self, around=around)
        found = table_footprint(statement, self.around)
        changed = self.around.changed
        if found.metadata not in (Metadata.NONE, Metadata.SAME, Metadata.IDENTITY):
            changed = changed | {found.table}
        return Script(replace(self.around, changed=changed), (*self.tables, found))


def table_footprint(statement: Statement, around: Surroundings | None = None) -> TableFootprint:
    around = Surroundings() if around is None else around
    for words, read in _VERBS:
        if starts_with(statement.tokens, words):
            target = _target(statement, len(words))
            reading = Reading(statement, target.key, around, target.end)
            if target.key.is_name and target.key.text in around.views:
                raise reading.refused(
                    f"{target.key} is a temporary view: name the table itself, so that conditions speak of its columns"
                )
            return read(reading)
    beginning = " ".join(statement.text.split()[:3])[:80]
    raise NotUnderstoodError(
        f"{place(statement)} begins with {beginning!r}, of which Sluice does not know what it touches: "
        "write it as a statement that Sluice knows, or declare what it touches in spec.footprint"
    )


def _target(statement: Statement, position: int) -> Named:
    try:
        named = table_at(statement.tokens, position)
    except NotUnderstoodError as error:
        raise NotUnderstoodError(f"{place(statement)}: {error}") from None
    if named is None:
        verb = " ".join(token.text.upper() for token in statement.tokens[:position])
        raise NotUnderstoodError(
            f"{place(statement)}: {verb} must be followed by a table, as catalog.schema.table or "
            "delta.`s3://bucket/table`"
        )
    return named
