"""What changes the hash of a spec, by which a running stream stops and goes on as its spec says by then, and what doesn't."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import pytest
from pydantic import BaseModel, Field, create_model

from sluice.api.base import Json, Model
from sluice.api.job import Admission, DeltaWriteJobSpec, Stream
from sluice.api.job_status import PauseReason, StreamPause
from sluice.api.tables import StreamSource
from sluice.engines import RuntimeProfile
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.spec.spec_hashes import SpecHashes
from sluice.lifecycle.streams.pauses import wanted_by_itself
from sluice.lifecycle.streams.stop_requests import why_it_pauses
from unit.controller.bodies import job_body
from unit.lifecycle.streaming import NOW, PROFILES, attempt

BASE: Json = {
    "source": {"format": "delta", "path": "/lake/raw", "options": {"a": "b"}},
    "query": "SELECT id FROM source",
    "table": {"path": "/lake/orders"},
    "checkpoint": "/lake/checkpoints/a",
    "trigger": {"processingTime": "30 seconds"},
}
BY_SQL = {"query": None, "table": None, "sql": "INSERT INTO delta.`/lake/orders` SELECT * FROM batch"}
RESTARTS: dict[str, Json] = {
    "source.format": {"source": {"format": "json", "schema": "id INT"}},
    "source.path": {"source": BASE["source"] | {"path": "/lake/other"}},
    "source.options": {"source": BASE["source"] | {"options": {"a": "c"}}},
    "source.optionsFrom": {
        "source": BASE["source"] | {"optionsFrom": [{"option": "password", "secretKeyRef": {"name": "s", "key": "k"}}]}
    },
    "source.schema": {"source": {"format": "json", "path": "/lake/raw", "schema": "id INT"}},
    "query": {"query": "SELECT id + 1 AS id FROM source"},
    "sql": BY_SQL,
    "table.path": {"table": {"path": "/lake/others"}},
    "table.name": {"table": {"name": "sales.orders"}},
    "checkpoint": {"checkpoint": "/lake/checkpoints/b"},
    "trigger.availableNow": {"trigger": {"availableNow": True}},
    "trigger.processingTime": {"trigger": {"processingTime": "5 seconds"}},
    "readsTables": {"readsTables": [{"path": "/lake/more"}]},
}  # fmt: skip
GOES_ON: dict[str, Json] = {"yield": {"yield": "Aged"}, "maxPause": {"maxPause": "1m"}}
BESIDE_IT = {"priority": 7, "ttlSecondsAfterFinished": 60, "admission": {"suspend": True}}
"""Fields of the spec around a stream that may change as long as there is an attempt."""
_DEEPER = ("source", "table", "trigger")


def hashes(stream: Json | None = None, **beside: Any) -> SpecHashes:
    spec = DeltaWriteJobSpec.as_stored({"stream": BASE | (stream or {}), **beside})
    return SpecHashes(spec, ())


def fields_of_a_stream() -> Iterator[str]:
    for name, field in Stream.model_fields.items():
        called = field.alias or name
        if called not in _DEEPER:
            yield called
            continue
        kinds = (field.annotation, *get_args(field.annotation))
        (model,) = (one for one in kinds if isinstance(one, type) and issubclass(one, BaseModel))
        yield from (f"{called}.{inner.alias or inside}" for inside, inner in model.model_fields.items())


def test_of_each_field_of_a_stream_it_is_known_whether_its_change_restarts_it() -> None:
    assert sorted(fields_of_a_stream()) == sorted([*RESTARTS, *GOES_ON])


@pytest.mark.parametrize("field", RESTARTS)
def test_a_change_of_what_is_run_changes_the_hash(field: str) -> None:
    changed = hashes(RESTARTS[field])
    assert not changed.are(hashes().now)
    assert not changed.are_written_as(hashes().now)


@pytest.mark.parametrize("field", [*GOES_ON, *BESIDE_IT])
def test_a_change_that_runs_nothing_anew_leaves_the_hash_as_it_was(field: str) -> None:
    changed = hashes(GOES_ON[field]) if field in GOES_ON else hashes(None, **{field: BESIDE_IT[field]})
    assert changed.are(hashes().now)


def test_a_default_that_is_written_out_is_the_one_that_is_left_out() -> None:
    assert hashes({"yield": "Never"}, admission={"whenBlocked": "Wait", "suspend": False}, priority=0).are(
        hashes().now
    )
    assert not hashes(admission={"timeout": "1h"}).are(hashes().now)


def test_fields_with_defaults_that_a_later_version_adds_leave_the_hash_as_it_was() -> None:
    """Wherever they stand: of the spec, of its stream, of what is nested in either."""
    later_source: Any = create_model("LaterSource", __base__=StreamSource, speed=(str, Field("fast")))
    later_stream: Any = create_model(
        "LaterStream", __base__=Stream, source=(later_source, ...), rows=(int, Field(7))
    )
    later_admission: Any = create_model("LaterAdmission", __base__=Admission, fair=(bool, Field(True)))
    later: type[Model] = create_model(
        "LaterSpec",
        __base__=DeltaWriteJobSpec,
        stream=(later_stream | None, None),
        admission=(later_admission, later_admission()),
        more=(tuple[str, ...], Field(())),
    )
    for beside in ({}, {"admission": {"suspend": True}}, {"admission": {"timeout": "1h"}}):
        given: Json = {"stream": BASE, **beside}
        as_read: Any = later.as_stored(given)
        assert (as_read.stream.source.speed, as_read.more) == ("fast", ())
        assert SpecHashes(as_read, ()).now == hashes(**beside).now
        as_read = later.as_stored(given | {"more": ["x"]})
        assert SpecHashes(as_read, ()).now != hashes(**beside).now


def view(profiles: dict[str, RuntimeProfile] | None = None, **changed: Any) -> JobView:
    return JobView(job_body("a") | {"spec": {"stream": BASE | changed}}, profiles or PROFILES, NOW)


def test_a_stream_that_was_granted_by_a_hash_in_one_piece_goes_on() -> None:
    """As attempts have it that began under the version of Sluice before."""
    before = attempt(hash="23568ca18bb9115b")
    assert wanted_by_itself(view(), before) is None
    assert wanted_by_itself(view(PROFILES, **{"yield": "Aged"}), before) is None
    assert wanted_by_itself(view(query="SELECT 1 AS id FROM source"), before) is PauseReason.SPEC_CHANGED


def test_a_stream_whose_spec_is_understood_otherwise_is_not_told_that_its_spec_was_changed() -> None:
    running = attempt(hash=view().spec_hash)
    assert wanted_by_itself(view(), running) is None
    understood = view()
    otherwise = replace(understood.hashes, identity=(("file:/lake/orders", 1, "Append"),))
    vars(understood)["hashes"] = otherwise
    assert wanted_by_itself(understood, running) is PauseReason.UNDERSTOOD_OTHERWISE
    changed = view(query="SELECT 1 AS id FROM source")
    assert wanted_by_itself(changed, running) is PauseReason.SPEC_CHANGED


def test_a_profile_by_which_a_stream_touches_more_has_it_admitted_for_that() -> None:
    merges = RuntimeProfile(
        spark_version="4.2.0", spark_conf={"spark.databricks.delta.schema.autoMerge.enabled": "true"}
    )
    running = attempt(hash=view().spec_hash)
    assert wanted_by_itself(view({"default": merges}), running) is PauseReason.UNDERSTOOD_OTHERWISE


def test_what_stands_in_statuses_is_found_again_by_later_versions() -> None:
    """Should this fail, all running streams would be stopped by an upgrade: leave out at its default what is new."""
    assert hashes().now.startswith("81b559d77a66ab25-")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (
            {
                "sql": "DELETE FROM delta.`/lake/orders` WHERE date = :day",
                "parameters": {"day": {"date": "2026-11-19"}},
            },
            "77a98ea9d0931998",
        ),
        (
            {
                "write": {"table": {"path": "/lake/orders"}, "source": {"sql": "SELECT 1 AS id"}},
                "writes": ["id = 1"],
            },
            "5033249f9fb8e979",
        ),
        (
            {
                "application": {
                    "engine": "apache",
                    "template": {
                        "mainClass": "a.B",
                        "jars": "x.jar",
                        "executorSpec": {"v": {"emptyDir": {}}},
                    },
                },
                "footprint": [{"table": {"path": "/lake/orders"}, "operation": "Append"}],
            },
            "f6eb17019713ec49",
        ),
    ],
)
def test_what_stands_in_logs_of_tables_is_found_again_by_later_versions(spec: Json, told: str) -> None:
    """Should this fail, a run key whose work is the same would be refused as one of another work (RunKeyReused): leave out at its
    default what is new."""
    assert JobView(job_body("a") | {"spec": spec}, PROFILES, NOW).work_hash == told


def test_why_it_pauses_is_said_for_each_reason() -> None:
    said = {why_it_pauses(StreamPause(reason=reason, since=NOW)) for reason in PauseReason}
    assert len(said) == len(PauseReason)
