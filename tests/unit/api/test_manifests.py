"""A manifest read offline is the manifest that kubectl would send, and every problem of it is named at once."""

from typing import Any

import pytest

from integration.api.manifest_tables import good_manifests
from sluice.api import DeltaTablePolicy, DeltaWriteJob
from sluice.api.manifests import InvalidManifest, documents, parse

GOOD = good_manifests()


def _value(text: str) -> Any:
    (document,) = documents(f"value: {text}")
    return document["value"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-11-19", "2026-11-19"),
        ("2026-11-19T08:00:00Z", "2026-11-19T08:00:00Z"),
        ("1:30", "1:30"),
        ("190:20:30", "190:20:30"),
        ("1e3", 1000.0),
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
    (document,) = documents("on: 1\n5: 2\n2026-11-19: 3\n")
    assert document == {"true": 1, "5": 2, "2026-11-19": 3}


@pytest.mark.parametrize("text", ["sql: a\nsql: b\n", "on: a\ntrue: b\n"])
def test_a_key_that_stands_twice_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InvalidManifest, match="appears twice: remove one") as refusal:
        list(documents(text))
    assert "line 2" in str(refusal.value)


def test_merged_keys_may_be_set_anew() -> None:
    (document,) = documents("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n")
    assert document["b"] == {"x": 1, "y": 3}


def test_a_file_may_hold_several_manifests_and_empty_ones() -> None:
    assert list(documents("---\n---\na: 1\n---\nb: 2\n")) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("text", ["- a\n", "just words", "a: [", "a: !!python/name:os.system\n"])
def test_what_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(InvalidManifest):
        list(documents(text))


@pytest.mark.parametrize("manifest", GOOD, ids=lambda manifest: manifest["metadata"]["name"])
def test_every_good_manifest_is_taken(manifest: dict[str, Any]) -> None:
    parsed = parse(manifest)
    assert isinstance(parsed, DeltaWriteJob | DeltaTablePolicy)
    assert parsed.kind == manifest["kind"]


@pytest.mark.parametrize("manifest", GOOD, ids=lambda manifest: manifest["metadata"]["name"])
def test_what_was_read_and_written_reads_the_same(manifest: dict[str, Any]) -> None:
    parsed = parse(manifest)
    assert parse(parsed.model_dump(mode="json", by_alias=True, exclude_none=True)) == parsed


def test_all_problems_are_told_at_once() -> None:
    (document,) = documents(
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
    with pytest.raises(InvalidManifest) as refusal:
        parse(document)
    assert set(refusal.value.problems) == {
        "spec.write.table: Required value",
        "spec.write.source.path: must be absolute, such as s3://bucket/table or file:/data/table: "
        "a relative path means a different folder on each machine",
        'spec.write.mode: Unsupported value: "append": supported values: '
        '"Append", "Overwrite", "OverwritePartitions"',
        "spec.write.colour: unknown field",
        'spec.retry: write "on" in quotes: YAML reads the bare word as true',
        "spec.footprint[0].table: name the table by exactly one of path and name",
    }


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"kind": "SparkApplication"},
            "kind: 'SparkApplication' is not one of DeltaWriteJob, DeltaTablePolicy",
        ),
        (
            {"apiVersion": "sluice.dev/v1"},
            'apiVersion: Unsupported value: "sluice.dev/v1": supported values: "sluice.dev/v1alpha1"',
        ),
    ],
)
def test_another_kind_or_version_is_refused(change: dict[str, str], problem: str) -> None:
    manifest = {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaWriteJob",
        "metadata": {"name": "a"},
        "spec": {"sql": "SELECT 1"},
    }
    parse(manifest)
    with pytest.raises(InvalidManifest) as refusal:
        parse(manifest | change)
    assert problem in refusal.value.problems


def test_what_python_would_convert_is_refused_as_the_api_server_does() -> None:
    spec = {
        "sql": "SELECT 1",
        "priority": "5",
        "admission": {"suspend": "yes"},
        "activeDeadlineSeconds": True,
    }
    with pytest.raises(InvalidManifest) as refusal:
        parse({"apiVersion": "sluice.dev/v1alpha1", "kind": "DeltaWriteJob", "metadata": {}, "spec": spec})
    assert set(refusal.value.problems) == {
        "spec.priority: must be of type integer",
        "spec.admission.suspend: must be of type boolean",
        "spec.activeDeadlineSeconds: must be of type integer",
    }


def test_a_value_of_the_wrong_shape_is_refused_in_the_words_of_yaml_not_of_python() -> None:
    spec = {
        "sql": 1,
        "writes": "a = 1",
        "parameters": {"d": "x", "x": {"double": "1"}},
        "retry": 3,
        "priority": 1001,
    }
    with pytest.raises(InvalidManifest) as refusal:
        parse({"apiVersion": "sluice.dev/v1alpha1", "kind": "DeltaWriteJob", "metadata": {}, "spec": spec})
    assert set(refusal.value.problems) == {
        "spec.sql: must be of type string",
        "spec.writes: must be of type array",
        "spec.parameters.d: must be of type object",
        "spec.parameters.x.double: must be of type number",
        "spec.retry: must be of type object",
        "spec.priority: should be less than or equal to 1000",
    }
