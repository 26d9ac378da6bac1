"""What a run has touched is held against what its job was judged to touch, and what strayed isn't believed again."""

import pytest

from integration.pipeline.conftest import Pipeline

pytestmark = pytest.mark.timeout(900)

WIDENED = "a run of this very spec has touched more than was understood of it"


def test_a_run_that_strays_is_told_and_its_spec_is_not_believed_again(pipeline: Pipeline) -> None:
    table = pipeline.table("footprints")
    pipeline.apply(
        "footprints-make",
        {"sql": f"CREATE TABLE {table} (id BIGINT, date DATE) USING delta PARTITIONED BY (date)"},
    )
    pipeline.until("footprints-make", "Succeeded")
    kept = {"sql": f"INSERT INTO {table} SELECT id, DATE '2026-11-19' FROM range(5)"}
    path = {"path": str(pipeline.lake / "footprints")}
    # It declares another day than it writes.
    declared = [{"table": path, "operation": "Append", "writes": "date = DATE '2026-11-20'"}]
    pipeline.apply("footprints-kept", kept)
    pipeline.apply("footprints-strays", {**kept, "footprint": declared})

    held = pipeline.until("footprints-kept", "Succeeded")
    assert held["attempts"][-1]["footprintHeld"] is True
    assert {one["type"]: one["status"] for one in held["conditions"]}["FootprintHeld"] == "True"

    strayed = pipeline.until("footprints-strays", "Succeeded")
    assert strayed["attempts"][-1]["footprintHeld"] is False
    [told] = [one for one in strayed["conditions"] if one["type"] == "FootprintHeld"]
    assert (told["status"], told["reason"]) == ("False", "FootprintStrayed")
    assert "adds to date=2026-11-19" in told["message"]
    assert {one["type"]: one["status"] for one in strayed["conditions"]}["Ready"] == "True"
    told_of = "--output=jsonpath={range .items[*]}{.involvedObject.name} {.type}{end}"
    ours = ("-n", pipeline.namespace, "--field-selector=reason=FootprintStrayed")
    assert pipeline.kubectl("get", "events", *ours, told_of).stdout == "footprints-strays Warning"

    pipeline.apply("footprints-again", {**kept, "footprint": declared})
    again = pipeline.until("footprints-again", "Succeeded")
    assert [one["writes"] for one in again["footprint"]] == ["true"]
    assert WIDENED in again["footprint"][0]["widened"]
