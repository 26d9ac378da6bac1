"""Delta's conflict rules: from a pair of footprints and facts about the tables to verdicts, each with its reason."""

from sluice.conflicts.oracle import (
    Conflict,
    Pair,
    PairOrder,
    conflict_at_rest,
    conflict_between,
    conflict_where_met,
    pair_of,
)
from sluice.conflicts.verdict import Level, Verdict

__all__ = [
    "Conflict",
    "Level",
    "Pair",
    "PairOrder",
    "Verdict",
    "conflict_at_rest",
    "conflict_between",
    "conflict_where_met",
    "pair_of",
]
