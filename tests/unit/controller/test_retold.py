"""Who waits is told so in the end, whatever becomes of the first time."""

from datetime import timedelta

from sluice.api.job_status import Phase
from sluice.api.reasons import Reason
from sluice.controller.scheduling.admission import JobAdmission
from sluice.kube.client import ApiError
from sluice.lifecycle.attempt.lease_evidence import Frozen
from sluice.lifecycle.job.status import StatusChange
from unit.controller.bodies import job_body
from unit.controller.test_admission import admitting, clock, turn  # noqa: F401

SQL = "DELETE FROM delta.`/lake/sales` WHERE date = DATE '2026-11-%d'"


async def settle(asked: JobAdmission, *uids: str, n: int = 6) -> None:
    for _ in range(n):
        await turn(asked, *uids)


async def test_a_job_whose_status_could_not_be_written_is_told_again() -> None:
    refuses: dict[str, Exception] = {}
    _leases, asked = admitting(refuses)
    asked.world.job_seen(job_body("x", sql=SQL % 20))
    await settle(asked)
    refuses["w"] = ApiError(500, "InternalError", "etcd leader changed")
    asked.world.job_seen(job_body("w", sql=SQL % 20, admission={"whenBlocked": "Skip"}))
    await turn(asked)
    refuses.clear()
    await settle(asked, "uid-w")
    assert asked.world.jobs["uid-w"].phase == "Skipped"


async def test_what_was_to_be_told_when_the_leases_became_unsure_is_told_when_they_are_sure() -> None:
    leases, asked = admitting({})
    asked.world.job_seen(job_body("x", sql=SQL % 20))
    await settle(asked)
    asked.world.job_seen(job_body("w", sql=SQL % 20))
    for uid in asked.world.take_changes():
        asked.consider(uid)
    await asked.turn()
    leases.is_sure = False  # Redis hiccup, before the worker began
    async with asked.workers.paused():
        asked.workers.forget_decided()
    leases.is_sure = True
    asked.world.look_at_all()  # as the rebuild does
    await settle(asked, "uid-w")
    assert asked.world.jobs["uid-w"].phase == "Waiting"


async def test_after_an_unreadable_holder_is_put_right_who_waited_is_told_again() -> None:
    _leases, asked = admitting({})
    asked.world.job_seen(job_body("x", sql=SQL % 20))
    await settle(asked)
    asked.world.job_seen(job_body("w", sql=SQL % 20))
    await settle(asked)
    assert asked.world.jobs["uid-w"].phase == "Waiting"
    asked.holders._frozen["uid-f"] = [Frozen("uid-f", "etl/f", "why", ())]
    await settle(asked)
    job = asked.world.jobs["uid-w"]
    if not asked.consider("uid-w"):  # so a step is asked for: prepare
        await asked.prepare(job)
    assert asked.world.jobs["uid-w"].status.reason == "HolderUnreadable"
    del asked.holders._frozen["uid-f"]
    await settle(asked, "uid-w")
    assert asked.world.jobs["uid-w"].phase == "Waiting"


async def test_who_waited_ahead_and_has_timed_out_is_not_named_for_ever() -> None:
    _leases, asked = admitting({})
    asked.age_after = timedelta()
    asked.world.job_seen(job_body("x", sql=SQL % 20))
    await settle(asked)
    asked.world.job_seen(job_body("v", sql="DELETE FROM delta.`/lake/sales` WHERE date >= DATE '2026-11-20'"))
    await settle(asked)
    # w is in the way of nobody that holds but x and v
    asked.world.job_seen(job_body("w", sql=SQL % 20))
    await settle(asked)
    v = asked.world.jobs["uid-v"]
    assert v.phase == "Waiting"
    before = asked.world.jobs["uid-w"].status
    assert ", and for 1 more job;" in (before.message or "")
    await asked.statuses.write(v, StatusChange(Phase.FAILED, Reason.TIMED_OUT, "not run"))
    for uid in asked.world.take_changes():  # as Loop._look_at does it
        if not asked.leases.held_by(uid) and asked.world.is_done_with(uid):
            asked.forget(uid)
        else:
            asked.consider(uid)
    await asked.turn()
    async with asked.workers.paused():
        pass
    await settle(asked)
    assert ", and for 1 more job;" not in (asked.world.jobs["uid-w"].status.message or "")
