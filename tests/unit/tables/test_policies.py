"""Which of several policies for one table counts: the operator and the command line ask the same function."""

from pathlib import Path

import pytest

from sluice.api.policy import DeltaTablePolicySpec
from sluice.controller.cache.policy_declarations import declarations
from sluice.offline.workspace import opened
from sluice.tables import LogStore, Policy, declarations_of, key_of_name, key_of_path

ORDERS = key_of_path("s3://lake/orders")


def policy(name: str, created: str | None = None, **spec: object) -> Policy:
    table = {"path": "s3://lake/orders"}
    return Policy(name, "etl", DeltaTablePolicySpec.model_validate({"table": table, **spec}), created)


@pytest.mark.parametrize("turned", [False, True])
def test_the_oldest_counts_then_the_first_by_name_and_one_that_was_never_applied_is_the_youngest(
    turned: bool,
) -> None:
    old, twin = policy("b", "2026-11-19T10:00:00Z"), policy("c", "2026-11-19T10:00:00Z")
    young, new = policy("a", "2026-11-19T11:00:00Z"), policy("a0")
    given = [new, young, twin, old]
    found = declarations_of(reversed(given) if turned else given)
    assert found.by_table[ORDERS].policy == "etl/b"
    assert [one.name for one, _ in found.left_out] == ["c", "a", "a0"]


@pytest.mark.parametrize("names", [("a.yaml", "b.yaml"), ("b.yaml", "a.yaml")])
def test_the_operator_and_the_command_line_heed_the_same_one(tmp_path: Path, names: tuple[str, str]) -> None:
    written = {
        "p": ("2026-11-19T11:00:00Z", {"path": "s3://lake/orders"}, "S3SingleDriver"),
        "q": ("2026-11-19T10:00:00Z", {"path": "s3a://lake/orders/", "name": "sales.orders"}, "S3DynamoDB"),
    }
    bodies = []
    for file, (name, (created, table, store)) in zip(names, written.items(), strict=True):
        metadata = {"name": name, "namespace": "etl", "creationTimestamp": created}
        bodies.append({"metadata": metadata, "spec": {"table": table, "logStore": store}})
        keys = ", ".join(f"{key}: {value}" for key, value in table.items())
        (tmp_path / file).write_text(
            f"kind: DeltaTablePolicy\nmetadata: {{name: {name}, namespace: etl, creationTimestamp: {created}}}\n"
            f"spec: {{table: {{{keys}}}, logStore: {store}}}\n"
        )
    offline, operator = opened([tmp_path]).knowledge, declarations(bodies)[0]
    assert offline.declarations.by_table == operator.by_table
    assert offline.declarations.by_table[ORDERS].declared.log_store is LogStore.S3_DYNAMODB
    assert offline.names.key_of(key_of_name("sales.orders")) == ORDERS
    (trouble,) = offline.troubles
    assert "etl/p: another policy is about the same table: etl/q counts" in trouble.why
