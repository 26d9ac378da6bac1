"""What comes later has a higher txn version: an attempt's fence, its statements, later attempts, and the closing of a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice_runner import txn

TOKENS = st.integers(0, txn.MAX_TOKEN)
STATEMENTS = st.integers(0, txn.MAX_STATEMENT)


@given(st.tuples(TOKENS, STATEMENTS), st.tuples(TOKENS, STATEMENTS))
def test_versions_are_ordered_as_tokens_and_then_statements_are(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    assert (txn.version(*one) < txn.version(*other)) == (one < other)
    assert txn.token(txn.version(*one)) == one[0]


@given(TOKENS, STATEMENTS, st.text())
def test_a_closing_is_above_all_others_and_fits_into_64_bits(
    token: int, statement: int, spec_hash: str
) -> None:
    closing = txn.closing(spec_hash)
    assert txn.version(token, statement) < closing < 2**63
    assert txn.is_closing(closing)
    assert not txn.is_closing(txn.version(token, statement))


def test_closings_tell_specs_apart() -> None:
    assert len({txn.closing(f"{number:x}") for number in range(1000)}) == 1000


def test_a_token_of_the_last_epoch_fits() -> None:
    """Epochs are below 2^18, and count for 32 bits."""
    assert txn.MAX_TOKEN == 2**50 - 1


@pytest.mark.parametrize(("token", "statement"), [(-1, 0), (0, -1), (txn.MAX_TOKEN + 1, 0), (0, 4096)])
def test_what_would_run_over_is_refused(token: int, statement: int) -> None:
    with pytest.raises(ValueError, match="no txn version"):
        txn.version(token, statement)
