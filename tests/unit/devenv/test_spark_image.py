from pathlib import Path

import pytest

from devenv.cache import key_of
from devenv.spark_image import SOURCES, contents


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for name in (
        "Containerfile",
        "requirements.txt",
        "entrypoint.sh",
        "runner/run.py",
        "runner/src/sluice_runner/main.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def key(sources: Path) -> str:
    files = contents([sources / "delta.jar"], sources)
    return key_of(*files, *files.values())


def test_the_runner_lies_beside_the_file_that_applications_name(sources: Path) -> None:
    places = contents([sources / "delta.jar"], sources)
    assert {"runner/run.py", "runner/sluice_runner/main.py", "jars/delta.jar"} <= places.keys()


@pytest.mark.parametrize(
    "changed",
    ["Containerfile", "requirements.txt", "entrypoint.sh", "delta.jar", "runner/src/sluice_runner/main.py"],
)
def test_a_change_in_any_file_is_another_image(sources: Path, changed: str) -> None:
    (sources / "delta.jar").write_text("delta")
    before = key(sources)
    (sources / changed).write_text("changed")
    assert key(sources) != before


def test_a_new_module_of_the_runner_is_another_image(sources: Path) -> None:
    (sources / "delta.jar").write_text("delta")
    before = key(sources)
    (sources / "runner" / "src" / "sluice_runner" / "more.py").write_text("")
    assert key(sources) != before


def test_every_requirement_is_pinned_by_hashes_and_names_the_locked_versions() -> None:
    lines = (SOURCES / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if "==" in line]
    assert {"pyspark==4.2.0 \\", "delta-spark==4.4.0 \\"} <= set(pins)
    assert all(lines[lines.index(pin) + 1].strip().startswith("--hash=sha256:") for pin in pins)
