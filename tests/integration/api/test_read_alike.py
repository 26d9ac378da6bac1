"""A file means to the command line what it means to kubectl, and is taken or refused as the API server takes or refuses it."""

import json
from pathlib import Path

import pytest

from integration.api.manifest_tables import bodies
from integration.conftest import Kubectl
from sluice.api.manifests import Documents, read_text
from sluice.offline.files import read_files
from sluice.offline.jobs import manifests_of

HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: DeltaWriteJob\nmetadata: {name: a}\n"
SPEC = "spec: {sql: DELETE FROM lake.a}\n"

VALUES = [
    "0o17",
    "1_000",
    "1e400",
    "99999999999999999999",
    "18446744073709551615",
    "0x_1F",
    "0x1F",
    "1e3",
    "1_0.5",
    "2026-11-19",
    "2026-11-19T08:00:00Z",
    "1:30",
    "=",
    "1.",
    "+.5",
    "-0",
    "0b11",
    "089",
    "08",
    "1e-3",
    "Null",
    "NULL",
    "~",
    "y",
    "Y",
    "n",
    "yes",
    "NO",
    "on",
    "Off",
    "1e5000",
    "0x",
    "12345678901234567890123",
    "-9223372036854775809",
    "0777",
    "_1",
    "1__0",
    "0.1e1",
    "0.0",
    "1.0",
    "'5'",
    '"5"',
    "!!str|5",
    "!!int|'5'",
    "0.1",
    "1e20",
    "1e21",
    "-1e3",
    "+",
    ".",
    "..",
    "1.5e3",
    "1.e2",
    "0b12",
    "0xg",
    "TRUE",
    "tRUE",
    "[&a|1,*a]",
    "{on:|1}",
    "{5:|a}",
    "{1.5:|a}",
    "{0x10:|a}",
    "{1e3:|a}",
    "{2026-11-19:|a}",
    '{"~":|a}',
    "{<<:|{a:|1},|b:|2}",
    "{a:|&b|{c:|1},d:|{<<:|*b,c:|2}}",
]
REFUSED = [".inf", "-.Inf", ".nan", "{? [a] : 1}", "{null: a}", "{~: a}", '"\\ud83d"']
STRICTER = [
    "{a: 1, a: 2}",
    "{on: 1, true: 2}",
    "!!binary aGk=",
    "!!set {a, b}",
    "!mine 1",
]
"""Values that kubectl reads and the command line refuses: of a key that stands twice kubectl drops the first silently, and
a tag has no meaning in any field."""


def _job(name: str) -> str:
    head = {"apiVersion": "sluice.dev/v1alpha1", "kind": "DeltaWriteJob", "metadata": {"name": name}}
    return json.dumps({**head, "spec": {"sql": "DELETE FROM lake.a"}})


def _as_kubectl(kubectl: Kubectl, text: str) -> object:
    """What kubectl would send, without a server."""
    done = kubectl("annotate", "--local", "-f", "-", "read=alike", "-o", "json", stdin=text)
    return json.loads(done.stdout)["spec"] if done.returncode == 0 else None


def test_plain_words_mean_what_they_mean_to_kubectl(kubectl: Kubectl) -> None:
    values = [value.replace("|", " ") for value in VALUES]
    text = HEAD + "spec:\n" + "".join(f"  v{number}: {value}\n" for number, value in enumerate(values))
    sent = _as_kubectl(kubectl, text)
    assert isinstance(sent, dict)
    (read,) = bodies(text)
    otherwise = {
        value: (read["spec"][name], sent[name])
        for name, value in ((f"v{number}", value) for number, value in enumerate(values))
        if not _is_alike(read["spec"][name], sent[name])
    }
    assert not otherwise


