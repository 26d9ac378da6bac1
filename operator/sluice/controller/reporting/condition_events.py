"""Reports each transition of the operator's conditions by an Event on its Lease object; during an outage, once it is over."""

import asyncio

from sluice.api.conditions import ConditionStatus
from sluice.controller.leadership.election import Election
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.controller.reporting.events import EventWriter

PAUSE = 1.0


async def tell_transitions(conditions: OperatorConditions, leadership: Election, events: EventWriter) -> None:
    while True:
        condition = conditions.next_untold()
        if condition is None or not leadership.leads():
            await asyncio.sleep(PAUSE)
            continue
        fails = condition.status is not ConditionStatus.TRUE
        is_done = await events.tell_of_lease(
            leadership.lease,
            # The reason of the Event is the condition; the condition's own goes into its message.
            condition.type if not fails else f"Not{condition.type}",
            f"{condition.reason}: {condition.message}",
            since=condition.last_transition_time,
            warning=fails,
        )
        if is_done:
            conditions.told(condition)
        else:
            await asyncio.sleep(PAUSE)
