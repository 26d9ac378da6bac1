"""Finds what a table's own log tells of its writers, for a team that has installed nothing yet."""

from sluice.offline.history.log import Commit, LogNotFoundError, read_log
from sluice.offline.history.replay import Collision, Fate, History, Writer, replayed

__all__ = ["Collision", "Commit", "Fate", "History", "LogNotFoundError", "Writer", "read_log", "replayed"]
