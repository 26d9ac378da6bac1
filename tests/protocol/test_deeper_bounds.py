"""What the protocol promises holds at deeper bounds, too."""

import pytest

from protocol import document
from protocol.conftest import Holds
from protocol.document import Scenario


@pytest.mark.long(minutes=0.5)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("model", document.TABLES["long"], ids=lambda model: model.name)
def test_the_promises_hold_at_deeper_bounds(model: Scenario, holds: Holds) -> None:
    holds(model)
