"""Which policy counts for a table, and where a policy's name leads. One policy a table: of several the oldest counts, of
equally old ones and of those that no cluster has seen yet the first by name, then by namespace. The others do not count at
all, because what they say may contradict it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sluice.api.policy import DeltaTablePolicySpec
from sluice.tables.declared import Declared, declared_by
from sluice.tables.identity import TableKey, key_of_name, key_of_path


@dataclass(frozen=True, eq=False)
class Policy:
    name: str
    namespace: str
    """Empty if its manifest says none."""
    spec: DeltaTablePolicySpec
    created: str | None = None
    """As Kubernetes writes it, such as 2026-11-19T10:00:00Z; None of a manifest that was never applied."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True)
class Declaration:
    policy: str
    location: TableKey | None
    """Where the log is of what the policy names."""
    declared: Declared


@dataclass(frozen=True)
class Declarations:
    by_table: dict[TableKey, Declaration] = field(default_factory=dict)
    """Under the path and under the name that a policy binds to it."""
    left_out: tuple[tuple[Policy, str], ...] = ()
    """Policies that do not count, and the key of the one that does."""

    def location_of(self, key: TableKey) -> TableKey:
        """A name's, if a policy says it; else the key itself."""
        found = self.by_table.get(key)
        return found.location if found is not None and found.location is not None else key

    def declared(self, key: TableKey) -> Declared | None:
        found = self.by_table.get(key)
        return found.declared if found is not None else None


def declarations_of(policies: Iterable[Policy]) -> Declarations:
    by_table: dict[TableKey, Declaration] = {}
    left_out = []
    for policy in sorted(policies, key=_order):
        table = policy.spec.table
        location = key_of_path(table.path) if table.path is not None else None
        name = key_of_name(table.name) if table.name is not None else None
        keys = [key for key in (location, name) if key is not None]
        counts = next((by_table[key].policy for key in keys if key in by_table), None)
        if counts is not None:
            left_out.append((policy, counts))
            continue
        by_table.update(dict.fromkeys(keys, Declaration(policy.key, location, declared_by(policy.spec))))
    return Declarations(by_table, tuple(left_out))


def _order(policy: Policy) -> tuple[bool, str, str, str]:
    return policy.created is None, policy.created or "", policy.name, policy.namespace
