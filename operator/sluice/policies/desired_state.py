"""What a policy wants its table to be. Most of what no table can be is refused when a policy is applied; what only a reader of the
values finds is told here."""

from dataclasses import dataclass

from sluice.api.policy import DeltaTablePolicySpec
from sluice.delta.features import WANTED
from sluice.delta.properties import problem_with


@dataclass(frozen=True)
class DesiredState:
    """That a property has a value."""

    field: str
    """The policy's field."""
    name: str
    """The property."""
    value: str
    means_as_much: frozenset[str] = frozenset()
    """Other values that the wish is content with."""


def wishes_of(spec: DeltaTablePolicySpec) -> tuple[DesiredState, ...]:
    """By field; each property is in it once."""
    given = tuple(
        DesiredState(f"properties.{name}", name, value)
        for name, value in sorted((spec.properties or {}).items())
    )
    named = {wish.name for wish in given}
    switched = (
        DesiredState(f"features.{feature}", switch.property, switch.value, switch.means_on)
        for feature, switch in sorted(WANTED.items())
        if feature in (spec.features or ()) and switch.property not in named
    )
    return (*given, *switched)


def wants_of_the_table(spec: DeltaTablePolicySpec) -> bool:
    return bool(spec.properties or spec.features) or spec.cluster_by is not None


def problems_with(spec: DeltaTablePolicySpec) -> tuple[str, ...]:
    """Sentences on what is wrong with what it wants, whatever table it is, beyond what its schema refuses."""
    found = (problem_with(name, value) for name, value in sorted((spec.properties or {}).items()))
    return tuple(f"spec.properties: {problem}" for problem in found if problem is not None)
