"""What the protocol promises of a stream that makes room for others, and of those for whom it does."""

import pytest

from protocol.conftest import Holds
from protocol.pauses import scenarios

pytestmark = pytest.mark.timeout(600)


def test_who_waits_for_a_stream_goes_and_the_stream_goes_on(holds: Holds) -> None:
    holds(scenarios.ONE_WAITS)
    holds(scenarios.TWO_WAIT)


def test_a_stream_pauses_once_and_goes_on_once_whoever_leads(holds: Holds) -> None:
    holds(scenarios.LEADER_REPLACED)
    holds(scenarios.REPLACED_TWICE)


def test_a_stream_whose_driver_dies_anywhere_has_each_batch_take_effect_once(holds: Holds) -> None:
    holds(scenarios.DRIVER_DIES)


def test_no_stream_waits_for_ever_for_one_that_fails_hangs_or_goes(holds: Holds) -> None:
    holds(scenarios.WAITER_FAILS)
    holds(scenarios.WAITER_HANGS)


def test_nobody_begins_so_late_in_a_pause_that_it_would_be_ended_soon_after(holds: Holds) -> None:
    holds(scenarios.WAITER_SLOW)


def test_the_checkpoint_of_a_stream_that_pauses_stays_its_own(holds: Holds) -> None:
    holds(scenarios.COPY)
