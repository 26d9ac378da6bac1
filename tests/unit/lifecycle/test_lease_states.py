"""How things stand with a lease."""

from sluice.engines import Stage
from sluice.lifecycle.evidence.lease_states import BY_STAGE, LeaseState


def test_whatever_is_seen_of_an_attempt_says_how_its_lease_stands() -> None:
    assert set(BY_STAGE) == set(Stage)
    beyond_any_stage = {LeaseState.UNEXPLAINED, LeaseState.UNREADABLE, LeaseState.UNKNOWN}
    assert set(BY_STAGE.values()) == set(LeaseState) - beyond_any_stage
