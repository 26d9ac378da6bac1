"""Finds what a table's own log tells of its writers, for a team that has installed nothing yet."""

from sluice.offline.history.log import HistoryCommit, LogNotFoundError, read_log
from sluice.offline.history.replay import Collision, CommitFate, HistoryReport, HistoryWriter, replayed

__all__ = [
    "Collision",
    "CommitFate",
    "HistoryCommit",
    "HistoryReport",
    "HistoryWriter",
    "LogNotFoundError",
    "read_log",
    "replayed",
]
