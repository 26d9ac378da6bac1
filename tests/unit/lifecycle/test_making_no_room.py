"""Who would wait for ever behind a stream is told why, and what lets it go."""

from typing import Any

import pytest

from sluice.api.base import Json
from sluice.lifecycle.job import JobView
from sluice.lifecycle.pausing import why_it_makes_no_room
from unit.controller.bodies import job_body
from unit.lifecycle.streaming import NOW, ONCE, PROFILES, spec

ALTERS = {"sql": "ALTER TABLE delta.`/lake/orders` ADD COLUMNS (x INT)"}
DELETES = {"sql": "DELETE FROM delta.`/lake/orders` WHERE id = 1"}
BREAKS = {"sql": "DELETE FROM delta.`/lake/raw` WHERE id = 1"}


def job(name: str, **given: Any) -> JobView:
    return JobView(job_body(name, **given), PROFILES, NOW)


def yielding(to: str) -> Json:
    changed: Any = {"yield": to}
    return spec(**changed)


@pytest.mark.parametrize(
    ("yields", "waits", "needed"),
    [
        ("Never", ALTERS, "Metadata"),
        ("Never", DELETES, "Aged"),
        ("Metadata", ALTERS, None),
        ("Metadata", DELETES, "Aged"),
        ("Aged", ALTERS, None),
        ("Aged", DELETES, None),
    ],
)
def test_the_word_is_named_with_which_the_stream_would_make_room(
    yields: str, waits: Json, needed: str | None
) -> None:
    why = why_it_makes_no_room(job("s", **yielding(yields)), job("w", **waits))
    assert why == (None if needed is None else f"makes room for it only with spec.stream.yield: {needed}")


def test_for_what_no_pause_would_help_that_is_said() -> None:
    stream = job("s", **yielding("Aged"))
    assert (
        why_it_makes_no_room(stream, job("w", **BREAKS)) == "makes no room for what would break it for good"
    )
    assert why_it_makes_no_room(stream, job("w", **spec())) == "makes no room for another one that does"


def test_of_what_ends_by_itself_nothing_is_said() -> None:
    assert why_it_makes_no_room(job("s", **spec(ONCE)), job("w", **ALTERS)) is None
    assert why_it_makes_no_room(job("s", **DELETES), job("w", **ALTERS)) is None
    assert why_it_makes_no_room(job("s", sql="DELETE FROM"), job("w", **ALTERS)) is None
