"""Two spellings of one location are known as one, and two locations never are."""

from __future__ import annotations

import re
from itertools import product

import pytest

from devenv.project import ROOT
from sluice.tables.locations import location_of
from sluice_runner.locations import is_same

SCHEMES = ("s3", "s3a", "s3n", "gs", "abfs", "abfss", "wasb", "wasbs", "hdfs", "viewfs", "oss", "file")
CATALOG = ROOT / "spark-images/logstore/src/dev/sluice/delta/BoundCatalog.java"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3://lake/orders", "s3a://lake//orders/"),
        ("/lake/orders", "file:///lake/orders"),
        ("file:/lake/orders", "file:/lake/./orders"),
        ("abfss://c@a.dfs.core.windows.net/t", "abfs://c@a.dfs.core.windows.net/t"),
    ],
)
def test_spellings_of_one(one: str, other: str) -> None:
    assert is_same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3://lake/orders", "s3://other/orders"),
        ("s3://lake/orders", "s3://lake/orders2"),
        ("s3://lake/orders", "gs://lake/orders"),
        ("/lake/orders", "s3:/lake/orders"),
        ("/lake/Orders", "/lake/orders"),
    ],
)
def test_two_locations(one: str, other: str) -> None:
    assert not is_same(one, other)


@pytest.mark.parametrize(("one", "other"), [*product(SCHEMES, SCHEMES)])
def test_the_operator_and_the_runner_take_the_same_schemes_for_one_store(one: str, other: str) -> None:
    places = [f"{scheme}://lake/orders" for scheme in (one, other)]
    assert is_same(*places) == (location_of(places[0]) == location_of(places[1]))


def test_and_so_does_the_catalog_of_bound_names() -> None:
    found = re.search(r"SAME_STORE =\s*Map\.of\(([^)]*)\)", CATALOG.read_text(encoding="utf-8"))
    assert found is not None
    words = re.findall(r'"(\w+)"', found[1])
    in_java = dict(zip(words[::2], words[1::2], strict=True))
    for one, other in product(SCHEMES, SCHEMES):
        same = in_java.get(one, one) == in_java.get(other, other)
        assert is_same(f"{one}://lake/orders", f"{other}://lake/orders") == same
