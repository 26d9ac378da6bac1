"""A status is read once as long as it is asked for, and not kept for good."""

from typing import Any

from sluice.api.job_status import Phase
from sluice.lifecycle.job.parsed_statuses import ParsedStatuses


def body(phase: str) -> dict[str, Any]:
    return {"status": {"phase": phase}}


def test_the_status_of_an_object_is_read_once_until_it_is_another_object() -> None:
    statuses, first = ParsedStatuses(), body("Waiting")
    read, _ = statuses.of("a", first)
    assert statuses.of("a", first)[0] is read
    assert statuses.of("a", body("Running"))[0].phase is Phase.RUNNING
    assert statuses.of("a", first)[0] == read


def test_only_those_that_were_asked_for_last_are_kept() -> None:
    statuses = ParsedStatuses(most=2)
    bodies = {uid: body("Waiting") for uid in "abc"}
    read = {uid: statuses.of(uid, bodies[uid])[0] for uid in "ab"}
    assert statuses.of("a", bodies["a"])[0] is read["a"]
    statuses.of("c", bodies["c"])
    assert statuses.of("a", bodies["a"])[0] is read["a"]
    assert statuses.of("b", bodies["b"])[0] is not read["b"]
