"""Whatever Sluice has to say fits into a status: too long, it is cut, and never stands in the way of the rest."""

import pytest
from pydantic import ValidationError

from sluice.api.conditions import Condition
from sluice.api.job_status import AttemptException, Phase, ShownFootprint


def test_what_is_too_long_is_cut_and_says_so() -> None:
    shown = ShownFootprint(
        table="s3://lake/" + "x" * 2000,
        statement=1,
        operation="Merge",
        reads=" OR ".join(f"date = DATE '2026-01-{day % 28 + 1:02}'" for day in range(500)),
        writes="true",
        widened=tuple(f"reason {number}" for number in range(40)),
    )
    assert len(shown.reads) == 4096
    assert shown.reads.endswith("…")
    assert len(shown.table) == 1024
    assert shown.widened == tuple(f"reason {number}" for number in range(16))


@pytest.mark.parametrize("table", ["", "\0:// /\n", "sales\n", "file:/lake/\x7f"])
def test_what_is_no_tables_name_is_none_in_a_status_either(table: str) -> None:
    with pytest.raises(ValidationError, match="pattern"):
        ShownFootprint(table=table, statement=1, operation="Merge", reads="true", writes="true")


def test_an_exception_of_any_length_can_be_told() -> None:
    told = AttemptException.model_validate({"class": "C" * 300, "message": "m" * 5000})
    assert (len(told.class_), len(told.message)) == (256, 2048)


def test_what_fits_is_left_as_it_is() -> None:
    condition = {
        "type": "Ready",
        "status": "False",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-11-20T00:00:00Z",
        "reason": "Blocked",
        "message": "m" * 2048,
    }
    assert Condition.model_validate(condition).message == "m" * 2048


def test_the_ends_of_a_job_are_three() -> None:
    assert {phase for phase in Phase if phase.is_terminal} == {Phase.SUCCEEDED, Phase.SKIPPED, Phase.FAILED}
