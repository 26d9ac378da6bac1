"""What kubectl and the API server refuse, the command line refuses, with its place; what is somebody else's is passed over."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from integration.api.manifest_tables import BadManifest, bad_manifests, good_manifests
from sluice.offline.files import read_files
from sluice.offline.jobs import manifests_of
from unit.cli.folders import PINNED_DELETE, complaints, job, policy, sluice

HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: DeltaWriteJob\nmetadata: {name: a}\n"
SPEC = f'spec: {{sql: "{PINNED_DELETE}"}}\n'


def test_each_bad_manifest_is_refused(tmp_path: Path) -> None:
    cases = bad_manifests()
    file = tmp_path / "a.json"
    taken: list[BadManifest] = []
    for case in cases:
        file.write_text(json.dumps(case.manifest), encoding="utf-8")
        troubles = manifests_of(read_files([file])).troubles
        assert not any("Input should" in one.why for one in troubles), "nobody sees pydantic's own words"
        if not troubles:
            taken.append(case)
    assert len(cases) > 200
    assert not taken


def test_each_good_manifest_is_read_without_a_complaint(tmp_path: Path) -> None:
    manifests = good_manifests()
    for number, manifest in enumerate(manifests):
        (tmp_path / f"{number}.json").write_text(json.dumps(manifest), encoding="utf-8")
    read = manifests_of(read_files([tmp_path]))
    assert read.troubles == []
    assert len(read.jobs) + len(read.policies) == len(manifests)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEAD.replace("a}", "My_Job}") + SPEC, "metadata.name (line 3): 'My_Job' is no name that Kubernetes takes"),
        (HEAD.replace("a}", "'load-{{ day }}'}") + SPEC, "is a template, and no name that Kubernetes takes: render it first"),
        (HEAD.replace("a}", "a, lables: {x: y}}") + SPEC, "metadata.lables (line 3): there is no such field; did you mean labels?"),
        (HEAD.replace("a}", "a, labels: {x: 1}}") + SPEC, "metadata.labels.x (line 3): must be text, not a number: put it in"),
        (HEAD.replace("a}", "a, labels: {x: a b}}") + SPEC, "metadata.labels.x (line 3): a label's value takes at most 63"),
        (HEAD.replace("a}", "a, annotations: {a b: c}}") + SPEC, "is no key that Kubernetes takes"),
        (HEAD.replace("a}", "a, namespace: A_b}") + SPEC, "metadata.namespace (line 3): must be a namespace"),
        (HEAD + SPEC + "specs: {}\n", "specs (line 5): there is no such field; did you mean spec?"),
        (HEAD + "spec: {sql: SELECT 1, run_key: a}\n", "spec.run_key (line 4): there is no such field; did you mean runKey?"),
        (HEAD.replace("v1alpha1", "v1beta1") + SPEC, "apiVersion (line 1): sluice.dev/v1beta1 is not known here"),
        (HEAD.replace("sluice.dev", "sluice.de") + SPEC, "apiVersion (line 1): sluice.de/v1alpha1 is not known here"),
        (HEAD.replace("sluice.dev/v1alpha1", "batch/v1") + SPEC, "apiVersion (line 1): batch/v1 has no DeltaWriteJob"),
        (HEAD.partition("\n")[2] + SPEC, "apiVersion: is required: set it to sluice.dev/v1alpha1"),
        (HEAD.replace("WriteJob", "Writejob") + SPEC, "kind (line 2): there is no kind DeltaWritejob; did you mean DeltaWriteJob?"),
        (HEAD.replace("kind: DeltaWriteJob\n", "") + SPEC, "has no kind: set it to DeltaWriteJob or DeltaTablePolicy"),
        (HEAD.replace("DeltaWriteJob", "Queue") + SPEC, "kind (line 2): there is no kind Queue: use DeltaWriteJob or"),
        (HEAD + SPEC + "? [a]\n: b\n", "a field's name must be text"),
        (HEAD + "spec: {sql: SELECT 1, priority: .inf}\n", ".inf is a number that JSON does not have"),
        (HEAD + "spec: {sql: !!binary YQ==}\n", "the tag !!binary says nothing in a manifest: remove it"),
        (HEAD + "spec:\n  {{ toYaml .Values.spec }}\n", "a template? render it first"),
        (HEAD + SPEC + "status:\n  run: {id: a}\n", "status.run.id (line 6): there is no such field"),
        ("apiVersion: v1\nkind: List\n", "a List needs items: a list of manifests, which may be empty"),
    ],
)  # fmt: skip
def test_what_would_be_refused_is_told_with_its_line_and_what_to_do(
    tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "a.yaml").write_text(text)
    result = sluice("plan", tmp_path / "a.yaml")
    assert told in complaints(result)
    assert result.exit_code == 3


@pytest.mark.parametrize(
    "text",
    [
        HEAD + 'spec: {sql: "DELETE FROM lake.a WHERE d = :day", parameters: {day: {date: 2026-11-19}}}\n',
        "b: &b {sql: SELECT 1}\n"
        + "---\n"
        + HEAD
        + "spec:\n  <<: {sql: DELETE FROM lake.a}\n  priority: 1e2\n",
        "\ufeff" + HEAD + SPEC + "---\n# nothing\n---\n",
        json.dumps(
            {
                "kind": "List",
                "apiVersion": "v1",
                "items": [json.loads(job("a", "DELETE FROM lake.a WHERE d = '\U0001f600'"))],
            }
        ),
    ],
    ids=["a bare date", "a merge key", "a byte order mark", "half characters in JSON"],
)
def test_what_kubectl_takes_is_taken(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    told = sluice("plan", tmp_path)
    assert "1 job " in told.stdout, told.stderr
    assert "is not YAML" not in told.stderr


def test_patches_of_kustomize_are_passed_over_in_a_folder(tmp_path: Path) -> None:
    (overlay := tmp_path / "overlay").mkdir()
    (tmp_path / "a").mkdir()
    (tmp_path / "base.yaml").write_text(job("a", PINNED_DELETE))
    patches = "patches: [{path: part.yaml}, {path: ops.yaml}, {patch: '- op: remove'}]\npatchesStrategicMerge: [../a/old.yaml]\n"
    (overlay / "kustomization.yaml").write_text(f"resources: [../base.yaml]\n{patches}")
    part = job("a", PINNED_DELETE).replace('"sql"', '"priority"')
    for name, text in (("part", part), ("old", part), ("ops", "- {op: remove, path: /spec/writes}\n")):
        (overlay / f"{name}.yaml").write_text(text)
    (overlay / "old.yaml").rename(tmp_path / "a" / "old.yaml")
    result = sluice("plan", tmp_path)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("1 job ")
    assert complaints(result).startswith("passed over: 4 documents or files")
    (overlay / "kustomization.yaml").write_text("resources: [../base.yaml, part.yaml]\n")
    assert "part.yaml" in complaints(sluice("plan", tmp_path))


def test_charts_and_other_people_s_manifests_are_passed_over_with_one_line(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: etl\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("image: a\n")
    (chart / "templates" / "job.yaml").write_text("kind: DeltaWriteJob\nmetadata: {{ .name }}\n")
    (tmp_path / "deployment.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n")
    (tmp_path / "a.yaml").write_text(job("a", PINNED_DELETE))
    result = sluice("plan", tmp_path)
    assert result.exit_code == 0
    assert result.stdout.startswith("1 job ")
    assert complaints(result) == (
        "passed over: 4 documents or files of other kinds, of charts or patches of kustomize "
        "(render these to have their jobs read)\n"
    )
    named = sluice("plan", chart / "templates" / "job.yaml")
    assert "a template? render it first" in complaints(named)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("playbook.yaml", b"- hosts: all\n  tasks: []\n"),
        ("tsconfig.json", b'{\n  // comments\n  "compilerOptions": {}\n}\n'),
        ("old.yml", "name: caf\u00e9\n".encode("latin-1")),
    ],
)
def test_what_other_programs_write_is_passed_over_in_a_folder_and_told_where_it_is_named(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "a.yaml").write_text(job("a", PINNED_DELETE))
    result = sluice("plan", tmp_path)
    assert (result.exit_code, result.stdout[:6]) == (0, "1 job ")
    assert complaints(result).startswith("passed over: 1 document")
    assert sluice("plan", tmp_path / name).exit_code == 3


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
def test_a_broken_manifest_of_ours_is_told_wherever_it_is_found(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "broken.yaml").write_bytes("kind: DeltaWriteJob\nmetadata: {name: [a}\n".encode(encoding))
    (tmp_path / "a.yaml").write_text(job("a", PINNED_DELETE))
    result = sluice("plan", tmp_path)
    assert "broken.yaml" in complaints(result)
    assert result.exit_code == 3


def test_objects_of_json_may_follow_each_other_each_with_its_line(tmp_path: Path) -> None:
    bad = job("c", PINNED_DELETE).replace('"sql"', '\n"sqll"')
    text = f"{job('a', PINNED_DELETE)}{job('b', PINNED_DELETE)}\n\n{bad}\n{{]"
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    result = sluice("plan", tmp_path)
    assert result.stdout.startswith("2 jobs")
    told = complaints(result)
    assert "a.json, line 3: c: spec.sqll (line 4): there is no such field; did you mean sql?" in told
    assert "a.json, line 5, column 2: is not YAML" in told


def test_a_policy_that_is_refused_keeps_its_name_from_no_other(tmp_path: Path) -> None:
    good = policy("orders", table={"path": "s3://lake/orders"}, partitionBy=["date"])
    (tmp_path / "a.json").write_text(good.replace("partitionBy", "partitionedBy"), encoding="utf-8")
    (tmp_path / "b.json").write_text(good, encoding="utf-8")
    read = manifests_of(read_files([tmp_path]))
    assert [one.name for one, _ in read.policies] == ["orders"]
    assert ["did you mean partitionBy?" in one.why for one in read.troubles] == [True]


def test_without_the_parser_that_is_held_against_kubectl_nothing_is_read() -> None:
    without = "import yaml; yaml.__with_libyaml__ = False; import sluice.api.kubectl_yaml"
    done = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "was built without libyaml" in done.stderr
    assert "--only-binary :all: pyyaml" in done.stderr
