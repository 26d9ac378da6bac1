"""What the policies of the cluster declare, by table."""

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from sluice.api.policy import DeltaTablePolicySpec, PolicyTable
from sluice.api.problems import problems_of
from sluice.tables import Declarations, Policy, TableKey, declarations_of, keys_of

Json = dict[str, Any]


def declarations(bodies: Iterable[Json]) -> tuple[Declarations, tuple[str, ...]]:
    """And which policies do not count, and why. Where their names lead counts all the same."""
    policies, ignored, bound = [], [], []
    for body in bodies:
        metadata = body["metadata"]
        try:
            spec = DeltaTablePolicySpec.model_validate(body["spec"])
        except ValidationError as error:
            policy = f"{metadata['namespace']}/{metadata['name']}"
            why = problems_of(error, most=1)
            ignored.append(f"policy {policy} is not understood and does not count: {why}")
            bound.append(_table_alone(body["spec"]))
            continue
        policies.append(Policy(metadata["name"], metadata["namespace"], spec, metadata["creationTimestamp"]))
    found = declarations_of(policies, bound)
    ignored += [
        f"policy {policy.key} does not count, except for where its name leads: {older} is older and about the same table"
        for policy, older in found.left_out
    ]
    return found, tuple(ignored)


def _table_alone(spec: Json) -> tuple[TableKey | None, TableKey | None]:
    try:
        table = PolicyTable.model_validate(spec.get("table"))
    except ValidationError:
        return None, None
    return keys_of(table.name, table.path)
