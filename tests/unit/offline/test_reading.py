"""What lies around in folders, and what people write into files of facts: named where it can't be used, never waited for."""

import os
from pathlib import Path

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.offline.files import read_files
from sluice.offline.given_facts import UnusableError, facts_of
from sluice.offline.jobs import Job
from sluice.offline.known_facts import _table_and_location
from unit.cli.folders import FACTS, PINNED_DELETE, complaints, job, sluice


def test_a_pipe_or_device_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(job("a", PINNED_DELETE))
    os.mkfifo(tmp_path / "pipe.yaml")
    assert len(read_files([tmp_path]).found) == 1


def test_links_to_folders_are_followed_and_loops_end(tmp_path: Path) -> None:
    base, overlay = tmp_path / "base", tmp_path / "overlay"
    base.mkdir()
    overlay.mkdir()
    (base / "a.yaml").write_text(job("a", PINNED_DELETE))
    (overlay / "base").symlink_to(base)
    (base / "back").symlink_to(overlay)
    read = read_files([overlay])
    assert [document.place for document in read.found] == [str(overlay / "base" / "a.yaml")]
    assert read.troubles == []


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(job("a", PINNED_DELETE))
    closed = tmp_path / "closed"
    closed.mkdir()
    scan = os.scandir

    def scandir(path: str) -> object:
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    read = read_files([tmp_path])
    assert len(read.found) == 1
    assert [str(trouble) for trouble in read.troubles] == [f"{closed}: cannot be read: Permission denied"]


def test_a_link_that_leads_nowhere_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to(tmp_path / "gone.yaml")
    assert [one.why for one in read_files([tmp_path]).troubles] == ["is a link that leads nowhere"]


def test_a_file_that_was_named_and_holds_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "nothing.yaml").write_text("# to do\n")
    assert [one.why for one in read_files([tmp_path / "nothing.yaml"]).troubles] == ["holds no manifest"]
    assert read_files([tmp_path]).troubles == []


def test_every_trouble_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\0\0")
    (trouble,) = read_files([tmp_path / "a.yaml"]).troubles
    assert "control characters are not allowed" in trouble.why
    assert "\n" not in trouble.why


def test_a_spec_is_found_fault_with_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: DeltaWriteJob\nmetadata: {name: a}\nspec: {sqll: x}\n")
    (tmp_path / "b.yaml").write_text("kind: DeltaWriteJob\nmetadata: {name: b}\n")
    told = complaints(sluice("plan", tmp_path))
    assert "a: spec.sqll (line 3): there is no such field; did you mean sql?" in told
    assert "b: spec: must be a mapping of fields" in told


def test_the_bare_word_on_is_told_in_the_words_of_the_api_server(tmp_path: Path) -> None:
    text = "kind: DeltaWriteJob\nmetadata: {name: a}\nspec:\n  sql: DELETE FROM t\n  retry: {limit: 3, on: [Conflict]}\n"
    (tmp_path / "a.yaml").write_text(text)
    told = complaints(sluice("plan", tmp_path))
    assert 'a: spec.retry (line 5): write "on" in quotes: YAML reads the bare word as true' in told


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ("path: s3://lake/orders\npartitionColumns: [date]\n", "its columns are missing"),
        ("kind: Deployment\nmetadata: {name: d}\n", "holds no facts about a table"),
        (
            f"{FACTS | {'partitoinColumns': ['date']}}",
            "partitoinColumns (line 1) is not a fact about a table; did you mean partitionColumns?",
        ),
        (
            "schema:\n- {name: id, type: bigint}\nlogStore: S3\n",
            "logStore (line 3) must be S3Conditional, S3DynamoDB, Safe or S3SingleDriver, not 'S3'; these facts are left out",
        ),
        (
            "schema:\n- {name: id, type: bigint}\n- {name: day, type: dat}\n",
            "schema[1].type (line 3) must be a type of Spark (boolean, ",
        ),
    ],
    ids=["no schema", "another kind", "a field that does not exist", "a store", "a type"],
)
def test_facts_that_would_count_for_nothing_are_named(tmp_path: Path, facts: str, told: str) -> None:
    (tmp_path / "a.yaml").write_text(job("a", PINNED_DELETE))
    (tmp_path / "facts.yaml").write_text(facts)
    result = sluice("explain", tmp_path / "a.yaml", tmp_path / "a.yaml", "--table", tmp_path / "facts.yaml")
    assert told in complaints(result)
    assert result.exit_code == 3
    assert "neither usable facts nor a log of it are given" in " ".join(result.stdout.split())


SPARK_TYPES = """
bigint, INTEGER, long, decimal, decimal(10), dec, numeric(5), string, varchar(20), char(3), binary, timestamp_ntz, variant,
void, array<int>, struct<a: int>, array<struct<a: int>>, map, interval day to second, string collate UNICODE, unknown
"""


@pytest.mark.parametrize("spelling", [text.strip() for text in SPARK_TYPES.split(",")])
def test_what_spark_calls_a_type_is_one_in_given_facts(spelling: str) -> None:
    assert facts_of({"schema": [{"name": "a", "type": spelling}]}).exists


@pytest.mark.parametrize("spelling", ["bigin", "varchar", "char", "stringy", "decimal(a)", "intervals", ""])
def test_what_is_no_type_of_spark_is_refused_in_given_facts(spelling: str) -> None:
    with pytest.raises(UnusableError, match=r"^schema\[0\]\.type must be a type of Spark .*bigint"):
        facts_of({"schema": [{"name": "a", "type": spelling}]})


