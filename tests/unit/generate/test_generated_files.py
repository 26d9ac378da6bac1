"""What is generated from code and committed is what the code says now."""

import re
from pathlib import Path

import pytest

from generate import crds
from generate.__main__ import main
from generate.files import CHART, made_in, stale_in
from sluice.api import names
from sluice.delta.features import WANTED

ROOT = Path(__file__).parents[3]


def test_what_is_committed_is_that_of_the_code() -> None:
    assert list(stale_in(made_in(ROOT))) == [], "stale: run ./dev generate and commit it"


def test_a_check_tells_what_is_stale_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = tmp_path / "crds" / "deltawritejobs.yaml"
    stale.parent.mkdir()
    stale.write_text("old", encoding="utf-8")
    assert main(["--check"], tmp_path) == 1
    said = capsys.readouterr().out
    for path in (stale, tmp_path / "docs" / "api.md", tmp_path / "docs" / "conflict-rules.md"):
        assert f"stale: {path}; run ./dev generate and commit it" in said
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [stale]
    assert stale.read_text(encoding="utf-8") == "old"


def test_what_was_written_is_not_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], tmp_path) == 0
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(made_in(tmp_path))
    capsys.readouterr()
    assert main(["--check"], tmp_path) == 0
    assert capsys.readouterr().out == ""


def test_the_chart_has_the_crds_too(tmp_path: Path) -> None:
    assert main([], tmp_path) == 0
    for resource in crds.RESOURCES:
        copy = tmp_path / CHART / "files" / "crds" / resource.file_name
        assert copy.read_text(encoding="utf-8") == crds.render(resource)


def test_the_crds_name_no_anchors_so_that_each_schema_reads_where_it_stands() -> None:
    for resource in crds.RESOURCES:
        assert "&id0" not in crds.render(resource)


def test_kubectl_explain_names_each_feature_that_a_policy_may_want() -> None:
    (policies,) = (one for one in crds.RESOURCES if one.kind == names.POLICY_KIND)
    schema = crds.definition(policies)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    told = schema["properties"]["spec"]["properties"]["features"]["description"]
    assert re.findall(r"\b[a-z]+[0-9]?[A-Z]\w+", told.partition(". ")[0]) == sorted(WANTED)
