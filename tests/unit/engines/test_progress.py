"""How far a run has come is read from its driver's pod; what isn't the runner's there is nothing."""

import json
from typing import Any

import pytest

from sluice.api import names
from sluice.engines.progress import progress_of

TOLD: dict[str, Any] = {
    "statement": 2,
    "of": 5,
    "operation": "MERGE",
    "since": "2026-11-25T10:00:00+00:00",
    "lastCommit": {"table": "file:/a", "version": 3},
}


def _pod(text: object) -> dict[str, Any]:
    return {"metadata": {"annotations": {names.ANNOTATION_PROGRESS: text}}}


def test_it_is_read_with_what_a_later_runner_adds_left_out() -> None:
    found = progress_of(_pod(json.dumps(TOLD | {"batch": 7, "copiedAt": "2026-11-25T10:00:00Z"})))
    assert found is not None
    assert (found.statement, found.of, found.operation, found.copied_at) == (2, 5, "MERGE", None)
    assert found.last_commit is not None
    assert (found.last_commit.table, found.last_commit.version) == ("file:/a", 3)


@pytest.mark.parametrize(
    "pod",
    [
        None,
        {"metadata": {}},
        {"metadata": {"annotations": None}},
        _pod(5),
        _pod("nonsense"),
        _pod("[" * 4000),
        _pod("[]"),
        _pod(json.dumps(TOLD | {"more": "x" * 5000})),
        _pod(json.dumps(TOLD | {"statement": 0})),
        _pod(json.dumps(TOLD | {"statement": "2"})),
        _pod(json.dumps(TOLD | {"since": "2026-11-25T10:00:00"})),
        _pod(json.dumps(TOLD | {"lastCommit": {"table": "a\nb", "version": 3}})),
        _pod(json.dumps({"statement": 2})),
    ],
)
def test_anything_else_is_nothing(pod: dict[str, Any] | None) -> None:
    assert progress_of(pod) is None
