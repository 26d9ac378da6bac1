"""Who has which slot: whatever happens to jobs and to the operator, no two that may still commit share one."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.api.base import Json
from sluice.controller.cache.jobs_by_slot import JobsBySlot
from unit.controller.bodies import job_body
from unit.controller.test_admission import Leases, admitting, turn
from unit.controller.test_slot_histories import AnswersLater, follow


def kept(name: str, phase: str, slot: object) -> Json:
    return job_body(name) | {"status": {"phase": phase, "run": {"appId": slot, "firstToken": 1}}}


def test_a_job_keeps_its_slot_until_it_has_succeeded_or_is_gone() -> None:
    slots, before = JobsBySlot(), None
    for phase, has in (
        ("Starting", True),
        ("Running", True),
        ("BackingOff", True),
        ("Suspended", True),
        ("Failed", True),
        ("Pending", True),
        ("Succeeded", False),
    ):
        now = kept("a", phase, "sluice/slot/2")
        slots.follow(before, now)
        assert (2 in slots.kept) == has, phase
        before = now
    slots.follow(None, kept("b", "Failed", "sluice/slot/2"))
    slots.follow(kept("b", "Failed", "sluice/slot/2"), None)
    assert not slots.kept


def test_a_status_that_somebody_wrote_anything_into_takes_no_slot() -> None:
    slots = JobsBySlot()
    for odd in ("sluice/slot/x", "", None, 7, {"a": 1}, "sluice/run/etl/day"):
        slots.follow(None, kept("a", "Running", odd))
    statuses: tuple[Any, ...] = (None, [], "text", {"run": []}, {"run": "sluice/slot/1"})
    for status in statuses:
        slots.follow(None, job_body("a") | {"status": status})
    assert not slots.kept


def test_a_slot_that_two_statuses_name_stays_taken_until_both_are_gone() -> None:
    slots = JobsBySlot()
    one, other = (kept(name, "Running", "sluice/slot/1") for name in ("a", "b"))
    slots.follow(None, one)
    slots.follow(None, other)
    slots.follow(one, None)
    assert 1 in slots.kept
    slots.follow(other, None)
    assert 1 not in slots.kept


PHASES = ("Running", "BackingOff", "Failed", "Pending", "Succeeded", "Skipped")


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from((*PHASES, "gone")), st.integers(1, 4)),
        max_size=60,
    )
)
@settings(max_examples=200)
def test_what_is_followed_is_what_a_list_would_tell(history: list[tuple[str, str, int]]) -> None:
    followed, there = JobsBySlot(), dict[str, Json]()
    for name, phase, slot in history:
        before = there.pop(name, None)
        now = None if phase == "gone" else kept(name, phase, f"sluice/slot/{slot}")
        if now is not None:
            there[name] = now
        if before is not None or now is not None:
            followed.follow(before, now)
    listed = JobsBySlot()
    for body in there.values():
        listed.follow(None, body)
    assert followed.kept == listed.kept


@pytest.mark.parametrize("leases", [Leases, AnswersLater])
async def test_of_two_statuses_that_name_one_slot_only_one_asks_for_it(leases: type[Leases]) -> None:
    """Redis would refuse the second; and where it refuses what the leader thought free, the whole lease table is rebuilt."""
    _, asked = admitting({})
    held = leases()
    follow(asked, held)
    for name in ("c", "d"):
        run = {"appId": "sluice/slot/4", "firstToken": 1}
        body = job_body(name, sql=f"INSERT INTO delta.`/lake/{name}` VALUES (1)", retry={"limit": 1})
        asked.world.job_seen(body | {"status": {"phase": "Pending", "observedGeneration": 1, "run": run}})
    await turn(asked)
    assert [lease.run for lease in held.held if lease.run is not None] == ["slot 4"]
    assert [uid for uid in held.asked if uid in ("uid-c", "uid-d")] == ["uid-c"]
    asked.granting.pauses.forget("uid-d")
    await turn(asked, "uid-d")
    assert [asked.world.jobs[uid].phase for uid in ("uid-c", "uid-d")] == ["Starting", "Failed"]
