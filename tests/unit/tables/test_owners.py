"""Which namespaces may have policies for which tables, where the operator's configuration says so."""

from typing import Any

import pytest
from pydantic import ValidationError

from sluice.tables import key_of_name, key_of_path
from sluice.tables.owners import Owners, TableOwner


def _owner(**fields: Any) -> TableOwner:
    return TableOwner.model_validate({"namespaces": ["sales"], **fields})


@pytest.mark.parametrize(
    ("folder", "path", "is_theirs"),
    [
        ("s3://lake/sales", "s3://lake/sales", True),
        ("s3://lake/sales/", "s3a://lake//sales/orders", True),
        ("s3://lake/sales", "s3://lake/sales/deep/below/orders", True),
        ("s3://lake/sales", "s3://lake/salesforce", False),
        ("s3://lake/sales", "s3://lake", False),
        ("s3://lake/sales", "s3://other/sales", False),
        ("s3://lake/", "s3://lake/orders", True),
        ("/lake/sales", "file:/lake/sales/orders", True),
        ("/", "file:/lake/sales/orders", True),
        ("hdfs://lake/sales", "s3://lake/sales", False),
        # a store of buckets may speak both
        ("gs://lake/sales", "s3://lake/sales", True),
    ],
)
def test_a_folder_stands_for_itself_and_for_all_below_it(folder: str, path: str, is_theirs: bool) -> None:
    assert _owner(paths=[folder]).is_of(key_of_path(path)) is is_theirs


@pytest.mark.parametrize(
    ("pattern", "name", "is_theirs"),
    [
        ("sales.*", "sales.orders", True),
        ("Sales.*", "spark_catalog.SALES.orders", True),
        ("sales.*", "lake.sales.orders", True),
        ("lake.sales.*", "sales.orders", True),
        ("lake.sales.*", "other.sales.orders", False),
        ("sales.*", "hr.people", False),
        ("sales.orders_*", "sales.orders_old", True),
        ("sales.orders_*", "sales.returns", False),
        ("*.sales.orders", "lake.sales.orders", True),
    ],
)
def test_a_star_in_a_name_stands_for_a_part(pattern: str, name: str, is_theirs: bool) -> None:
    assert _owner(names=[pattern]).is_of(key_of_name(name)) is is_theirs


def test_what_nobody_was_given_anybody_may_have() -> None:
    owners = Owners((_owner(paths=["s3://lake/sales"]),))
    assert owners.why_not("etl", [None, key_of_path("s3://lake/orders")]) is None
    assert Owners().why_not("etl", [key_of_path("s3://lake/sales/orders")]) is None


def test_each_of_those_to_whom_a_table_was_given_may_have_a_policy_for_it() -> None:
    owners = Owners((_owner(paths=["s3://lake"]), _owner(namespaces=["hr", "ops"], paths=["s3://lake/hr"])))
    people = [None, key_of_path("s3://lake/hr/people")]
    assert owners.why_not("sales", people) is None
    assert owners.why_not("ops", people) is None
    why = owners.why_not("etl", people)
    assert why is not None
    assert (
        "leaves policies for s3://lake/hr/people to the namespaces hr, ops, sales, and this one is in etl"
        in why
    )


def test_both_the_name_and_the_path_must_be_theirs() -> None:
    owners = Owners((_owner(paths=["s3://lake/sales"]), _owner(namespaces=["hr"], names=["hr.*"])))
    assert (
        owners.why_not("sales", [key_of_name("hr.people"), key_of_path("s3://lake/sales/people")]) is not None
    )
    assert owners.why_not("sales", [key_of_name("x.people"), key_of_path("s3://lake/sales/people")]) is None


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"paths": ["sales"]},
        {"names": ["a.b.c.d"]},
        {"names": ["sales/*"]},
        {"namespaces": [], "names": ["a"]},
        {"namespaces": ["Sales"], "names": ["a"]},
        {"tables": ["a"]},
    ],
)
def test_an_entry_that_gives_nothing_or_to_nobody_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        _owner(**fields)
