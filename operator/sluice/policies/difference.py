"""Where a table differs from its policy, and what would change it: at most one ALTER a kind.

Each commit of an ALTER makes others abort, so nothing is set that the table has already, however it is spelled there.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sluice.api.policy import DeltaTablePolicySpec, DialectName, IsolationLevel
from sluice.delta.features import why_irreversible, with_needed
from sluice.delta.properties import (
    FILE_RETENTION,
    ISOLATION,
    LOG_RETENTION,
    PROPERTIES,
    is_as_wanted,
    problem_with,
    same,
    spelled,
)
from sluice.delta.version import Version
from sluice.policies.alteration import Alteration, ClusterBy, SetProperties
from sluice.policies.cluster_columns import paths_of, why_it_cannot_cluster
from sluice.policies.combinations import (
    clashes,
    why_it_cannot_be_taken_back,
    why_later_writes_would_fail,
    why_no_way,
    why_not_for,
)
from sluice.policies.desired_state import DesiredState, problems_with, wishes_of
from sluice.policies.state import features_of, too_old, why_unwritable
from sluice.tables.policy_facts import declared_by, listed, wrong_facts
from sluice.tables.table_observation import TableState


@dataclass(frozen=True)
class Difference:
    field: str
    """The policy's field, such as properties.delta.appendOnly."""
    wanted: str
    found: str
    irreversible: str | None = None
    """Why changing it cannot be taken back."""
    forbidden: str | None = None
    """Why it is told and not tried, and what to do."""
    held_back: bool = False
    """Whether only allowIrreversible keeps it from being changed."""

    @property
    def is_tried(self) -> bool:
        return self.forbidden is None and not self.held_back


@dataclass(frozen=True)
class AlterationPlan:
    problems: tuple[str, ...] = ()
    """What is wrong with the policy itself; then nothing is changed."""
    not_compared: str | None = None
    """Why there is nothing to compare the policy with."""
    differences: tuple[Difference, ...] = ()
    changes: tuple[Alteration, ...] = ()
    """What changes all differences that are tried, in this order."""


def plan_of(spec: DeltaTablePolicySpec, state: TableState, version: Version | None) -> AlterationPlan:
    """Compares them. `version` is the version of Delta that the jobs run which would change the table; None: not known."""
    problems = problems_with(spec)
    if not state.exists:
        return AlterationPlan(problems, not_compared="the table does not exist yet")
    if state.unread is not None:
        return AlterationPlan(problems, not_compared=f"the table's log could not be read: {state.unread}")
    blocked = (
        "the policy is not followed before its problems are solved"
        if problems
        else why_unwritable(state, version)
    )
    properties = _of_properties(spec, state, version, blocked)
    tried = {
        wish.name: spelled(wish.name, wish.value) for wish, difference in properties if difference.is_tried
    }
    after = {**state.properties, **tried}
    clustering = _of_clustering(spec, replace(state, properties=after), blocked)
    changes: list[Alteration] = []
    if tried:
        changes.append(SetProperties(spec.table, _with_other_retention(tried, state.properties)))
    if clustering is not None and clustering.is_tried:
        changes.append(ClusterBy(spec.table, paths_of(spec.cluster_by or (), state.columns)))
    return AlterationPlan(
        problems,
        differences=(
            *_of_facts(spec, state),
            *(difference for _, difference in properties),
            *(() if clustering is None else (clustering,)),
        ),
        changes=tuple(changes),
    )


_INSTEAD = {
    "partitionBy": "no statement changes the partition columns of a table: correct the policy, or write the table anew",
    "isolationLevel": "it is a fact, which is not changed: correct the policy, or want delta.isolationLevel under properties, "
    "which open-source Delta sets to Serializable only",
}


def _of_facts(spec: DeltaTablePolicySpec, state: TableState) -> Iterator[Difference]:
    for one in wrong_facts(declared_by(spec), state.partition_by, _level_of(spec, state)):
        yield Difference(one.field, one.stated, one.found, forbidden=_INSTEAD[one.field])


