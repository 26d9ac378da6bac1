"""A name is compared in the catalog that there is, whatever else the job's texts spell like it."""

from __future__ import annotations

from typing import Any

import pytest

from sluice_runner.bound_names import Bound
from sluice_runner.catalogs import Catalogs, Name
from sluice_runner.plan import BoundName
from sluice_runner.reported_names import Leads


class WithOne(Catalogs):
    """A driver that has one catalog beside Spark's own."""

    def __init__(self, catalog: str) -> None:
        self._catalog = catalog

    def is_shared(self, catalog: str) -> bool:
        return catalog == self._catalog

    def in_full(self, parts: Name) -> Name:
        return parts


@pytest.mark.parametrize("catalog", ["Lake", "lake", "LAKE"])
def test_a_word_like_a_catalog_in_another_case_takes_no_names_place(catalog: str) -> None:
    spark: Any = None
    told = [
        BoundName((spelled, "sales", "orders"), f"s3://lake/{place}", is_reported=True)
        for spelled in ("LAKE", "Lake", "lake")
        for place in ("a", "b")
    ]
    bound = Bound(spark, WithOne(catalog), told, Leads(), list)
    (judged,) = bound._compared.values()
    assert (judged.full, judged.is_shared) == ((catalog, "sales", "orders"), True)
    assert judged.paths == ("s3://lake/a", "s3://lake/b")
