"""What in the register is in the way of a claim, and the command that takes it away."""

from typing import Any

import pytest

from sluice.installations.obstacles import MOST_BYTES, obstacle
from sluice.kube.config_map import Read

KEY = "team.sluice"
CLAIM = "{}"


def _register(**content: Any) -> Read:
    return Read({"metadata": {"name": "sluice-installations"}, **content})


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"data": None, "binaryData": None, "immutable": None},
        {"data": {KEY: CLAIM}, "immutable": False},
        {"binaryData": {"other.sluice": "e30="}},
        {"data": {"other.sluice": "x" * (MOST_BYTES - len(CLAIM))}},
        {"data": {KEY: "x" * MOST_BYTES}},  # the claim takes its place
    ],
)
def test_nothing_is_in_the_way_of_a_claim_that_can_be_written(content: dict[str, Any]) -> None:
    assert obstacle(_register(**content), KEY, CLAIM) is None


def test_an_immutable_register_is_in_the_way() -> None:
    found = obstacle(_register(immutable=True), KEY, CLAIM)
    assert found is not None
    assert str(found).startswith(
        "it is immutable: make it anew with the same entries: kubectl get configmap "
    )


def test_an_entry_under_binary_data_is_in_the_way_of_the_same_claim() -> None:
    found = obstacle(_register(binaryData={KEY: "e30="}), KEY, CLAIM)
    assert found is not None
    assert KEY in found.what
    assert f'[{{"op": "remove", "path": "/binaryData/{KEY}"}}]' in found.cure


@pytest.mark.parametrize(
    ("content", "largest"),
    [
        ({"data": {"a.b": "x" * 10, "c.d": "x" * MOST_BYTES}}, "/data/c.d"),
        ({"data": {"a.b": "\u00e9" * (MOST_BYTES // 2)}}, "/data/a.b"),
        ({"data": {"a.b": "\ud800" * MOST_BYTES}}, "/data/a.b"),
        ({"data": {"a.b": "x"}, "binaryData": {"c.d": "AAAA" * (MOST_BYTES // 3)}}, "/binaryData/c.d"),
    ],
)
def test_of_a_full_register_the_largest_entry_is_named(content: dict[str, Any], largest: str) -> None:
    found = obstacle(_register(**content), KEY, CLAIM)
    assert found is not None
    assert found.what.startswith("it is full: its other entries take ")
    assert f'"path": "{largest}"' in found.cure
