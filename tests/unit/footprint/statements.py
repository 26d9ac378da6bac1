"""Statements read one after the other, as a job runs them, and the footprints of the tables that they write."""

from sluice.footprint import TableFootprint, split
from sluice.footprint.sql.statement_context import Surroundings
from sluice.footprint.statements.script import Script


def footprint(sql: str) -> TableFootprint:
    (found,) = footprints(sql)
    return found


def footprints(sql: str) -> tuple[TableFootprint, ...]:
    script = Script(Surroundings())
    for statement in split(sql):
        script = script.then(statement)
    return script.tables
