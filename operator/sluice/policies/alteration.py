"""The statements that change a table to what its policy wants: one for all properties, one for the clustering columns."""

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.api.policy import PolicyTable
from sluice.predicates import quoted


@dataclass(frozen=True)
class SetProperties:
    table: PolicyTable
    properties: Mapping[str, str]

    @property
    def sql(self) -> str:
        given = ", ".join(
            f"{quoted(name)} = {quoted(self.properties[name])}" for name in sorted(self.properties)
        )
        return f"ALTER TABLE {named(self.table)} SET TBLPROPERTIES ({given})"


@dataclass(frozen=True)
class ClusterBy:
    table: PolicyTable
    columns: tuple[tuple[str, ...], ...]
    """Each a column, or the names on the way to a field within one. Empty: none."""

    @property
    def sql(self) -> str:
        columns = ", ".join(".".join(map(_in_backticks, path)) for path in self.columns)
        return f"ALTER TABLE {named(self.table)} CLUSTER BY {f'({columns})' if columns else 'NONE'}"


Alteration = SetProperties | ClusterBy


def named(table: PolicyTable) -> str:
    """By its path where the policy has one: that needs no catalog, and means the same under each profile."""
    if table.path is not None:
        return f"delta.{_in_backticks(table.path)}"
    return ".".join(map(_in_backticks, (table.name or "").split(".")))


def _in_backticks(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
