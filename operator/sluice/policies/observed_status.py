"""What a policy's status tells of its table: the table as it was seen, and where it differs from the policy."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from sluice.api.base import Json
from sluice.api.policy import DeltaTablePolicySpec
from sluice.api.policy_status import (
    MOST_COLUMNS,
    MOST_DRIFT,
    MOST_FEATURES,
    MOST_OPERATIONS,
    MOST_PROPERTIES,
    Drift,
    ForeignWriters,
    ObservedCommit,
    ObservedTable,
    Protocol,
)
from sluice.delta.properties import ISOLATION
from sluice.policies.desired_state import wishes_of
from sluice.policies.difference import Difference
from sluice.policies.state import features_of
from sluice.tables.table_observation import CLUSTERING, CommitSummary, LogHistory, TableObservation

_LONGEST_NAME = 256
_MOST_BYTES = 2**63
"""What no status takes, and no table has."""

Named = Callable[[str], str]
"""How a job, as namespace/name, perhaps behind a kind, is called in this policy's namespace."""


def observed_of(look: TableObservation, location: str, conflicts: int, named: Named) -> ObservedTable:
    """Tells of a table that was read."""
    state = look.state
    return ObservedTable(
        location=location,
        version=state.version,
        protocol=Protocol(reader=state.reader_version, writer=state.writer_version),
        features=tuple(sorted(features_of(state)))[:MOST_FEATURES],
        properties=_most_of(state.properties),
        partition_by=state.partition_by[:MOST_COLUMNS],
        cluster_by=(state.cluster_by or ())[:MOST_COLUMNS],
        size=_count_of(look.size),
        files=look.count,
        last_commits=_newest(look.history.last_by_operation.values(), named),
        foreign_writers=_foreign(look.history, named),
        conflicts_last_day=conflicts,
        read_at=look.at,
    )


def _count_of(bytes_: int | None) -> int | None:
    """A log may say anything of its files' sizes."""
    return bytes_ if bytes_ is not None and 0 <= bytes_ < _MOST_BYTES else None


def unless_same(before: Any, now: ObservedTable) -> Json:
    """What the status says of the table: as before, unless anything but the time of the read differs."""
    told = now.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(before, dict) and "readAt" in before and before | {"readAt": told["readAt"]} == told:
        return before
    return told


def drift_of(
    spec: DeltaTablePolicySpec,
    differences: Iterable[Difference],
    history: LogHistory,
    named: Named,
    before: Any = (),
) -> tuple[Drift, ...]:
    """Tells of the differences. `before`: what the status says of them, for what the log does not tell any more."""
    keys = {
        "clusterBy": CLUSTERING,
        "isolationLevel": ISOLATION,
        **{wish.field: wish.name for wish in wishes_of(spec)},
    }
    known = {one.field: one for one in map(_readable, before if isinstance(before, list) else ()) if one}
    return tuple(
        _told(one, history.changed_by.get(keys.get(one.field, "")), named, known.get(one.field))
        for one in list(differences)[:MOST_DRIFT]
    )


def author_of(commit: CommitSummary, named: Named) -> str:
    """Who made the commit, as far as the log says so."""
    if commit.job is not None:
        return named(f"job {commit.job}")
    return f"{commit.engine or 'a writer that does not name itself'} ({commit.operation or 'no operation named'})"


def _told(one: Difference, changed: CommitSummary | None, named: Named, before: Drift | None) -> Drift:
    since = None if changed is None else changed.at
    by = None if changed is None else f"{author_of(changed, named)} in version {changed.version}"
    drift = Drift(
        field=one.field,
        wanted=one.wanted,
        found=one.found,
        since=since,
        by=by,
        irreversible=one.irreversible,
        forbidden=one.forbidden,
        held_back=one.held_back,
    )
    if since is None and before is not None and before.found == drift.found:
        return drift.model_copy(update={"since": before.since, "by": before.by})
    return drift


def _readable(given: Any) -> Drift | None:
    try:
        return Drift.as_stored(given)
    except ValidationError:
        return None


def _most_of(properties: Mapping[str, str]) -> dict[str, str]:
    """As many as a status has room for."""
    short = sorted(name for name in properties if len(name) <= _LONGEST_NAME)
    deltas_first = sorted(short, key=lambda name: not name.lower().startswith("delta."))
    return {name: properties[name] for name in deltas_first[:MOST_PROPERTIES]}


def _newest(commits: Iterable[CommitSummary], named: Named) -> tuple[ObservedCommit, ...]:
    ordered = sorted(commits, key=lambda commit: commit.version, reverse=True)
    return tuple(_shown(commit, named) for commit in ordered[:MOST_OPERATIONS])


def _foreign(history: LogHistory, named: Named) -> ForeignWriters | None:
    if not history.foreign_commits:
        return None
    last = history.last_foreign
    return ForeignWriters(
        commits=history.foreign_commits,
        since=history.since,
        last=None if last is None else _shown(last, named),
    )


def _shown(commit: CommitSummary, named: Named) -> ObservedCommit:
    return ObservedCommit(
        operation=commit.operation,
        version=commit.version,
        at=commit.at,
        engine=commit.engine,
        job=None if commit.job is None else named(commit.job),
    )
