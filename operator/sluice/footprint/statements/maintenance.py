"""OPTIMIZE, REORG, VACUUM and RESTORE, which the SQL parser does not read."""

from collections.abc import Mapping
from math import inf

from sqlglot.tokenizer_core import TokenType

from sluice.api.job import Operation
from sluice.delta.properties import FILE_RETENTION, PROPERTIES
from sluice.footprint.model import EVERYTHING, NOTHING, Metadata, ProtocolChange, TableFootprint
from sluice.footprint.sql.keywords import outside_parentheses, words
from sluice.footprint.sql.statement_context import StatementContext, there
from sluice.footprint.sql.word_patterns import GROUP, NAME, NAMES, NUMBER
from sluice.footprint.statements.insert import refuse_unknown
from sluice.predicates import Region

_SORTED = rf"ZORDER BY (?:\( {NAMES} \)|{NAMES})"
AFTER_OPTIMIZE = rf"(?:FULL)?(?: ?WHERE (?:(?! ZORDER ).)+)?(?: ?{_SORTED})?"
AFTER_REORG = r"(?:WHERE .+ )?APPLY \( PURGE \)|APPLY \( UPGRADE UNIFORM \( \) \)"
_OF_VACUUM = rf"FULL|LITE|USING INVENTORY (?:{NAME}|{GROUP})|RETAIN {NUMBER} HOURS|DRY RUN"
AFTER_VACUUM = rf"(?: ?(?:{_OF_VACUUM}))*"
AFTER_RESTORE = r"(?:TO )?(?:FOR )?(?:(?:SYSTEM_)?VERSION AS OF (?:0|')|(?:SYSTEM_TIME|TIMESTAMP) AS OF ')"

_HOUR = 3600 * 10**6
"""Microseconds."""
DATA_RETENTION = FILE_RETENTION
_NAME_PARTITIONS = "name the partitions to compact: OPTIMIZE table WHERE ..."


def optimize(reading: StatementContext) -> TableFootprint:
    """OPTIMIZE: rewrites the same rows, ignores added files, and starts again after most changes of metadata."""
    rest = reading.statement.tokens[reading.end :]
    sorts = next((position for position, word in outside_parentheses(rest) if word == "ZORDER"), None)
    if sorts is None:
        return rewrite(reading, _where(reading))
    names = [
        token.text for token in rest[sorts + 2 :] if token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
    ]
    if not any(token.token_type is TokenType.DOT for token in rest[sorts:]):
        refuse_unknown(reading, names)
    return rewrite(reading, _where(reading), not_by_row="it uses ZORDER BY")


def rewrite(reading: StatementContext, region: Region, *, not_by_row: str | None = None) -> TableFootprint:
    names_some = reading.facts is None and region is not EVERYTHING  # its columns would tell which
    return reading.footprint(
        Operation.OPTIMIZE,
        reads=NOTHING,
        reads_files=region,
        adds=region,
        removes=region,
        data_change=False,
        retries_itself=True,
        not_by_row=not_by_row,
        not_understood=() if reading.unread is None else (reading.unread,),
        reads_advice=_NAME_PARTITIONS if region.is_everything and not names_some else None,
    )


def reorg(reading: StatementContext) -> TableFootprint:
    """REORG: APPLY (PURGE) rewrites files as OPTIMIZE does; the other kinds also change the protocol."""
    rest = words(reading.statement.tokens[reading.end :])
    if "PURGE" in rest:
        return rewrite(
            reading, _where(reading), not_by_row="it is REORG, which no document describes further"
        )
    return reading.footprint(
        Operation.OPTIMIZE, metadata=Metadata.MAY_CHANGE, protocol=ProtocolChange.MAY_ADD
    )


def _where(reading: StatementContext) -> Region:
    if reading.unread is not None:
        return Region(EVERYTHING.boxes, {}, (reading.unread,))
    tokens, start, end = reading.statement.tokens, None, len(reading.statement.tokens)
    for position, word in outside_parentheses(tokens):
        if position < reading.end:
            continue
        if word == "WHERE" and start is None:
            start = position + 1
        elif word in ("ZORDER", "APPLY"):
            end = min(end, position)
    if start is None or start >= end:
        return EVERYTHING
    return there(reading.predicate(reading.condition(start, end), reading.own_names))


def vacuum(reading: StatementContext) -> TableFootprint:
    rest = words(reading.statement.tokens[reading.end :])
    if rest[-2:] == ["DRY", "RUN"]:
        return vacuumed(reading, None)
    return vacuumed(reading, min(_told_to_retain(reading, rest), table_retention(reading)))


def vacuumed(reading: StatementContext, retention_hours: float | None) -> TableFootprint:
    """VACUUM: commits nothing that others could lose to, but can delete files that others still write or read."""
    return reading.footprint(
        Operation.VACUUM,
        reads=NOTHING,
        reads_files=NOTHING,
        adds=NOTHING,
        removes=NOTHING,
        data_change=False,
        retention_hours=retention_hours,
    )


def _told_to_retain(reading: StatementContext, rest: list[str]) -> float:
    """The hours after RETAIN, which can only shorten what the table says: newer versions of Delta pass over it unless it is 0, and
    none remembers for longer than the table says which files were removed."""
    if "RETAIN" not in rest:
        return inf
    place = reading.end + rest.index("RETAIN") + 1
    number = reading.statement.tokens[place].text if place < len(reading.statement.tokens) else ""
    try:
        return float(number)
    except ValueError:
        raise reading.refused(f"VACUUM ... RETAIN needs a number of hours, not {number!r}") from None


def table_retention(reading: StatementContext) -> float:
    """Hours for which the table keeps files that no version needs any more; 0 where nothing is known of it."""
    if reading.facts is None:
        return 0.0
    return hours_kept_by(reading.facts.properties) or 0.0


def hours_kept_by(properties: Mapping[str, str]) -> float | None:
    """The same from a table's properties; None where what they say is not understood, or is longer than Delta can count: it takes
    that for a shorter time, or for none."""
    kept = PROPERTIES[DATA_RETENTION].meaning_of(properties.get(DATA_RETENTION))
    return kept / _HOUR if isinstance(kept, int) else None


def hours_set_by(given: Mapping[str, str | None]) -> float:
    """The same from the properties that a statement gives to a table: 0 where they don't say, since what they leave to the defaults
    of a session is not all known. Of one that is given in several spellings any may count."""
    said = (value for key, value in given.items() if key.lower() == DATA_RETENTION.lower())
    return min((hours_kept_by({DATA_RETENTION: value or ""}) or 0.0 for value in said), default=0.0)


def restore(reading: StatementContext) -> TableFootprint:
    """RESTORE: tries to commit only once, and brings back the files, metadata and protocol of another version."""
    return reading.footprint(
        Operation.RESTORE,
        metadata=Metadata.RESTORES,
        protocol=ProtocolChange.MAY_ADD,
        ends_readers=True,
        single_attempt=True,
        leaves_retention_hours=0.0,
    )
