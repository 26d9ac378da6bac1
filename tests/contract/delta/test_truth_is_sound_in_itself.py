"""What must hold of any recording, whatever Delta does."""

from __future__ import annotations

import pytest

from contract.harness import truth
from contract.harness.layouts import LAYOUTS
from contract.harness.rows import Row


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_no_commit_ever_vanished(version: str) -> None:
    """The loser raised nothing, and yet its commit isn't in the log: that would be data loss, or a broken harness."""
    vanished = [
        row.id
        for row in truth.recorded(version)
        if any(outcome.outcome == "vanished" for outcome in row.outcomes.values())
    ]
    assert vanished == []


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_rows_are_unique_and_know_their_tables(version: str) -> None:
    rows = truth.recorded(version)
    names = [row.id for row in rows]
    assert len(names) == len(set(names))
    assert {row.layout for row in rows} <= set(LAYOUTS)


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_each_statement_that_is_easily_misread_lets_somebody_fail(version: str) -> None:
    """Where it really writes; and nobody where it is believed to, so that the misreading would be found."""
    found: dict[str, list[bool]] = {}
    for row in truth.recorded(version):
        _, _, rest = row.id.partition("misread/")
        if rest:
            name, _, probe = rest.partition("/")
            failed = any(o.raced and o.outcome != "ok" for o in row.outcomes.values())
            found.setdefault(name, []).append(failed == (probe != "delete-believed"))
    assert found
    assert {name for name, held in found.items() if not all(held)} == set()


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_a_line_is_read_as_it_was_written(version: str) -> None:
    for row in truth.recorded(version):
        assert Row.from_line(row.as_line()) == row


def test_the_truth_is_compact() -> None:
    assert sum(file.stat().st_size for file in truth.FOLDER.iterdir()) < 2.25 * 1024 * 1024
