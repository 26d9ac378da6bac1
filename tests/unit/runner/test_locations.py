"""Two spellings of one location are known as one, and two locations never are."""

from __future__ import annotations

import pytest

from sluice_runner.locations import is_same


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
