"""What is read from a spec isn't believed again once a run of it has touched more."""

from typing import Any

from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import RuntimeProfile
from sluice.lifecycle.spec.footprint_violations import FootprintViolations
from unit.controller.bodies import job_body

SQL = "DELETE FROM delta.`/lake/orders` WHERE date = DATE '2026-11-19'"
WHY = "a run of this very spec has touched more than was understood of it"
PROFILES = {"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")}


def attempt(spec_hash: str, *, held: Any) -> dict[str, Any]:
    return {
        "number": 1,
        "token": 4294967297,
        "hash": spec_hash,
        "application": "a",
        "grantedAt": "2026-11-19T10:00:00Z",
        "outcome": "Succeeded",
        "footprintHeld": held,
    }


def finished(body: dict[str, Any], spec_hash: str, *, held: Any) -> dict[str, Any]:
    status = {
        "phase": "Succeeded",
        "observedGeneration": body["metadata"]["generation"],
        "attempts": [attempt(spec_hash, held=held)],
        "footprint": [],
    }
    return body | {"status": status}


def test_jobs_with_the_spec_of_a_run_that_strayed_touch_all_of_their_tables() -> None:
    world = ClusterCache(PROFILES)
    world.job_seen(job_body("first", sql=SQL))
    world.job_seen(job_body("same", sql=SQL))
    world.job_seen(job_body("other", sql=SQL.replace("19", "20")))
    first, same, other = (world.jobs[f"uid-{name}"] for name in ("first", "same", "other"))
    assert not any(WHY in job.footprint.tables[0].widened for job in (first, same, other))
    world.take_changes()
    world.job_seen(finished(job_body("first", version=2, sql=SQL), first.spec_hash, held=False))
    assert "uid-same" in world.take_changes()
    same, other = world.jobs["uid-same"], world.jobs["uid-other"]
    assert same.footprint.tables[0].adds.is_everything
    assert WHY in same.footprint.tables[0].widened
    assert same.footprint.tables[0].changes_metadata
    assert WHY not in other.footprint.tables[0].widened


def test_it_is_known_as_long_as_the_job_is_there_even_to_a_new_leader() -> None:
    told = ClusterCache(PROFILES)
    told.job_seen(job_body("same", sql=SQL))
    spec_hash = told.jobs["uid-same"].spec_hash
    world = ClusterCache(PROFILES)
    world.job_seen(finished(job_body("first", sql=SQL), spec_hash, held=False))
    world.job_seen(job_body("same", sql=SQL))
    assert WHY in world.jobs["uid-same"].footprint.tables[0].widened
    world.job_gone("uid-first")
    assert WHY not in world.jobs["uid-same"].judged_anew().footprint.tables[0].widened


def test_what_somebody_wrote_into_a_status_by_hand_is_passed_over() -> None:
    strayed = FootprintViolations()
    odd: tuple[Any, ...] = (
        None,
        [],
        {"attempts": "x"},
        {"attempts": [7, {"footprintHeld": False, "hash": 5}]},
    )
    for status in odd:
        assert strayed.seen("uid", {"status": status}) == frozenset()
    assert not strayed
    assert strayed.seen("uid", {"status": {"attempts": [attempt("abc", held="false")]}}) == frozenset()
    assert strayed.seen("uid", {"status": {"attempts": [attempt("abc", held=False)]}}) == {"abc"}
    assert "abc" in strayed
    assert strayed.seen("other", {"status": {"attempts": [attempt("abc", held=False)]}}) == frozenset()
    strayed.gone("uid")
    assert "abc" in strayed
    strayed.gone("other")
    assert "abc" not in strayed