def _is_alike(one: object, other: object) -> bool:
    if isinstance(one, float):  # both are as near as a number of 64 bits gets
        return one == float(str(other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("value", STRICTER)
def test_what_kubectl_reads_and_nobody_means_is_refused(kubectl: Kubectl, value: str) -> None:
    text = f"{HEAD}spec:\n  v: {value}\n"
    read = Documents()
    read_text(text, "file", read)
    assert read.troubles
    assert _as_kubectl(kubectl, text) is not None


@pytest.mark.parametrize("value", REFUSED)
def test_what_kubectl_cannot_read_is_refused(kubectl: Kubectl, value: str) -> None:
    text = f"{HEAD}spec:\n  v: {value}\n"
    read = Documents()
    read_text(text, "file", read)
    assert read.troubles
    assert _as_kubectl(kubectl, text) is None


TAKEN = {
    "a bare date": HEAD + "spec: {sql: DELETE FROM a WHERE d = :d, parameters: {d: {date: 2026-11-19}}}\n",
    "a merged key": HEAD + "spec:\n  <<: {sql: DELETE FROM lake.a, priority: 1}\n  priority: 1e2\n",
    "several": HEAD + SPEC + "---\n# nothing\n---\n" + HEAD.replace("a}", "b}") + SPEC,
    "a byte order mark": "\ufeff" + HEAD + SPEC,
    "lines of Windows": (HEAD + SPEC).replace("\n", "\r\n"),
    "a generated name": HEAD.replace("name: a", "generateName: load-") + SPEC,
    "labels": HEAD.replace("a}", "a, labels: {a.b/c: '', d: x_1}, annotations: {A/b: '{}', c: x}}") + SPEC,
    "nulls": HEAD.replace("a}", "a, labels: null}") + "spec: {sql: DELETE FROM lake.a, retry: null}\n",
    "half characters in JSON": json.dumps(
        {
            "apiVersion": "sluice.dev/v1alpha1",
            "kind": "DeltaWriteJob",
            "metadata": {"name": "a"},
            "spec": {"sql": "DELETE FROM lake.a WHERE d = '\U0001f600'"},
        }
    ),
    "a list of jobs": "apiVersion: sluice.dev/v1alpha1\nkind: DeltaWriteJobList\nitems:\n- "
    + (HEAD + SPEC).replace("\n", "\n  "),
    "a list of none": "apiVersion: v1\nkind: List\nitems: []\n" + "---\n" + HEAD + SPEC,
    "a list": "apiVersion: v1\nkind: List\nitems:\n- " + (HEAD + SPEC).replace("\n", "\n  "),
    "a name with dots": HEAD.replace("a}", "a.b-2}") + SPEC,
    "two objects of JSON": f"{_job('a')}\n{_job('b')}\n",
    "two objects of JSON on one line": _job("a") + _job("b"),
    "objects of JSON between marks": f"{_job('a')}\n---\n{_job('b')}\n",
    "YAML behind an object of JSON": f"{_job('b')}\n{HEAD}{SPEC}",
    "a comment behind an object of JSON": _job("a") + " # nothing",
    "a status of another kind": HEAD + SPEC + "status: text\n",
    "a status with text for a number": HEAD + SPEC + "status: {attempts: many}\n",
    "its status": HEAD + SPEC + "status: {phase: Running}\n",
}
NOT_TAKEN = {
    "a second object of JSON that is none": _job("a") + " {]",
    "a list without items": "apiVersion: v1\nkind: List\n",
    "a list of nothing": "apiVersion: v1\nkind: List\nitems: null\n",
    "a list of jobs without items": "apiVersion: sluice.dev/v1alpha1\nkind: DeltaWriteJobList\n",
    "a field deep in a status": HEAD + SPEC + "status: {run: {nonsense: 1}}\n",
    "a status with another field": HEAD + SPEC + "status: {nonsense: 1}\n",
    "a name in capitals": HEAD.replace("a}", "My_Job}") + SPEC,
    "a name that is too long": HEAD.replace("a}", "a" * 75 + "}") + SPEC,
    "no name": HEAD.replace("name: a", "") + SPEC,
    "a number as a name": HEAD.replace("a}", "7}") + SPEC,
    "a name that is a template": HEAD.replace("a}", "'load-{{ day }}'}") + SPEC,
    "no apiVersion": HEAD.partition("\n")[2] + SPEC,
    "no kind": HEAD.replace("kind: DeltaWriteJob\n", "") + SPEC,
    "a kind that is nearly ours": HEAD.replace("WriteJob", "Writejob") + SPEC,
    "a version that is nearly ours": HEAD.replace("v1alpha1", "v1alpha2") + SPEC,
    "a group that is nearly ours": HEAD.replace("sluice.dev", "sluice.de") + SPEC,
    "our kind in another group": HEAD.replace("sluice.dev/v1alpha1", "batch/v1") + SPEC,
    "a field beside spec": HEAD + SPEC + "specs: {}\n",
    "a field as Python spells it": HEAD + "spec: {sql: DELETE FROM lake.a, run_key: a}\n",
    "a field of metadata": HEAD.replace("a}", "a, lables: {}}") + SPEC,
    "a number as a label": HEAD.replace("a}", "a, labels: {x: 1}}") + SPEC,
    "a label with a space": HEAD.replace("a}", "a, labels: {x: a b}}") + SPEC,
    "a label's key": HEAD.replace("a}", "a, labels: {-x: a}}") + SPEC,
    "an annotation's key": HEAD.replace("a}", "a, annotations: {a/b/c: a}}") + SPEC,
    "an annotation that is true": HEAD.replace("a}", "a, annotations: {x: yes}}") + SPEC,
    "a tab": HEAD + "spec:\n\tsql: DELETE FROM lake.a\n",
    "a template": HEAD + "spec:\n  {{ toYaml .Values.spec }}\n",
    "a huge number": HEAD + "spec: {sql: DELETE FROM lake.a, priority: 99999999999999999999}\n",
    "text as a number": HEAD + "spec: {sql: DELETE FROM lake.a, priority: '5'}\n",
    "a list of things": "- " + (HEAD + SPEC).replace("\n", "\n  "),
    "a bomb": HEAD
    + "spec:\n  sql: DELETE FROM lake.a\n  x0: &x0 [a]\n"
    + "".join(f"  x{n + 1}: &x{n + 1} [{', '.join([f'*x{n}'] * 10)}]\n" for n in range(9)),
    "a schedule": HEAD
    + "spec: {application: {engine: kubeflow, template: {schedule: '@daily', template: {type: Scala}}}, "
    + "footprint: [{table: {name: lake.a}, operation: Append}]}\n",
    "no spec": HEAD,
}


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        *(pytest.param(text, True, id=name) for name, text in TAKEN.items()),
        *(pytest.param(text, False, id=name) for name, text in NOT_TAKEN.items()),
    ],
)
def test_a_file_is_taken_or_refused_as_by_the_api_server(
    kubectl: Kubectl, namespace: str, tmp_path: Path, text: str, *, taken: bool
) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(text.encode())
    troubles = manifests_of(read_files([file])).troubles
    done = kubectl("create", "--dry-run=server", "--validate=strict", "-n", namespace, "-f", str(file))
    assert (not troubles, done.returncode == 0) == (taken, taken), (troubles, done.stderr)
