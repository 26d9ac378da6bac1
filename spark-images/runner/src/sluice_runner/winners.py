"""The commit that won a conflict: what Delta's message tells of it, completed from the table's log.

Up to 4.0 Delta's messages hold the winner's CommitInfo as JSON; since 4.1 some of them have a sentence with its operation,
its version and the partition instead. Neither tells everything, so the rest is read from the log, and only where exactly one
commit can be meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluice_runner.commits import Commit
from sluice_runner.stamp import read_stamp

_SENTENCE = re.compile(
    r"a concurrent (?P<operation>.{1,80}?) (?:added data to|deleted data from) table .*?"
    r"committed at version (?P<version>\d+)",
    re.DOTALL,
)
_COMMIT = "Conflicting commit: {"
_OPERATION = re.compile(r'"operation":"([^"\\]*)"')
_READ_VERSION = re.compile(r'"readVersion":(\d{1,18})\b')
_USER_METADATA = re.compile(r'"userMetadata":("(?:[^"\\]|\\.)*")')
_ENGINE = re.compile(r'"engineInfo":("(?:[^"\\]|\\.)*")')

_IN_PARTITION = re.compile(
    r"\bin the partition \[(?P<partition>.*?)\] that (?:should have been|was) read by", re.DOTALL
)
_ADDED_TO = re.compile(
    r"Files were added to (?:partition \[(?P<partition>.*?)\]|(?P<root>the root of the table)) by a concurrent update",
    re.DOTALL,
)
_DELETED = re.compile(
    r"that were deleted \(for example (?P<file>\S+)"
    r"(?: in (?:partition \[(?P<partition>.*?)\]|(?P<root>the root of the table)))?\) by a concurrent update",
    re.DOTALL,
)


@dataclass(frozen=True)
class Winner:
    """The commit that won the conflict, as far as it is known."""

    version: int | None
    operation: str | None
    user_metadata: str | None
    engine: str | None = None
    read_version: int | None = None
    in_log: bool = False
    """Whether it was found in the table's log: only then does it tell anything that it carries no stamp."""
    table: str | None = None
    """Where that table is."""

    @property
    def stamp(self) -> Mapping[str, Any] | None:
        return read_stamp(self.user_metadata)

    @property
    def foreign(self) -> bool | None:
        """Whether no Sluice job made it; None where that isn't known."""
        if self.stamp is not None:
            return False
        return True if self.in_log else None


def winner_in(message: str) -> Winner | None:
    """The commit that won, from Delta's message: from its CommitInfo or from a sentence.

    The CommitInfo isn't parsed as JSON, because up to 4.0 its parameters lack their quotes. What is needed comes
    before them (the operation) and after them: there the last match counts, since parameters may hold any text.
    """
    _, found, commit = message.partition(_COMMIT)
    if found:
        operation = _OPERATION.search(commit)
        read_versions = _READ_VERSION.findall(commit)
        return Winner(
            version=None,
            operation=operation.group(1) if operation is not None else None,
            user_metadata=_last_text(_USER_METADATA, commit),
            engine=_last_text(_ENGINE, commit),
            read_version=int(read_versions[-1]) if read_versions else None,
        )
    sentence = _SENTENCE.search(message)
    if sentence is None:
        return None
    return Winner(int(sentence["version"]), sentence["operation"], None)


def _last_text(pattern: re.Pattern[str], commit: str) -> str | None:
    found = pattern.findall(commit)
    if not found:
        return None
    try:
        text: str = json.loads(found[-1])
    except ValueError:
        # Not as Delta writes it: a control character, or an escape that JSON doesn't know.
        return None
    return text


def partition_in(message: str) -> str | None:
    """Where the two met, in Delta's words: a partition; of a table without any, its root or the file; None if it says neither."""
    # Behind these words a message holds what somebody else wrote: the winner's CommitInfo.
    said, _, _ = message.partition(_COMMIT)
    for pattern in (_IN_PARTITION, _ADDED_TO, _DELETED):
        found = pattern.search(said)
        if found is not None:
            parts = found.groupdict()
            return parts.get("partition") or parts.get("root") or parts.get("file")
    return None


def completed(winner: Winner | None, found: Sequence[Commit]) -> Winner | None:
    """Completes the winner from the commits that were made since the statement began, where only one of them can be meant.

    A conflict whose message tells of no commit has lost to one of these; so if there is only one, that is it.
    """
    matching = [commit for commit in found if winner is None or _may_be(winner, commit)]
    if len(matching) != 1:
        return winner
    commit = matching[0]
    return Winner(
        commit.version,
        commit.operation or (None if winner is None else winner.operation),
        commit.user_metadata,
        commit.engine,
        commit.read_version,
        in_log=True,
        table=commit.table,
    )


def _may_be(winner: Winner, commit: Commit) -> bool:
    if winner.version is not None:
        # What another engine wrote may say nothing of itself.
        return winner.version == commit.version and commit.operation in ("", winner.operation)
    return (
        winner.operation == commit.operation
        and winner.user_metadata == commit.user_metadata
        and winner.engine in (None, commit.engine)
        and winner.read_version in (None, commit.read_version)
    )
