"""A person's word has maintenance run now, once for each word; one that asks for nothing is told, once."""

import pytest

from sluice.policies.maintenance import MaintenanceKind
from sluice.policies.manual_maintenance import MaintenanceRequest, NotAsked, asked_for, asked_to_go_on

BOTH = tuple(MaintenanceKind)


@pytest.mark.parametrize("word", ["optimize", "optimize.2", "optimize.2026-11-19T10:00"])
def test_a_word_asks_for_its_kind_until_it_is_heeded(word: str) -> None:
    assert asked_for(word, None, BOTH) == MaintenanceRequest(MaintenanceKind.OPTIMIZE, word)
    assert asked_for(word, "vacuum", BOTH) == MaintenanceRequest(MaintenanceKind.OPTIMIZE, word)
    assert asked_for(word, word, BOTH) is None


def test_no_word_asks_for_nothing() -> None:
    assert asked_for(None, None, BOTH) is None
    assert asked_for("", "optimize", BOTH) is None


@pytest.mark.parametrize(
    ("word", "wanted", "why"),
    [
        ("now", BOTH, "it must begin with optimize or vacuum, such as optimize.2"),
        ("OPTIMIZE", BOTH, "it must begin with optimize or vacuum"),
        ("optimize 2", BOTH, "it must begin with optimize or vacuum"),
        (
            "vacuum",
            (MaintenanceKind.OPTIMIZE,),
            "the policy has no spec.maintenance.vacuum: write it, or create a job",
        ),
    ],
)
def test_a_word_that_asks_for_nothing_is_told_with_why_and_no_more_once_it_is_heeded(
    word: str, wanted: tuple[MaintenanceKind, ...], why: str
) -> None:
    found = asked_for(word, None, wanted)
    assert isinstance(found, NotAsked)
    assert found.why.startswith(f"sluice.dev/run={word}: nothing is run, because ")
    assert why in found.why
    assert asked_for(word, found.word, wanted) is None


def test_a_word_of_any_length_can_be_kept_as_heeded() -> None:
    long = "optimize." + "x" * 10_000
    found = asked_for(long, None, BOTH)
    assert isinstance(found, MaintenanceRequest)
    assert len(found.word) == 100
    assert asked_for(long, found.word, BOTH) is None


@pytest.mark.parametrize("word", ["enforce", "enforce.2"])
def test_a_word_on_changes_of_the_table_is_none_on_maintenance(word: str) -> None:
    assert asked_for(word, None, [MaintenanceKind.VACUUM]) is None
    assert asked_to_go_on(word) == word


@pytest.mark.parametrize("word", [None, "", "optimize", "enforced", "x.enforce"])
def test_any_other_word_is_none_on_changes_of_the_table(word: str | None) -> None:
    assert asked_to_go_on(word) is None
