"""Tokens order leaders before grants, and a lease's record is read back as it was written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.leases import Epochs, Lease, number_in

EPOCHS = st.integers(0, 2**31 - 1)
COUNTERS = st.integers(0, 2**32 - 1)


@given(EPOCHS, COUNTERS, EPOCHS, COUNTERS)
def test_a_later_epochs_tokens_are_higher_whatever_was_counted(
    epoch: int, counter: int, other_epoch: int, other_counter: int
) -> None:
    one, other = Epochs.token(epoch, counter), Epochs.token(other_epoch, other_counter)
    assert (one < other) == ((epoch, counter) < (other_epoch, other_counter))
    assert (Epochs.of(one), Epochs.counter_of(one)) == (epoch, counter)
    assert one < 2**63


@given(st.integers(0, 10**18 - 1), st.integers(0, 10**18 - 1))
def test_a_number_is_read_back_as_it_was_written_up_to_the_most_that_it_may_be(
    number: int, most: int
) -> None:
    assert number_in(str(number)) == number
    assert number_in(str(number), most) == (number if number <= most else None)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "seven",
        "-1",
        "+1",
        " 1",
        "1\n",
        "1_0",
        "1e5",
        "0x10",
        "²",
        "٣",
        "9" * 19,
        "9" * 5_000,
        7,
        ["7"],
    ],
)
def test_what_no_operator_writes_is_no_number(text: object) -> None:
    assert number_in(text) is None


TABLES = st.lists(st.text(), max_size=4).map(tuple)


@given(st.text(), st.integers(1, 2**31 - 1), TABLES, st.none() | TABLES, st.none() | st.text())
def test_a_record_is_read_back_as_it_was_written(
    text: str, attempt: int, tables: tuple[str, ...], reads: tuple[str, ...] | None, run: str | None
) -> None:
    lease = Lease(f"uid{text}", attempt, "hash", f"etl/{text}", tables, reads, run)
    assert Lease.from_json(lease.to_json()) == lease
    assert "\n" not in lease.to_json()


def test_a_job_without_a_run_key_has_the_record_that_operators_wrote_before_there_were_any() -> None:
    """One that is rolled back reads it."""
    assert "run" not in json.loads(Lease("u", 1, "h", "etl/a", ("file:/t",)).to_json())


@pytest.mark.parametrize("run", [7, None, [], "\ud800"])
def test_a_record_whose_run_is_no_text_is_nobodys(run: object) -> None:
    fields = json.loads(Lease("u", 1, "h", "etl/a", ("file:/t",), run="etl/daily").to_json())
    with pytest.raises(ValueError, match="not the"):
        Lease.from_json(json.dumps(fields | {"run": run}))
