"""Whose a checkpoint is, among jobs that have not ended."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.api.base import Json
from sluice.controller.checkpoints import Checkpoints
from unit.controller.bodies import job_body


def using(name: str, *checkpoints: Any, phase: str | None = None) -> Json:
    declared = [{"checkpoint": one} for one in checkpoints[1:]]
    body = job_body(name)
    body["spec"] = {"stream": {"checkpoint": checkpoints[0]}, "footprint": declared}
    return body | ({"status": {"phase": phase}} if phase else {})


def shared(known: Checkpoints, name: str) -> dict[str, list[str]]:
    return known.shared_by(f"uid-{name}")


@pytest.mark.parametrize("spelled", ["s3a://lake/c", "s3://lake//c/", "S3N://lake/./c"])
def test_a_checkpoint_is_known_by_each_of_its_spellings(spelled: str) -> None:
    known = Checkpoints()
    known.follow(None, using("a", "s3://lake/c"))
    known.follow(None, using("b", spelled))
    assert shared(known, "b") == {"s3://lake/c": ["uid-a"]}


def test_who_has_ended_or_is_gone_uses_none_and_those_that_do_are_looked_at() -> None:
    known = Checkpoints()
    first, second = using("a", "/c", "/d"), using("b", "/d")
    known.follow(None, first)
    known.follow(None, second)
    assert shared(known, "b") == {"file:/d": ["uid-a"]}
    over = using("a", "/c", "/d", phase="Failed")
    assert known.follow(first, over) == ["uid-b"]
    assert not shared(known, "b")
    assert known.follow(second, None) == []
    assert not known.shared_by("uid-b")


@given(st.text(), st.one_of(st.none(), st.integers(), st.text(), st.dictionaries(st.text(), st.text())))
def test_whatever_stands_there_is_read(one: str, other: Any) -> None:
    known = Checkpoints()
    known.follow(None, using("a", one, other))
    known.follow(None, job_body("b") | {"spec": {"stream": other, "footprint": other}})
    known.follow(using("a", one, other), None)
    assert not known.shared_by("uid-b")
