"""What a policy wants its table to be, and where it contradicts itself or wants what no table can be."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sluice.api.policy import DeltaTablePolicySpec, IsolationLevel
from sluice.delta.features import WANTED, problem_with_feature
from sluice.delta.properties import ISOLATION, canonical, problem_with, same
from sluice.policies.combinations import exclusions

MOST_CLUSTERING_COLUMNS = 4
"""Delta's own limit."""


@dataclass(frozen=True)
class Wish:
    """That a property has a value."""

    field: str
    """The policy's field, as the policy spells it."""
    name: str
    """The property, as Delta keeps it."""
    value: str
    means_as_much: frozenset[str] = frozenset()
    """Other values that the wish is content with."""


def wishes_of(spec: DeltaTablePolicySpec) -> tuple[Wish, ...]:
    """By field. Of a spec without problems, each property is in it once."""
    given = tuple(
        Wish(f"properties.{name}", canonical(name), value)
        for name, value in sorted((spec.properties or {}).items())
    )
    named = {wish.name for wish in given}
    switched = (
        Wish(f"features.{feature}", switch.property, switch.value, switch.means_on)
        for feature, switch in sorted(WANTED.items())
        if feature in (spec.features or ()) and switch.property not in named
    )
    return (*given, *switched)


def problems_with(spec: DeltaTablePolicySpec) -> tuple[str, ...]:
    """Sentences on what is wrong with what it wants, whatever table it is."""
    return tuple(_problems(spec))


def _problems(spec: DeltaTablePolicySpec) -> Iterator[str]:
    properties = spec.properties or {}
    for name, value in sorted(properties.items()):
        problem = problem_with(name, value)
        if problem is not None:
            yield f"spec.properties: {problem}"
    yield from _spelled_twice(properties)
    for feature in spec.features or ():
        problem = problem_with_feature(feature)
        if problem is not None:
            yield f"spec.features: {problem}"
    yield from _contradictions(spec)
    for clash in exclusions({wish.name: wish.value for wish in wishes_of(spec)}):
        yield f"spec: {clash.why}"
    yield from _problems_with_clustering(spec)


def _spelled_twice(properties: Mapping[str, str]) -> Iterator[str]:
    spellings: dict[str, list[str]] = {}
    for name in sorted(properties):
        spellings.setdefault(canonical(name), []).append(name)
    for names in spellings.values():
        if len(names) > 1:
            yield f"spec.properties: {' and '.join(names)} are one property to Delta: keep one of them"


def _contradictions(spec: DeltaTablePolicySpec) -> Iterator[str]:
    by_name = {canonical(name): (name, value) for name, value in (spec.properties or {}).items()}
    for feature in spec.features or ():
        switch = WANTED.get(feature)
        if switch is None or switch.property not in by_name:
            continue
        name, value = by_name[switch.property]
        if not any(same(name, value, on) for on in (switch.value, *switch.means_on)):
            yield f"spec.features wants {feature}, and spec.properties says {name}: {value!r}: remove one of them"
    if spec.isolation_level is IsolationLevel.WRITE_SERIALIZABLE and ISOLATION in by_name:
        name, value = by_name[ISOLATION]
        yield f"spec.isolationLevel says WriteSerializable, and spec.properties wants {name}: {value!r}: remove one of them"


def _problems_with_clustering(spec: DeltaTablePolicySpec) -> Iterator[str]:
    columns = spec.cluster_by or ()
    if len(columns) > MOST_CLUSTERING_COLUMNS:
        yield f"spec.clusterBy names {len(columns)} columns: Delta clusters by at most {MOST_CLUSTERING_COLUMNS}"
    if len({column.lower() for column in columns}) < len(columns):
        yield "spec.clusterBy names a column twice, for Delta knows columns in any case: name each once"
    for column in columns:
        if "${" in column:
            yield f"spec.clusterBy: Spark would substitute what stands in {column!r}: rename the column, or cluster by others"
