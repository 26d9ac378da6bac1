"""What is said of a name that leads elsewhere than its job was judged by: nothing in it has what was committed written twice."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from sluice_runner import tables
from sluice_runner.assumptions import NotAsJudgedError
from sluice_runner.bound_names import Bound
from sluice_runner.catalogs import Name
from sluice_runner.plan import BoundName
from sluice_runner.reported_names import Leads
from sluice_runner.targets import ParsedStatement

ORDERS = ("prod", "sales", "orders")
JUDGED = BoundName(ORDERS, "s3://lake/orders", is_reported=True)
RETRIED = "have the job run once more (sluice retry), which does nothing twice"


class Shared:
    """Catalogs that others use as well."""

    def in_full(self, parts: Name) -> Name:
        return parts

    def is_shared(self, _: str) -> bool:
        return True

    def completed(self, name: Name, *, creates: bool = False) -> Name:  # noqa: ARG002
        return name

    def place_of_new(self, _: Name) -> str:
        return "s3://lake/default/orders"

    def qualified(self, location: str) -> str:
        return location


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where the driver's catalog has the table; nowhere while it is empty."""
    places: list[str] = []
    monkeypatch.setattr(
        tables, "find_for_sure", lambda *_: [SimpleNamespace(location=place) for place in places]
    )
    return places


def bound(kind: str = "MANAGED", mentioned: Sequence[Name] = ()) -> tuple[Bound, Leads]:
    listed: Any = SimpleNamespace(
        getTable=lambda _: SimpleNamespace(tableType=kind), tableExists=lambda _: False
    )
    spark: Any = SimpleNamespace(catalog=listed)
    catalogs: Any = Shared()
    leads = Leads()
    return Bound(spark, catalogs, [JUDGED], leads, lambda: mentioned), leads


def refused(act: Callable[[], object]) -> str:
    with pytest.raises(NotAsJudgedError) as told:
        act()
    return str(told.value)


def test_a_run_that_found_its_name_elsewhere_is_to_be_retried(found: list[str]) -> None:
    found.append("s3://lake/orders-2")
    message = refused(lambda: bound(mentioned=[ORDERS]))
    assert message.startswith("nothing was run, because prod.sales.orders is s3://lake/orders-2")
    assert f"so that the name counts as both: {RETRIED}" in message


def test_a_run_that_would_make_its_table_elsewhere_is_to_be_retried_as_it_may_have_committed(
    found: list[str],
) -> None:
    assert found == []
    create = ParsedStatement(
        None, "CreateTableAsSelect", (ORDERS,), writes_all=True, writes=1, is_of_session=False
    )
    names, leads = bound()
    message = refused(lambda: names.refuse(create, lambda: [ORDERS]))
    assert message.startswith("the statement was not run")
    assert f"If it shall be at s3://lake/default/orders, {RETRIED}" in message
    assert leads.found == [("prod.sales.orders", "s3://lake/default/orders")]


def test_a_name_that_is_no_table_any_more_is_to_be_forgotten(found: list[str]) -> None:
    found.append("s3://lake/orders")
    message = refused(lambda: bound(kind="VIEW", mentioned=[ORDERS]))
    assert "is a view in this driver's catalog" in message
    assert "have its line taken out of the operator's ConfigMap DEPLOYMENT-reported-names" in message
