"""Who would wait for ever behind a stream is told why, and what lets it go."""

from typing import Any

import pytest

from sluice.admission import Holder
from sluice.admission.reference_decision import stays
from sluice.api.base import Json
from sluice.api.job import Yield
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.streams.pauses import why_it_makes_no_room
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
    why = why_it_makes_no_room(stream, job("w", **spec())) or ""
    assert why.startswith("makes no room for another one that does, so that this one never begins: let one")


@pytest.mark.parametrize("yields", list(Yield))
@pytest.mark.parametrize("waits", [ALTERS, DELETES, BREAKS, spec()])
def test_it_is_said_of_whoever_is_no_barrier_for_it(yields: Yield, waits: Json) -> None:
    stream, waiter = job("s", **yielding(yields)), job("w", **waits)
    holder = Holder("s", stream.key, stream.footprint, for_ever=stream.for_ever)
    waiting = Holder("w", waiter.key, waiter.footprint, for_ever=waiter.for_ever)
    assert stays(holder, waiting) == (why_it_makes_no_room(stream, waiter) is not None)


def test_of_what_ends_by_itself_nothing_is_said() -> None:
    assert why_it_makes_no_room(job("s", **spec(ONCE)), job("w", **ALTERS)) is None
    assert why_it_makes_no_room(job("s", **DELETES), job("w", **ALTERS)) is None
    assert why_it_makes_no_room(job("s", sql="DELETE FROM"), job("w", **ALTERS)) is None