def _level_of(spec: DeltaTablePolicySpec, state: TableState) -> IsolationLevel:
    found = state.properties.get(ISOLATION)
    if found is None:
        on_databricks = spec.dialect is not None and spec.dialect.name is DialectName.DATABRICKS
        return IsolationLevel.WRITE_SERIALIZABLE if on_databricks else IsolationLevel.SERIALIZABLE
    weak = found.lower() == IsolationLevel.WRITE_SERIALIZABLE.value.lower()
    return IsolationLevel.WRITE_SERIALIZABLE if weak else IsolationLevel.SERIALIZABLE


def _unordered(columns: Iterable[str]) -> list[str]:
    return sorted(column.lower() for column in columns)


Pair = tuple[DesiredState, Difference]


def _of_properties(
    spec: DeltaTablePolicySpec, state: TableState, version: Version | None, blocked: str | None
) -> tuple[Pair, ...]:
    pairs = tuple(
        (wish, _difference(spec, state, wish, version, blocked or _forbidden(state, wish, version)))
        for wish in wishes_of(spec)
        if not _has(state, wish)
    )
    return _without_clashes(pairs, state, version)


def _has(state: TableState, wish: DesiredState) -> bool:
    found = state.properties.get(wish.name)
    as_much = found is not None and any(same(wish.name, found, value) for value in wish.means_as_much)
    return as_much or is_as_wanted(wish.name, wish.value, found)


def _forbidden(state: TableState, wish: DesiredState, version: Version | None) -> str | None:
    known = PROPERTIES.get(wish.name)
    return (
        (None if known is None else too_old(known.since, wish.name, version))
        or why_no_way(wish.name, state.properties.get(wish.name), wish.value)
        or why_later_writes_would_fail(wish.name, wish.value, version)
        or why_not_for(state, wish.name, wish.value)
    )


def _difference(
    spec: DeltaTablePolicySpec,
    state: TableState,
    wish: DesiredState,
    version: Version | None,
    forbidden: str | None,
) -> Difference:
    irreversible = why_it_cannot_be_taken_back(state, wish.name, wish.value, version)
    return Difference(
        wish.field,
        wish.value,
        _found(state, wish.name),
        irreversible=irreversible,
        forbidden=forbidden,
        held_back=irreversible is not None and not spec.allow_irreversible,
    )


def _found(state: TableState, name: str) -> str:
    found = state.properties.get(name)
    if found is not None:
        return found
    known = PROPERTIES.get(name)
    return "not set" if known is None or not known.default else f"not set, which means {known.default}"


def _without_clashes(pairs: tuple[Pair, ...], state: TableState, version: Version | None) -> tuple[Pair, ...]:
    """Forbids what Delta would refuse beside the rest, until the rest is what it takes: one key of an ALTER that Delta
    refuses takes all others with it."""
    while True:
        tried = {wish.name: wish.value for wish, difference in pairs if difference.is_tried}
        found = clashes(state.properties, {**state.properties, **tried}, version)
        clash = next((one for one in found if not tried.keys().isdisjoint(one.properties)), None)
        if clash is None:
            return pairs
        pairs = tuple(
            (wish, replace(difference, forbidden=clash.why))
            if difference.is_tried and wish.name in clash.properties
            else (wish, difference)
            for wish, difference in pairs
        )


def _with_other_retention(tried: Mapping[str, str], found: Mapping[str, str]) -> Mapping[str, str]:
    """Delta compares the two retentions of a statement, and takes its default for the one that the statement leaves out,
    whatever the table has."""
    both = (LOG_RETENTION, FILE_RETENTION)
    if not any(name in tried for name in both):
        return tried
    kept = {name: found[name] for name in both if name in found and problem_with(name, found[name]) is None}
    return {**kept, **tried}


def _of_clustering(spec: DeltaTablePolicySpec, state: TableState, blocked: str | None) -> Difference | None:
    """Another order of the columns is no difference: rows that are alike lie together in each."""
    wanted = spec.cluster_by
    if wanted is None:
        return None
    if state.cluster_by is not None and _unordered(wanted) == _unordered(state.cluster_by):
        return None
    added = set(with_needed("clustering")) - features_of(state)
    irreversible = why_irreversible(added) if wanted else None
    return Difference(
        "clusterBy",
        listed(wanted),
        "not known" if state.cluster_by is None else listed(state.cluster_by),
        irreversible=irreversible,
        forbidden=blocked or why_it_cannot_cluster(state, wanted),
        held_back=irreversible is not None and not spec.allow_irreversible,
    )