@pytest.mark.parametrize(
    ("given", "table", "location"),
    [
        ("s3://lake/orders", "", "s3://lake/orders"),
        ("s3://lake/env=prod/orders", "", "s3://lake/env=prod/orders"),
        ("s3://lake/orders=./copy", "s3://lake/orders", "./copy"),
        ("sales.orders=/copies/orders", "sales.orders", "/copies/orders"),
        ("s3://lake/env=prod/orders=s3://copies/orders", "s3://lake/env=prod/orders", "s3://copies/orders"),
    ],
)
def test_an_equals_sign_within_a_location_does_not_follow_a_table(
    given: str, table: str, location: str
) -> None:
    assert _table_and_location(given) == (table, location)


def test_a_local_table_whose_path_has_an_equals_sign_is_looked_for_there(tmp_path: Path) -> None:
    (tmp_path / "env=prod").mkdir()
    assert _table_and_location(str(tmp_path / "env=prod")) == ("", str(tmp_path / "env=prod"))


def test_a_log_that_is_not_there_is_told_without_a_word_of_the_operator(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(job("a", PINNED_DELETE))
    result = sluice("plan", tmp_path, "--table-path", tmp_path / "nowhere")
    assert f"{tmp_path / 'nowhere'}: there is no Delta table here" in complaints(result)


def test_wrong_calls_are_answered_without_a_traceback(tmp_path: Path) -> None:
    missing = sluice("explain", "--batch", tmp_path / "nowhere.jsonl")
    assert missing.exit_code == 3
    assert "there is no such file" in missing.stderr
    folder = sluice("explain", "--batch", tmp_path)
    assert folder.exit_code == 3
    assert f"{tmp_path}: is a folder" in folder.stderr
    (tmp_path / "latin.jsonl").write_bytes('{"id": "é"}'.encode("latin-1"))
    latin = sluice("explain", "--batch", tmp_path / "latin.jsonl")
    assert latin.exit_code == 3
    assert "is not UTF-8 text" in latin.stderr
    assert sluice("explain", "--history", tmp_path, tmp_path / "a.yaml").exit_code == 2
    assert sluice("explain", "--history", tmp_path, "--within", "-1").exit_code == 2
    for unheeded in (("--table", tmp_path), ("--table-path", tmp_path)):
        assert sluice("explain", "--history", tmp_path, *unheeded).exit_code == 2
        assert sluice("explain", "--batch", *unheeded).exit_code == 2
    assert sluice("explain", "--batch", "--history", tmp_path).exit_code == 2


def test_a_wrong_field_is_told_with_its_line_wherever_its_document_begins(tmp_path: Path) -> None:
    one = "kind: DeltaWriteJob\nmetadata: {name: %s}\nspec:\n  sql: DELETE FROM t\n  retri: {}\n"
    items = "kind: List\nitems:\n- kind: DeltaWriteJob\n  metadata: {name: c}\n  spec:\n    sql: x\n    retri: {}\n"
    (tmp_path / "a.yaml").write_text(one % "a" + "---\n" + one % "b" + "---\n" + items)
    told = complaints(sluice("plan", tmp_path))
    for name, line in (("a", 5), ("b", 11), ("c", 19)):
        assert f"{name}: spec.retri (line {line}): there is no such field; did you mean retry?" in told


def test_a_table_and_a_folder_that_is_not_there_are_not_taken_for_one_address_without_a_word(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.yaml").write_text("kind: DeltaWriteJob\nmetadata: {name: a}\nspec: {sql: DELETE FROM t}\n")
    told = complaints(sluice("plan", tmp_path, "--table-path", f"file://{tmp_path}/orders=copy"))
    assert "(it was taken whole, because there is no folder copy here)" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kind: DeltaWriteJob\nmetadata:\n\tname: a\n", "line 3, column 1: is not YAML: a tab: indent YAML with spaces"),
        ("kind: DeltaWriteJob\nspec:\n  sql: |\n  DELETE\n  FROM t\nx: 1\n", "in what begins on line 4"),
        (
            "apiVersion: sluice.dev/v1alpha1\nkind: DeltaWriteJobs\n",
            "kind (line 2): there is no kind DeltaWriteJobs; did you mean DeltaWriteJob?",
        ),
    ],
    ids=["a tab", "a text that is not indented", "a kind that does not exist"],
)  # fmt: skip
def test_what_is_easily_got_wrong_in_yaml_is_named(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    assert told in complaints(sluice("plan", tmp_path))


def test_an_application_is_judged_by_the_settings_of_its_template() -> None:
    template = {
        "sparkConf": {
            "spark.databricks.delta.schema.autoMerge.enabled": "true",
            "spark.kubernetes.container.image": "registry.example/etl:7",
            "spark.executor.cores": "2",
        },
        "hadoopConf": {"fs.s3a.endpoint": "http://minio:9000"},
    }
    spec = {
        "application": {"engine": "kubeflow", "template": template},
        "footprint": [{"table": {"path": "/lake/orders"}, "operation": "Append"}],
    }
    one = Job("settle", "settle.yaml", DeltaWriteJobSpec.model_validate(spec))
    assert one.conf == {
        "spark.hadoop.fs.s3a.endpoint": "http://minio:9000",
        "spark.databricks.delta.schema.autoMerge.enabled": "true",
        "spark.executor.cores": "2",
    }
