"""What users write on their own objects makes nobody rebuild the lease table again and again."""

from dataclasses import replace

import pytest

from sluice.leases import ForgottenError
from sluice.leases.model import Lease
from unit.controller.bodies import job_body
from unit.controller.test_table import INTENT, A, Api, Clock, Store, built, clock, turn  # noqa: F401
from unit.lifecycle.objects import application
from unit.lifecycle.test_lease_evidence import TOUCHED


@pytest.mark.parametrize("changed", [replace(A, attempt=2), replace(A, tables=())])
async def test_an_open_attempt_is_covered_after_a_rebuild_whatever_its_record_says(
    clock: Clock,  # noqa: F811 - a fixture
    changed: Lease,
) -> None:
    store, api = Store(), Api()
    world, table = await built(store, api)
    status = {"phase": "Running", "attempts": [INTENT], "footprint": [TOUCHED]}
    world.job_seen(job_body("a", version=2) | {"status": status})
    world.applications.seen(application("RUNNING", lease=changed))
    table.mistrust(ForgottenError("Redis was restarted"))
    await turn(table)
    assert table.is_sure
    assert [one.holder for one in table.held] == ["uid-a/1"]


async def test_what_a_rebuild_does_not_mend_is_tried_ever_more_rarely(clock: Clock) -> None:  # noqa: F811 - a fixture
    _, table = await built(Store(), Api())
    rebuilt = 0
    for _ in range(400):
        table.mistrust(ForgottenError("no lease covers a-1, which may run"))
        if table.is_due:
            await table.make_sure()
            rebuilt += table.is_sure
        clock.now += 0.1
    assert 5 <= rebuilt <= 15
