"""There is one version, and the page on releasing names each file in which it stands."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PLACES = {
    "pyproject.toml": r'^version = "(.+)"$',
    "spark-images/runner/pyproject.toml": r'^version = "(.+)"$',
    "charts/sluice/Chart.yaml": r"^(?:version|appVersion): (.+)$",
    "operator/Containerfile": r"--tag sluice-operator:(\S+) ",
    "docs/install.md": r"\bsluice-operator:([^\s`]+)",
    "docs/ci/github-plan.yaml": r"/sluice@v(\S+)",
    "tests/e2e/test_images.py": r'"sluice ([^"]+)"',
}
HOW_OFTEN = {"charts/sluice/Chart.yaml": 2, "docs/install.md": 4}
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


@pytest.mark.parametrize("place", PLACES)
def test_the_version_is_the_same_wherever_it_stands(place: str) -> None:
    found = re.findall(PLACES[place], (ROOT / place).read_text(encoding="utf-8"), re.MULTILINE)
    assert found == [VERSION] * HOW_OFTEN.get(place, 1)


def test_the_page_on_releasing_names_each_file_with_the_version() -> None:
    page = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    named = page.partition("2. The version")[2].partition("`tests/unit/docs/test_version.py`")[0]
    assert set(re.findall(r"`([^`]+)`", named)) == set(PLACES)
