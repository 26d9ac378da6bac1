"""A job on whose decision the operator fails costs no more than a try now and then."""

from datetime import timedelta
from typing import Any

import pytest

from unit.controller.test_admission import turn
from unit.controller.test_patience import contended

ROUNDS = 30


async def test_a_job_that_cannot_be_judged_is_not_judged_in_each_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, _ = contended(1, timedelta(seconds=1))
    idle: list[str] = []

    async def nothing(*_: Any) -> None: ...

    asked.workers.serve(nothing, idle.append)

    def fails(*_: Any) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("sluice.admission.shapes.conflict_between", fails)
    await turn(asked, "uid-w0")
    for _ in range(ROUNDS):
        again, idle[:] = list(idle), []
        await turn(asked, *again)
    assert asked.queue.judged < ROUNDS / 2  # the first pause is half a second
