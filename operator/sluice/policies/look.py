"""What one look at a table's log told: one version of the table, its files, and what commits have said so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sluice.policies.gain import File, LastVacuum, Removals
from sluice.policies.state import TableState
from sluice.tables import TableFacts

CLUSTERING = "clusterBy"
"""The key of `History.changed_by` under which the clustering columns stand; all others are names of properties."""


@dataclass(frozen=True)
class Commit:
    version: int
    at: datetime
    operation: str | None
    """As the log names it, such as MERGE. None: the commit says nothing of itself."""
    engine: str | None
    """As the log names it, such as delta-rs:1.6.6."""
    job: str | None
    """The job that made it, as namespace/name. None: it is foreign."""


@dataclass(frozen=True)
class History:
    """What commits told that were read one after another, each once. What is older than `since` is not known."""

    since: datetime | None = None
    """None: all commits since the table was created are known."""
    last_by_operation: Mapping[str, Commit] = field(default_factory=dict)
    foreign_commits: int = 0
    last_foreign: Commit | None = None
    changed_by: Mapping[str, Commit] = field(default_factory=dict)
    """The commit that last changed a property, or the clustering columns."""
    removals: Removals = field(default_factory=lambda: Removals(at=()))
    last_vacuum: LastVacuum | None = None


@dataclass(frozen=True)
class Look:
    at: datetime
    """When the read began."""
    state: TableState
    facts: TableFacts
    files: tuple[File, ...] | None = None
    """None: not known, or too many to be kept."""
    size: int | None = None
    """Bytes of the files of this version."""
    count: int | None = None
    """How many files this version has."""
    history: History = field(default_factory=History)
