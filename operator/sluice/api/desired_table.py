"""What a policy can want of its table: properties, features and clustering columns, by the closed lists of what Delta takes.

What no table can be is refused here with what to write instead; what depends on the table is told in the policy's status.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from sluice.api.bounds import EACH_ONCE, NOT_EMPTY
from sluice.api.settings import short_keys
from sluice.api.sql import ColumnName
from sluice.api.validation import (
    Checked,
    Validation,
    cel_list,
    cel_matches,
    cel_string,
    never_matching,
    searching,
)
from sluice.delta.exclusions import EXCLUSIONS, Use, why_not_both
from sluice.delta.features import BY_OTHER_MEANS, FEATURES, WANTED
from sluice.delta.properties import ISOLATION, PROPERTIES, Property
from sluice.delta.refused_properties import DELTAS_OWN, REFUSED, UNKNOWN, RefusedProperty

MOST_CLUSTERING_COLUMNS = 4
"""Delta's own limit."""


def _with_value(one: Property) -> Validation:
    key, found = cel_string(one.name), searching(one.values.pattern)
    return Validation(
        f"!({key} in self) || {cel_matches(f'self[{key}]', one.values.pattern)}",
        f"{one.name} must be {one.values.must_be}",
        lambda entries: one.name not in entries or found(entries[one.name]),
    )


def _without_name(name: str, why: str) -> Validation:
    return Validation(f"!({cel_string(name)} in self)", f"{name} {why}", lambda entries: name not in entries)


def _without_beginning(beginning: str, why: str) -> Validation:
    return Validation(
        f"self.all(key, !key.startsWith({cel_string(beginning)}))",
        f"{beginning}* {why}",
        lambda entries: not any(key.startswith(beginning) for key in entries),
    )


def _without(refused: RefusedProperty) -> Iterator[Validation]:
    for name in refused.names:
        yield _without_name(name, refused.why)
    for beginning in refused.beginnings:
        yield _without_beginning(beginning, refused.why)


_TOLD = [*PROPERTIES, *(name for refused in REFUSED for name in refused.names)]
_TOLD_BY_BEGINNING = tuple(beginning for refused in REFUSED for beginning in refused.beginnings)
_is_deltas = searching(DELTAS_OWN)
_KNOWN = Validation(
    f"self.all(key, !{cel_matches('key', DELTAS_OWN)} || key in {cel_list(_TOLD)} || "
    f"{' || '.join(f'key.startsWith({cel_string(one)})' for one in _TOLD_BY_BEGINNING)})",
    UNKNOWN,
    lambda entries: all(
        not _is_deltas(key) or key in _TOLD or key.startswith(_TOLD_BY_BEGINNING) for key in entries
    ),
)

Properties = Annotated[
    dict[str, Annotated[str, Field(max_length=1024)]],
    Field(max_length=64),
    Checked(
        short_keys(256, "a property's name"),
        _KNOWN,
        *(one for refused in REFUSED for one in _without(refused)),
        *map(_with_value, PROPERTIES.values()),
    ),
]

_WRITE_ONE_OF = f"write one of {', '.join(WANTED)}"
_BY_USE = [name for name in FEATURES if name not in WANTED and name not in BY_OTHER_MEANS]


def _not_named(name: str, instead: str) -> Validation:
    return Validation(
        f"self != {cel_string(name)}",
        f"is not wanted by its name: {instead}",
        lambda given: given != name,
    )


Feature = Annotated[
    str,
    Field(max_length=64),
    Checked(
        Validation(
            f"self in {cel_list(FEATURES)} || {cel_matches('self', DELTAS_OWN)}",
            f"is no feature that Sluice can turn on: {_WRITE_ONE_OF}",
            lambda name: name in FEATURES or _is_deltas(name),
        ),
        never_matching(
            DELTAS_OWN,
            f"is a property's name: write it under properties, or name the feature: {_WRITE_ONE_OF}",
        ),
        Validation(
            f"!(self in {cel_list(_BY_USE)})",
            "cannot be wanted: a table gets it by what it is used for, such as a column's type; remove it",
            lambda name: name not in _BY_USE,
        ),
        *(_not_named(name, instead) for name, instead in BY_OTHER_MEANS.items()),
    ),
]
Features = Annotated[tuple[Feature, ...], Field(max_length=32), Checked(NOT_EMPTY, EACH_ONCE)]


def _lowered(text: str) -> str:
    """As CEL's lowerAscii does."""
    return "".join(one.lower() if one.isascii() else one for one in text)


ClusteringColumns = Annotated[
    tuple[
        Annotated[
            ColumnName,
            Checked(
                never_matching(
                    "[$][{]", "is no column that Spark takes: it would substitute what stands in ${...}"
                )
            ),
        ],
        ...,
    ],
    Field(max_length=MOST_CLUSTERING_COLUMNS),
    Checked(
        Validation(
            "self.all(a, self.exists_one(b, a.lowerAscii() == b.lowerAscii()))",
            "must name each column once: Delta knows columns in any case",
            lambda columns: len(set(map(_lowered, columns))) == len(columns),
        )
    ),
]


def _cel_has(name: str, pattern: str) -> str:
    key = cel_string(name)
    found = cel_matches(f"self.properties[{key}]", pattern)
    return f"(has(self.properties) && {key} in self.properties && {found})"


def _has(spec: Any, name: str, pattern: str) -> bool:
    value = (spec.properties or {}).get(name)
    return value is not None and searching(pattern)(value)


def _against_its_property(feature: str) -> Validation:
    switch = WANTED[feature]
    key = cel_string(switch.property)
    on = f"(?i)^({'|'.join((switch.value, *sorted(switch.means_on)))})$"
    return Validation(
        f"!has(self.features) || !({cel_string(feature)} in self.features) || !has(self.properties) "
        f"|| !({key} in self.properties) || {cel_matches(f'self.properties[{key}]', on)}",
        f"features wants {feature}, and properties sets {switch.property} to something else than {switch.value}: remove one of "
        "them",
        lambda spec: (
            feature not in (spec.features or ())
            or switch.property not in (spec.properties or {})
            or _has(spec, switch.property, on)
        ),
    )


_FEATURE_OF = {switch.property: feature for feature, switch in WANTED.items()}


def _exclusive(one: Use, other: Use) -> Validation:
    return Validation(
        f"!({_cel_uses(one)}) || !({_cel_uses(other)})",
        why_not_both(one, other),
        lambda spec: not (_uses(spec, one) and _uses(spec, other)),
    )


def _cel_uses(use: Use) -> str:
    has = _cel_has(use.property, use.pattern)
    feature = _FEATURE_OF.get(use.property)
    if feature is None:
        return has
    return f"{has} || has(self.features) && {cel_string(feature)} in self.features"


def _uses(spec: Any, use: Use) -> bool:
    return _has(spec, use.property, use.pattern) or _FEATURE_OF.get(use.property) in (spec.features or ())


CONTRADICTIONS = (
    *map(_against_its_property, WANTED),
    *(_exclusive(one, other) for one, other in EXCLUSIONS),
    Validation(
        "!has(self.isolationLevel) || self.isolationLevel != 'WriteSerializable' || !has(self.properties) "
        f"|| !({cel_string(ISOLATION)} in self.properties)",
        f"isolationLevel says WriteSerializable, and properties sets {ISOLATION}, which can be Serializable only: remove one of "
        "them",
        lambda spec: spec.isolation_level != "WriteSerializable" or ISOLATION not in (spec.properties or {}),
    ),
)
"""Of the whole spec."""
