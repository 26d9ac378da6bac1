"""Whose a checkpoint is, among jobs that have not ended."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.api.base import Json
from sluice.api.job_status import Outcome
from sluice.api.names import ANNOTATION_RETRY
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.cache.jobs_by_checkpoint import JobsByCheckpoint
from sluice.controller.execution.manual_retries import ManualRetries
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.lifecycle.streams.dormant_streams import may_rest
from unit.controller.bodies import job_body
from unit.lifecycle.streaming import attempt, spec


def using(name: str, *checkpoints: Any, phase: str | None = None) -> Json:
    declared = [{"checkpoint": one} for one in checkpoints[1:]]
    body = job_body(name)
    body["spec"] = {"stream": {"checkpoint": checkpoints[0]}, "footprint": declared}
    return body | ({"status": {"phase": phase}} if phase else {})


def owners(known: JobsByCheckpoint, name: str, *holding: str) -> dict[str, str]:
    return dict(known.owners(f"uid-{name}", lambda uid: uid in holding))


@pytest.mark.parametrize("spelled", ["s3a://lake/c", "s3://lake//c/", "S3N://lake/./c"])
def test_a_checkpoint_is_known_by_each_of_its_spellings(spelled: str) -> None:
    known = JobsByCheckpoint()
    known.follow(None, using("a", "s3://lake/c"))
    known.follow(None, using("b", spelled))
    assert owners(known, "b") == {"s3://lake/c": "uid-a"}
    assert not owners(known, "a")


def test_who_has_ended_or_is_gone_uses_none_and_those_that_do_are_looked_at() -> None:
    known = JobsByCheckpoint()
    first, second = using("a", "/c", "/d"), using("b", "/d")
    known.follow(None, first)
    known.follow(None, second)
    assert owners(known, "b") == {"file:/d": "uid-a"}
    ended = using("a", "/c", "/d", phase="Failed")
    assert known.follow(first, ended) == ["uid-b"]
    assert not owners(known, "b")
    assert known.follow(second, None) == []
    assert not owners(known, "b")


def test_who_is_at_work_has_it_then_who_has_been_then_who_came_first() -> None:
    known = JobsByCheckpoint()
    first, then, last = using("c", "/c"), using("a", "/c"), using("b", "/c")
    then["metadata"]["creationTimestamp"] = last["metadata"]["creationTimestamp"] = "2026-11-19T11:00:00Z"
    for body in (last, first, then):
        known.follow(None, body)
    assert {name: owners(known, name) for name in "abc"} == {
        "a": {"file:/c": "uid-c"},
        "b": {"file:/c": "uid-c"},
        "c": {},
    }
    known.follow(first, None)
    assert (owners(known, "a"), owners(known, "b")) == ({}, {"file:/c": "uid-a"})
    assert owners(known, "a", "uid-b") == {"file:/c": "uid-b"}, "one that holds leases is at work"
    has_been = last | {"status": {"attempts": [{"outcome": "Paused"}]}}
    known.follow(last, has_been)
    assert owners(known, "a") == {"file:/c": "uid-b"}
    known.follow(then, then | {"status": {"attempts": [{}]}})
    assert (owners(known, "a"), owners(known, "b")) == ({}, {"file:/c": "uid-a"})


def test_thousands_that_name_one_checkpoint_are_refused_one_after_another_and_disturb_nobody(
    capsys: pytest.CaptureFixture[str],
) -> None:
    known, bodies = JobsByCheckpoint(), [using(f"{number:04}", "/c") for number in range(2_000)]
    began = time.monotonic()
    for body in bodies:
        known.follow(None, body)
    for body in bodies[1:]:
        assert owners(known, body["metadata"]["name"]) == {"file:/c": "uid-0000"}
        refused = body | {"status": {"phase": "Failed", "reason": "CheckpointInUse"}}
        assert known.follow(body, refused) == []
    took = time.monotonic() - began
    with capsys.disabled():
        print(f"\n{len(bodies)} jobs that name one checkpoint: told apart in {took:.2f} s")
    assert known.follow(bodies[0], None) == []


def over(name: str, word: str | None = None) -> Json:
    """A stream that has failed; `word`: somebody asks for another attempt of it."""
    body = using(name, "/c")
    intent = attempt(outcome=Outcome.FAILED).model_dump(mode="json", by_alias=True, exclude_none=True)
    body["spec"] = spec(checkpoint="/c")
    body["status"] = {"phase": "Failed", "observedGeneration": 1, "attempts": [intent]}
    if word is not None:
        body["metadata"] |= {"annotations": {ANNOTATION_RETRY: word}, "resourceVersion": "2"}
    return body


@pytest.mark.parametrize("phase", ["Running", "Paused", "BackingOff", "Waiting", None])
async def test_no_word_on_a_job_that_has_ended_takes_the_checkpoint_of_one_that_lives(
    phase: str | None,
) -> None:
    world, did = ClusterCache({}), list[str]()

    async def noted(_: Any, *told: Any, **__: Any) -> None:
        did.append(" ".join(map(str, told)))

    no: Any = SimpleNamespace(write=noted, retry_heeded=noted, tell=noted, retried=lambda _: None)
    by_hand = ManualRetries(world, no, no, no, VisibleBlockers())
    world.job_seen(over("a"))
    world.job_seen(using("b", "/c", phase=phase))
    world.job_seen(over("a", "1"))
    await by_hand.heed(world.jobs["uid-a"], "1")
    assert did[0] == "1"
    assert did[1].startswith("NotRetried")
    assert "because etl/b uses its checkpoint file:/c by now, and has not ended" in did[1]
    world.job_gone("uid-b")
    await by_hand.heed(world.jobs["uid-a"], "1")
    assert did[-1].startswith("Retrying")


@pytest.mark.parametrize("phase", [{}, [], 1, "Ending", "no phase"])
def test_a_phase_that_is_none_hurts_nobody_but_its_job(phase: Any) -> None:
    world = ClusterCache({})
    body = using("a", "/c") | {"status": {"phase": phase, "attempts": [{"outcome": phase}]}}
    world.job_seen(body)
    assert may_rest(body)
    assert list(world.checkpoints.users_of(["file:/c"])) == [("file:/c", "uid-a")]


@given(st.text(), st.one_of(st.none(), st.integers(), st.text(), st.dictionaries(st.text(), st.text())))
def test_whatever_stands_there_is_read(one: str, other: Any) -> None:
    known = JobsByCheckpoint()
    known.follow(None, using("a", one, other))
    known.follow(None, job_body("b") | {"spec": {"stream": other, "footprint": other}})
    known.follow(using("a", one, other), None)
    assert not owners(known, "b")
