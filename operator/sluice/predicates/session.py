"""The settings of the session in which a condition is read: the same text means different rows under other settings.

Only what changes the meaning of the conditions understood here is listed. Legacy switches of Spark
(`spark.sql.legacy.*`, `spark.sql.parser.escapedStringLiterals`, `spark.sql.ansi.doubleQuotedIdentifiers`) change it,
too: if one is set, do not parse at all but take `Anything`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Session:
    """Facts of the Spark session that runs the statement."""

    time_zone: str | None = None
    """spark.sql.session.timeZone; None if unknown: then timestamps aren't understood."""

    ansi: bool | None = None
    """spark.sql.ansi.enabled; None if unknown: then only what holds either way is believed."""

    case_sensitive: bool = False
    """spark.sql.caseSensitive"""

    days: tuple[date, ...] = ()
    """One of them is current_date() when the statement runs; empty if nothing is known of that."""
