"""Objects as the API server would give them."""

from typing import Any

from sluice.api.base import Json
from sluice.controller.leadership.epoch_policy import EpochPolicy
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.predicates import Table
from sluice.tables import TableFacts

PARTITIONED = TableFacts(columns=Table.of({"id": "bigint", "date": "date"}, ["date"]))
UPDATE = "UPDATE delta.`/lake/orders` SET id = 1 WHERE date = DATE '2026-11-19'"


def unfenced() -> EpochPolicy:
    """Where no admission policy is expected, so that nobody is asked."""
    nobody: Any = None
    return EpochPolicy(nobody, OperatorConditions(), "sluice-system", "sluice", is_expected=False)


def job_body(name: str, *, version: int = 1, generation: int = 1, **spec: Any) -> Json:
    return {
        "metadata": {
            "name": name,
            "namespace": "etl",
            "uid": f"uid-{name}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-11-19T10:00:00Z",
            "generation": generation,
        },
        "spec": spec or {"sql": UPDATE},
    }


def policy_body(
    name: str,
    *,
    namespace: str = "etl",
    created: str = "10:00:00",
    version: int = 1,
    generation: int = 1,
    **spec: Any,
) -> Json:
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"policy-{name}",
            "resourceVersion": str(version),
            "creationTimestamp": f"2026-11-19T{created}Z",
            "generation": generation,
        },
        "spec": spec,
    }


def merged(before: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    after = dict(before) if isinstance(before, dict) else {}
    for name, value in patch.items():
        if value is None:
            after.pop(name, None)
        else:
            after[name] = merged(after.get(name), value)
    return after
