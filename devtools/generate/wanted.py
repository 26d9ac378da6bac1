"""What a policy can want of a table, from the closed lists by which it is refused and compared."""

from collections.abc import Iterable, Iterator

from sluice.delta.exclusions import EXCLUSIONS
from sluice.delta.features import FEATURES, OLDEST_KNOWN, WANTED, in_words
from sluice.delta.properties import ENABLED_FORMATS, MAPPING, PROPERTIES, WRITES_ICEBERG_SINCE, Property
from sluice.delta.refused_properties import REFUSED, RefusedProperty

HEADER = f"""<!-- Generated from operator/sluice/delta by `./dev generate`: change the lists there, not this file. -->
# Properties and features of tables

What a [policy](policies.md) can say under `properties` and `features`: closed lists, from what open-source Delta Lake
{in_words(OLDEST_KNOWN)} to 4.4 takes. Anything else that begins with `delta.` is refused when the policy is applied, because
Delta would refuse it once a driver runs. Properties of your own have any other name and any value.

## Features

A feature is turned on by its property: to name either under `features` or under `properties` is the same wish.

| feature | its property | comes with | can be dropped again by ALTER TABLE ... DROP FEATURE |
| --- | --- | --- | --- |
"""
_PROPERTIES = """
## Properties

Names are spelled as here. *adds* is what another value than the default adds to the table's protocol: engines that do not know it
can no longer read or write the table.

| property | must be | not set, it means | adds | since Delta |
| --- | --- | --- | --- | --- |
"""
_LOST = """
What setting it loses, even if it is set back:

"""
_ICEBERG = f"""
`{ENABLED_FORMATS}` with iceberg is set only by jobs that run Delta {in_words(WRITES_ICEBERG_SINCE)} or newer: for want of the jar
delta-iceberg, older ones may fail with each later statement on the table, after its commit.
"""
_EXCLUSIVE = """
These exclude each other, so that a policy that wants both is refused:

"""
_REFUSED = """
## Refused

| property | why, and what to do |
| --- | --- |
"""


def render() -> str:
    return "".join(
        (
            HEADER,
            *map(_feature, WANTED),
            _PROPERTIES,
            *map(_property, PROPERTIES.values()),
            _ICEBERG,
            _LOST,
            *_losses(),
            _EXCLUSIVE,
            *(f"- {one.called} and {other.called}\n" for one, other in EXCLUSIONS),
            _REFUSED,
            *map(_refused, REFUSED),
        )
    )


def _feature(name: str) -> str:
    feature, switch = FEATURES[name], WANTED[name]
    dropped = (
        "never" if feature.droppable_since is None else f"from Delta {in_words(feature.droppable_since)} on"
    )
    return f"| `{name}` | `{switch.property}: {switch.value}` | {_names(feature.needs)} | {dropped} |\n"


def _property(one: Property) -> str:
    default = "none of these" if one.default is None else f"`{one.default}`" if one.default else "no format"
    values = one.values.must_be.replace("|", "\\|")
    adds = "" if one.feature is None else f"`{one.feature}`"
    if one.preview_before is not None:
        adds += f" (before Delta {in_words(one.preview_before)} a preview of it)"
    return f"| `{one.name}` | {values} | {default} | {adds} | {in_words(one.since)} |\n"


def _losses() -> Iterator[str]:
    for one in PROPERTIES.values():
        if one.lost_when_shorter is not None:
            yield f"- `{one.name}`, when it becomes shorter: {one.lost_when_shorter}\n"
        if one.lost_when_on is not None:
            yield f"- `{one.name}`, when it becomes true: {one.lost_when_on}\n"
    yield f"- `{MAPPING}`: taking it back rewrites all files of the table\n"


def _refused(one: RefusedProperty) -> str:
    return f"| {_names((*one.names, *(f'{beginning}*' for beginning in one.beginnings)))} | {one.why} |\n"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
