"""What is generated from the models and committed is what the models say now."""

from pathlib import Path

import pytest

from sluice.api import crds, reference

ROOT = Path(__file__).parents[3]


def test_the_committed_crds_are_those_of_the_models() -> None:
    for resource in crds.RESOURCES:
        committed = (ROOT / "crds" / resource.file_name).read_text(encoding="utf-8")
        assert committed == crds.render(resource), "stale: run ./dev crds and commit crds/"


def test_the_committed_reference_is_that_of_the_models() -> None:
    committed = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert committed == reference.render(), "stale: run ./dev crds and commit docs/api.md"


def test_a_check_tells_what_is_stale_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = tmp_path / "deltawritejobs.yaml"
    stale.write_text("old", encoding="utf-8")
    assert crds.main([str(tmp_path), "--check"]) == 1
    assert reference.main([str(tmp_path / "api.md"), "--check"]) == 1
    said = capsys.readouterr().out
    assert f"stale: {stale}; run ./dev crds and commit it" in said
    assert f"stale: {tmp_path / 'api.md'}; run ./dev crds and commit it" in said
    assert [path.name for path in tmp_path.iterdir()] == ["deltawritejobs.yaml"]
    assert stale.read_text(encoding="utf-8") == "old"


def test_what_was_written_is_not_stale(tmp_path: Path) -> None:
    assert crds.main([str(tmp_path)]) == 0
    assert crds.main([str(tmp_path), "--check"]) == 0
    assert reference.main([str(tmp_path / "api.md")]) == 0
    assert reference.main([str(tmp_path / "api.md"), "--check"]) == 0


def test_the_crds_name_no_anchors_so_that_each_schema_reads_where_it_stands() -> None:
    for resource in crds.RESOURCES:
        assert "&id0" not in crds.render(resource)
