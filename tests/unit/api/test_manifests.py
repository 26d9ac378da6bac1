"""A manifest read offline is the manifest that kubectl would send, and every problem of it is named at once."""

from typing import Any

import pytest

from integration.api.manifest_tables import bodies, good_manifests, problems_of, spec_of
from sluice.api.manifests import Documents, read_text

GOOD = good_manifests()


def _value(text: str) -> Any:
    (document,) = bodies(f"value: {text}")
    return document["value"]


def _troubles(text: str) -> list[str]:
    read = Documents()
    read_text(text, "file", read)
    return [str(trouble) for trouble in read.troubles]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-11-19", "2026-11-19"),
        ("2026-11-19T08:00:00Z", "2026-11-19T08:00:00Z"),
        ("1:30", "1:30"),
        ("190:20:30", "190:20:30"),
        ("1e3", 1000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("017", 15),
        ("0x1F", 31),
        ("+5", 5),
        ("yes", True),
        ("Off", False),
        ("'5'", "5"),
        ("~", None),
    ],
)
def test_plain_words_mean_what_they_mean_to_kubectl(text: str, value: object) -> None:
    assert _value(text) == value
    assert type(_value(text)) is type(value)


def test_keys_are_strings_as_in_json() -> None:
    (document,) = bodies("on: 1\n5: 2\n2026-11-19: 3\n")
    assert document == {"true": 1, "5": 2, "2026-11-19": 3}


@pytest.mark.parametrize("text", ["sql: a\nsql: b\n", "on: a\ntrue: b\n"])
def test_a_key_that_stands_twice_is_refused_with_its_place(text: str) -> None:
    (why,) = _troubles(text)
    assert "appears twice: remove one" in why
    assert "line 2" in why


def test_merged_keys_may_be_set_anew() -> None:
    (document,) = bodies("a: &a {x: 1, z: 2}\nb: {<<: *a, z: 3}\n")
    assert document["b"] == {"x": 1, "z": 3}


def test_a_file_may_hold_several_manifests_and_empty_ones() -> None:
    assert list(bodies("---\n---\na: 1\n---\nb: 2\n")) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("text", ["- a\n", "just words", "a: [", "a: !!python/name:os.system\n"])
def test_what_is_no_manifest_is_refused(text: str) -> None:
    assert _troubles(text)


def job(spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaWriteJob",
        "metadata": {"name": "a"},
        "spec": spec,
    }


@pytest.mark.parametrize("manifest", GOOD, ids=lambda manifest: manifest["metadata"]["name"])
def test_every_good_manifest_is_taken_and_reads_the_same_when_it_was_written(
    manifest: dict[str, Any],
) -> None:
    spec = spec_of(manifest)
    written = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert spec_of(manifest | {"spec": written}) == spec


def test_all_problems_are_told_at_once() -> None:
    (document,) = bodies(
        """
        apiVersion: sluice.dev/v1alpha1
        kind: DeltaWriteJob
        metadata: {name: a}
        spec:
          write: {source: {format: csv, path: in}, mode: append, colour: red}
          retry: {on: [Conflict]}
          footprint: [{table: {}, operation: Append}]
        """
    )
    problems = problems_of(document)
    assert set(problems) == {
        "spec.write.table: is required",
        "spec.write.source.path: must be absolute, such as s3://bucket/table or file:/data/table: "
        "a relative path means a different folder on each machine",
        "spec.write.mode: must be 'Append', 'Overwrite' or 'OverwritePartitions', not 'append'",
        "spec.write.colour: there is no such field, only table, source, mode, replaceWhere, schemaEvolution, "
        "txnAppId, txnVersion",
        'spec.retry: write "on" in quotes: YAML reads the bare word as true',
        "spec.footprint[0].table: name the table by exactly one of path and name",
    }


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"kind": "SparkApplication"},
            "kind: there is no kind SparkApplication: use DeltaWriteJob or DeltaTablePolicy",
        ),
        (
            {"apiVersion": "sluice.dev/v1"},
            "apiVersion: sluice.dev/v1 is not known here: use sluice.dev/v1alpha1",
        ),
    ],
)
def test_another_kind_or_version_is_refused(change: dict[str, str], problem: str) -> None:
    manifest = job({"sql": "SELECT 1"})
    assert problems_of(manifest) == ()
    problems = problems_of(manifest | change)
    assert problem in problems


def test_what_python_would_convert_is_refused_as_the_api_server_does() -> None:
    spec = {
        "sql": "SELECT 1",
        "priority": "5",
        "admission": {"suspend": "yes"},
        "activeDeadlineSeconds": True,
    }
    problems = problems_of(job(spec))
    assert set(problems) == {
        "spec.priority: must be a whole number, not '5'",
        "spec.admission.suspend: must be true or false, not 'yes'",
        "spec.activeDeadlineSeconds: must be a whole number, not true or false",
    }


def test_a_value_of_the_wrong_shape_is_refused_in_the_words_of_yaml_not_of_python() -> None:
    spec = {
        "sql": 1,
        "writes": "a = 1",
        "parameters": {"d": "x", "x": {"double": "1"}},
        "retry": 3,
        "priority": 1001,
    }
    problems = problems_of(job(spec))
    assert set(problems) == {
        "spec.sql: must be text, not a number: put it in quotes",
        "spec.writes: must be a list, not text",
        "spec.parameters.d: must be a mapping of fields: string, boolean, integer, decimal, double, date, timestamp, "
        "timestampNtz (given: text)",
        "spec.parameters.x.double: must be a number, not '1'",
        "spec.retry: must be a mapping of fields: limit, backoff, on (given: a number)",
        "spec.priority: must be at most 1000, not 1001",
    }
