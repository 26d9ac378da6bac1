"""What of an application's template the operator refuses, commands tell before it, in the same words."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from sluice.api import names
from sluice.api.base import Json
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.spec.compiled_spec import CompiledSpecs
from sluice.offline.batch import answers
from sluice.templates.shared_rules import DEEPEST, LARGEST
from unit.cli.folders import FACTS, PINNED_DELETE, complaints, job, sluice, write
from unit.templates import test_apache, test_kubeflow

_LINE = re.compile(r" \(line \d+\)(?=: )")


def _nested() -> Any:
    inner: Any = "x"
    for _ in range(DEEPEST):
        inner = [inner]
    return inner


REFUSED: list[tuple[str, Json]] = [
    *(("kubeflow", test_kubeflow.PLAIN | changed) for changed, _, _ in test_kubeflow.REFUSED),
    ("kubeflow", test_kubeflow.PLAIN | {"arguments": ["x" * LARGEST]}),
    ("kubeflow", test_kubeflow.PLAIN | {"later": _nested()}),
    *(("apache", test_apache.PLAIN | changed) for changed, _ in test_apache.REFUSED),
    ("apache", test_apache.PLAIN | {"driverArgs": ["x" * LARGEST]}),
    ("apache", test_apache.PLAIN | {"later": _nested()}),
]


def spec(engine: str, template: Json) -> Json:
    return {
        "application": {"engine": engine, "template": template},
        "footprint": [{"table": {"path": "s3://lake/orders"}, "operation": "Append"}],
    }


def manifest(engine: str, template: Json) -> str:
    body = {
        "apiVersion": names.API_VERSION,
        "kind": names.JOB_KIND,
        "metadata": {"name": "settle", "namespace": "etl"},
        "spec": spec(engine, template),
    }
    return json.dumps(body, indent=1)


def operators_words(engine: str, template: Json) -> tuple[str, ...]:
    with pytest.raises(NotUnderstoodError) as refused:
        _ = CompiledSpecs().of(spec(engine, template), {}, "etl").profile
    return refused.value.problems


@pytest.mark.parametrize(("engine", "template"), REFUSED)
def test_whatever_the_operator_refuses_is_refused_in_its_words(
    engine: str, template: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    file = tmp_path / "settle.json"
    file.write_text(manifest(engine, template), encoding="utf-8")
    words = operators_words(engine, template)
    for command in ("plan", "footprint"):
        result = sluice(command, file, "-o", "json")
        assert result.exit_code == 3
        told = told_by(result, f"! {file}: etl/settle: ")
        assert tuple(_LINE.sub("", why) for why in told) == words
    result = sluice("render", file)
    assert result.exit_code == 3
    assert tuple(told_by(result, "etl/settle: the operator would refuse it: ")) == words


def told_by(result: Result, begins: str) -> list[str]:
    """What stands behind these words, with which each line begins."""
    lines = complaints(result).splitlines()
    assert all(line.startswith(begins) for line in lines), lines
    return [line.removeprefix(begins) for line in lines]


def test_each_of_several_problems_is_a_line_with_its_place_in_the_file(tmp_path: Path) -> None:
    changed = {"mode": "client", "driver": {"podName": "mine", "env": [{"name": "SLUICE_PLAN"}]}}
    write(tmp_path, a=manifest("kubeflow", test_kubeflow.PLAIN | changed))
    told = complaints(sluice("plan", tmp_path)).splitlines()
    places = [re.search(r"template\.(\S+) \(line (\d+)\): ", line) for line in told]
    lines = (tmp_path / "a.yaml").read_text(encoding="utf-8").splitlines()
    found = {place[1]: lines[int(place[2]) - 1].split('"')[1] for place in places if place is not None}
    assert found == {"mode": "mode", "driver.podName": "podName", "driver.env[0].name": "name"}
    assert len(told) == 3


def test_a_status_has_room_for_the_first_of_them() -> None:
    changed = {"mode": "client", "driver": {"podName": "mine"}}
    first, second = operators_words("kubeflow", test_kubeflow.PLAIN | changed)
    assert str(NotUnderstoodError(first, second)) == f"{first}; and 1 more"


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_no_other_command_takes_such_a_job_for_one_that_would_run(command: str, tmp_path: Path) -> None:
    template = test_kubeflow.PLAIN | {"mode": "client"}
    if command == "simulate":
        line = {"name": "settle", "at": 0, "duration": 60, "spec": spec("kubeflow", template)}
        file = tmp_path / "trace.jsonl"
        file.write_text(json.dumps(line), encoding="utf-8")
        files = [file]
    else:
        write(tmp_path, a=manifest("kubeflow", template), b=job("b", PINNED_DELETE))
        files = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    result = sluice(command, *files)
    assert result.exit_code == 3
    assert operators_words("kubeflow", template)[0] in _LINE.sub("", complaints(result))


def test_a_pair_with_such_a_job_has_no_verdict() -> None:
    template = test_kubeflow.PLAIN | {"mode": "client"}
    asked = {"table": FACTS, "first": spec("kubeflow", template), "second": {"sql": PINNED_DELETE}}
    (answered,) = answers([json.dumps(asked)])
    assert answered["error"] == f"first: {operators_words('kubeflow', template)[0]}"
