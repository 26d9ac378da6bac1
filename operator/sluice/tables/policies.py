"""Tells where policies' names lead, and whose facts about a table count. Every policy binds its name to its path. If there
are several for one table, the facts of the oldest count; among equally old ones, and those that no cluster has seen
yet, the first by name, then by namespace. The facts of the others do not count at all, because they may contradict
these."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sluice.api.policy import DeltaTablePolicySpec
from sluice.tables.identity import TableKey
from sluice.tables.names import NameAndLocation, Names, keys_of, names_of
from sluice.tables.policy_facts import Declared, declared_by


@dataclass(frozen=True, eq=False)
class Policy:
    name: str
    namespace: str
    """Empty if the manifest names none."""
    spec: DeltaTablePolicySpec
    created: str | None = None
    """The time as Kubernetes writes it, such as 2026-11-19T10:00:00Z; None for a manifest that was never applied."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @cached_property
    def table(self) -> tuple[TableKey | None, TableKey | None]:
        return keys_of(self.spec.table.name, self.spec.table.path)

    @cached_property
    def declared(self) -> Declared:
        return declared_by(self.spec)


@dataclass(frozen=True)
class Declaration:
    policy: str
    declared: Declared


@dataclass(frozen=True)
class Declarations:
    by_table: dict[TableKey, Declaration] = field(default_factory=dict)
    """Declarations by each table's one key."""
    names: Names = field(default_factory=Names)
    left_out: tuple[tuple[Policy, str], ...] = ()
    """Policies whose facts do not count, each with the key of the policy whose facts do."""

    @cached_property
    def tables(self) -> Mapping[str, TableKey]:
        """The table of each policy that counts, by the policy's key: by its location, where that is known."""
        found: dict[str, TableKey] = {}
        for key, one in self.by_table.items():
            if one.policy not in found or found[one.policy].is_name:
                found[one.policy] = key
        return found

    def declared(self, key: TableKey) -> Declared | None:
        found = self.by_table.get(self.names.key_of(key))
        return found.declared if found is not None else None

    def differing(self, other: "Declarations") -> set[TableKey]:
        """The tables of which `other` declares something else."""
        tables = self.by_table.keys() | other.by_table.keys()
        return {key for key in tables if self.by_table.get(key) != other.by_table.get(key)}

    def all_of(self, key: TableKey) -> Iterator[Declaration]:
        """Yields what is declared of a table: where its name leads to several locations, of each that it may be; of one
        that was named, also what is declared of that name."""
        if self.by_table:
            one = self.names.key_of(key)
            keys = (one, *_parsed(key.bound | one.bound))
            found = {known.policy: known for key in keys if (known := self.by_table.get(key)) is not None}
            yield from found.values()


def declarations_of(
    policies: Iterable[Policy],
    bound: Iterable[NameAndLocation] = (),
    claimed: Iterable[NameAndLocation] = (),
) -> Declarations:
    """Collects what policies declare. `bound` are names and locations of tables that are known from elsewhere, `claimed` those of
    which somebody speaks who has no say in them."""
    ordered = sorted(policies, key=_order)
    names = names_of([*(policy.table for policy in ordered), *bound], claimed)
    by_table: dict[TableKey, Declaration] = {}
    left_out = []
    for policy in ordered:
        keys = [names.key_of(key) for key in policy.table if key is not None]
        counts = next((by_table[key].policy for key in keys if key in by_table), None)
        if counts is not None:
            left_out.append((policy, counts))
            continue
        by_table.update(dict.fromkeys(keys, Declaration(policy.key, policy.declared)))
    return Declarations(by_table, names, tuple(left_out))


def _parsed(texts: Iterable[str]) -> tuple[TableKey, ...]:
    return tuple(map(TableKey.parse, sorted(texts)))


def _order(policy: Policy) -> tuple[bool, str, str, str]:
    return policy.created is None, policy.created or "", policy.name, policy.namespace
