"""What a sweep looks at, so that nothing is forgotten that a single look may have missed."""

from types import SimpleNamespace
from typing import Any

from sluice.controller.loop import Loop
from sluice.controller.world import World
from sluice.leases import Lease


def test_a_lease_of_which_nothing_else_is_left_is_looked_at_again_and_again() -> None:
    """Its job is gone, and looking for an application that may have been created unseen failed once."""
    no: Any = None
    leases: Any = SimpleNamespace(held=[Lease("gone", 1, "hash", "etl/gone", ("file:/lake/orders",))])
    loop = Loop(
        world=World({}),
        relist=no,
        leadership=no,
        leases=leases,
        leftovers=no,
        attempts=no,
        admitting=no,
        revoking=no,
        guard=no,
        tables=no,
        conditions=no,
        metrics=no,
        pulse=no,
    )
    assert loop.everything() == {"gone"}
