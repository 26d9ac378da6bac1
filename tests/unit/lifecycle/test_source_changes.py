"""What ends a stream's attempt when its source was changed, as real Delta says it: restarted where that helps, else ended with what
to do."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.api.job_status import AttemptException
from sluice.lifecycle.streams.source_changes import ends_the_stream, is_cured_by_a_restart, with_advice

SAID_BY_DELTA = Path(__file__).parents[2] / "integration" / "runner" / "changed_sources.tsv"
NEVER_CURED = {
    "a column is added and it is restored",
    "a column gets a wider type and the feature is dropped",
}
"""By its class a restart cures it. That it doesn't is told by how often it was tried."""


def said(which: str) -> Iterator[tuple[str, str]]:
    with SAID_BY_DELTA.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            after = row["after"] if row["change"] not in NEVER_CURED else ""
            if which == "final" and after:
                yield row["change"], after
            if which == "cured" and row["running"] and not after:
                yield row["change"], row["running"]


def failure(error_class: str) -> AttemptException:
    return AttemptException(class_="StreamingQueryException", message="changed", error_class=error_class)


@pytest.mark.parametrize(("change", "error_class"), [*said("cured")])
def test_what_a_restart_mends_is_restarted(change: str, error_class: str) -> None:
    assert is_cured_by_a_restart(failure(error_class)), change
    assert not ends_the_stream(failure(error_class)), change


@pytest.mark.parametrize(("change", "error_class"), [*said("final")])
def test_what_no_restart_mends_ends_the_stream_with_what_to_do(change: str, error_class: str) -> None:
    found = failure(error_class)
    assert ends_the_stream(found), change
    assert not is_cured_by_a_restart(found), change
    told = with_advice(found)
    assert told is not None
    assert told.advice
