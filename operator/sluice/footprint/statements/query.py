"""SELECT, SHOW and DESCRIBE: they write nothing."""

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.reading import Surroundings, place
from sluice.footprint.sql.shape import NAME, STRING, fits
from sluice.footprint.sql.statement import Statement, query_in
from sluice.footprint.statements.effect import Effect

_IN = rf"(?: (?:IN|FROM) {NAME})"
_LIKE = rf"(?:(?: LIKE)? {STRING})"
_PARTITION = r"(?: PARTITION \( [^()]* \))"
_SHOW = (
    rf"(?:DATABASES|SCHEMAS|NAMESPACES|TABLES|VIEWS|CATALOGS){_IN}?{_LIKE}?",
    rf"TABLE EXTENDED{_IN}? LIKE {STRING}{_PARTITION}?",
    rf"TBLPROPERTIES {NAME}(?: \( (?:{STRING}|{NAME}) \))?",
    rf"COLUMNS{_IN}{_IN}?",
    rf"PARTITIONS {NAME}{_PARTITION}?",
    rf"(?:(?:USER|SYSTEM|ALL) )?FUNCTIONS{_IN}?(?:(?: LIKE)? (?:{STRING}|{NAME}))?",
    rf"CREATE TABLE {NAME}(?: AS SERDE)?",
    "CURRENT (?:NAMESPACE|SCHEMA|DATABASE)",
)
_DESCRIBE = (
    rf"(?:TABLE )?(?:(?:EXTENDED|FORMATTED) )?{NAME}{_PARTITION}?(?: {NAME})?(?: AS JSON)?",
    rf"(?:DETAIL|HISTORY) (?:{NAME}|{STRING})(?: LIMIT 0)?",
    rf"FUNCTION (?:EXTENDED )?(?:{NAME}|{STRING})",
    rf"(?:DATABASE|SCHEMA|NAMESPACE) (?:EXTENDED )?{NAME}",
)


def selects(statement: Statement, around: Surroundings, _beginning: int) -> Effect:
    tree = query_in((*statement.common, *statement.tokens), statement.text, place(statement))
    return Effect(around, selected=around.selected_by(tree).under(around.one_key))


def shows(statement: Statement, around: Surroundings, _beginning: int) -> Effect:
    kinds = _SHOW if statement.tokens[0].text.upper() == "SHOW" else _DESCRIBE
    if not any(fits(statement.tokens[1:], kind) for kind in kinds):
        raise NotUnderstoodError(f"{place(statement)}: Spark has no {statement.text[:80]!r}: leave it out")
    return Effect(around)
