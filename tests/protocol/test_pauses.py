"""What the protocol promises of a stream that makes room for others, and of those for whom it does."""

from collections.abc import Callable

import pytest

from protocol import document
from protocol.pauses import scenarios
from protocol.pauses.scenarios import Pauses
from protocol.search import Tell, explore

pytestmark = pytest.mark.timeout(600)


Holds = Callable[[Pauses], None]


@pytest.fixture
def holds(tell: Tell) -> Holds:
    """The search ends without a counter-example, and has met all the faults that the scenario is named for."""

    def search(model: Pauses) -> None:
        result = explore(model)
        tell(model.name, result)
        assert result.counter_example is None, str(result)
        assert not result.unmet, f"{model.name}: {result.unmet}"
        table = "long" if model in scenarios.LONG else "pauses"
        document.assert_tells(table, document.scenario_row(model, result))

    return search


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


def test_the_checkpoint_of_a_stream_that_pauses_stays_its_own(holds: Holds) -> None:
    holds(scenarios.COPY)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("model", scenarios.LONG, ids=lambda model: model.name)
def test_the_promises_hold_at_deeper_bounds(model: Pauses, holds: Holds) -> None:
    holds(model)
