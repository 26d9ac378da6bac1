"""What a policy declares, beside what the log says."""

from dataclasses import replace
from typing import Any

import pytest

from sluice.api.job import Risk
from sluice.api.policy import DeltaTablePolicySpec, UnknownFootprint
from sluice.predicates import Table
from sluice.tables import (
    AdmissionRules,
    Declared,
    Dialect,
    LogStore,
    TableFacts,
    databricks,
    declared_by,
    known,
    oss,
    unread,
    wrong_facts_in,
)

FOUND = TableFacts(columns=Table.of({"id": "bigint", "date": "date"}, ["date"]))


def declared(**spec: Any) -> Declared:
    return declared_by(DeltaTablePolicySpec.model_validate({"table": {"path": "/lake/t"}} | spec))


@pytest.mark.parametrize(
    ("spec", "dialect"),
    [
        ({}, None),
        ({"dialect": {"name": "oss"}}, oss(None)),
        ({"dialect": {"name": "oss", "version": "4.4.0"}}, oss("4.4.0")),
        ({"dialect": {"name": "databricks", "runtime": "15.4"}}, databricks("15.4")),
    ],
)
def test_the_dialect_comes_from_the_policy_alone(spec: dict[str, Any], dialect: Dialect | None) -> None:
    assert known(FOUND, declared(**spec)).dialect == dialect


@pytest.mark.parametrize(
    ("kind", "store"),
    [
        ("Safe", LogStore.SAFE),
        ("S3SingleDriver", LogStore.S3_SINGLE_DRIVER),
        ("S3DynamoDB", LogStore.S3_DYNAMODB),
    ],
)
def test_so_does_the_log_store(kind: str, store: LogStore) -> None:
    assert known(FOUND, declared(logStore=kind)).log_store is store


def test_what_the_log_says_overrules_what_is_declared() -> None:
    said = declared(partitionBy=["region"], isolationLevel="WriteSerializable")
    assert known(FOUND, said) == FOUND
    assert [(one.field, one.stated, one.found) for one in wrong_facts_in(FOUND, said)] == [
        ("partitionBy", "region", "date"),
        ("isolationLevel", "WriteSerializable", "Serializable"),
    ]


@pytest.mark.parametrize(
    "spec", [{}, {"partitionBy": ["DATE"]}, {"partitionBy": ["date"], "isolationLevel": "Serializable"}]
)
def test_what_agrees_is_no_drift(spec: dict[str, Any]) -> None:
    assert wrong_facts_in(FOUND, declared(**spec)) == ()


def test_a_log_without_a_level_is_write_serializable_to_databricks_alone() -> None:
    on_databricks = {"dialect": {"name": "databricks", "runtime": "15.4", "photon": True}}
    assert wrong_facts_in(FOUND, declared(isolationLevel="WriteSerializable", **on_databricks)) == ()
    assert [
        one.found for one in wrong_facts_in(FOUND, declared(isolationLevel="Serializable", **on_databricks))
    ] == ["WriteSerializable"]


@pytest.mark.parametrize("found", [unread("no answer"), TableFacts(columns=Table.of([]), exists=False)])
def test_nothing_drifts_from_what_is_not_known(found: TableFacts) -> None:
    assert wrong_facts_in(found, declared(partitionBy=["date"])) == ()


def test_without_a_policy_the_log_speaks_alone() -> None:
    assert known(FOUND, None) is FOUND


def test_what_a_policy_leaves_open_stays_as_it_was_found() -> None:
    found = replace(FOUND, dialect=oss("4.4.0"), log_store=LogStore.S3_DYNAMODB)
    assert known(found, declared()) == found
    assert known(found, declared(logStore="Safe")).log_store is LogStore.SAFE


def test_what_is_assumed_counts_at_the_declared_level_and_only_where_nothing_was_found() -> None:
    said = declared(isolationLevel="WriteSerializable")
    assumed = TableFacts(columns=Table.of({"date": "date"}, ["date"]))
    assert known(unread("no log is given"), said, assumed) == replace(assumed, write_serializable=True)
    assert known(FOUND, said, assumed) == FOUND


def test_it_says_how_writes_are_admitted_and_by_default_restricts_nothing() -> None:
    assert declared().admission == AdmissionRules()
    said = {
        "maxWriters": 3,
        "risk": "Optimistic",
        "unknownFootprint": "Reject",
        "defaultTimeout": "2h",
        "ageAfter": "5m",
    }
    assert declared(admission=said, allowedNamespaces=["etl", "ml"]).admission == AdmissionRules(
        max_writers=3,
        risk=Risk.OPTIMISTIC,
        unknown_footprint=UnknownFootprint.REJECT,
        default_timeout="2h",
        age_after="5m",
        allowed_namespaces=frozenset({"etl", "ml"}),
    )


@pytest.mark.parametrize(
    ("allowed", "namespace", "is_allowed"),
    [(None, "etl", True), (["etl"], "etl", True), (["etl"], "etl-2", False)],
)
def test_namespaces_are_allowed_by_their_whole_names(
    allowed: list[str] | None, namespace: str, is_allowed: bool
) -> None:
    said = {} if allowed is None else {"allowedNamespaces": allowed}
    assert declared(**said).admission.allows(namespace) is is_allowed
