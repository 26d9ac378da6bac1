"""Packages that load a name when it is first asked for."""

from importlib import import_module
from pathlib import Path

import pytest

PACKAGES = ("sluice.api", "sluice.predicates", "sluice.tables")


@pytest.mark.parametrize("package", PACKAGES)
def test_each_offered_name_is_there_and_no_module_of_its_name_hides_it(package: str) -> None:
    offers = import_module(package)
    assert offers.__file__ is not None
    modules = {file.stem for file in Path(offers.__file__).parent.iterdir()}
    assert not modules & set(offers.__all__)
    for name in offers.__all__:
        getattr(offers, name)


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute nothing"):
        import_module("sluice.api").nothing  # noqa: B018
