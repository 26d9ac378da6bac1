"""`./dev test --coverage`: which lines and branches of the product a run executes.

Each Python process that the tests start measures itself: the `coverage` package starts with the interpreter where
COVERAGE_PROCESS_START is set. Processes in containers and programs that a test kills while they are alone are not measured.

`python -m devenv.testing.coverage FOLDER` combines what they wrote and prints a table by package.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from devenv.project import ROOT

MEASURED = (ROOT / "operator" / "sluice", ROOT / "spark-images" / "runner" / "src" / "sluice_runner")
SETTINGS_FILE = "COVERAGE_PROCESS_START"
DATA = "data"
FIGURES = "coverage.json"
REPORT = ("python", "-m", "devenv.testing.coverage")
COUNTED = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def variables(folder: Path, parts: Sequence[Path] = MEASURED) -> Mapping[str, str]:
    """Writes the settings of the measurement into this folder and returns what starts it."""
    folder.mkdir()
    settings = folder / "coverage.ini"
    lines = [
        "[run]",
        "branch = true",
        "parallel = true",
        f"data_file = {folder / DATA}",
        "patch = fork, _exit",
        # Each process sees a part of the product only, and warnings fail tests.
        "disable_warnings = no-data-collected, module-not-imported, module-not-measured, already-imported, no-ctracer",
        "include =",
        *(f"    {part}/*" for part in parts),
    ]
    settings.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return {SETTINGS_FILE: str(settings)}


def report(folder: Path, parts: Sequence[Path] = MEASURED) -> Iterator[str]:
    """Combines the data of all processes, keeps the figures by file as JSON, and returns a table by package."""
    from coverage import Coverage  # noqa: PLC0415 - `./dev` itself runs where it is not installed

    measured = Coverage(data_file=str(folder / DATA), config_file=str(folder / "coverage.ini"))
    measured.combine([str(folder)])
    measured.get_data().touch_files([str(file) for part in parts for file in part.rglob("*.py")])
    measured.json_report(outfile=str(folder / FIGURES))
    files: Mapping[str, Any] = json.loads((folder / FIGURES).read_text(encoding="utf-8"))["files"]
    counts: dict[str, Counter[str]] = {}
    for name, figures in files.items():
        for package in (_package(ROOT / name), "all"):
            counts.setdefault(package, Counter()).update(
                {count: figures["summary"][count] for count in COUNTED}
            )
    yield f"  {'package':<32} {'lines':>14} {'branches':>14}"
    for package, count in sorted(counts.items(), key=lambda one: (one[0] == "all", one[0])):
        yield f"  {package:<32} {_share(count, *COUNTED[:2])} {_share(count, *COUNTED[2:])}"


def _package(file: Path) -> str:
    (top,) = (measured for measured in MEASURED if file.is_relative_to(measured))
    return ".".join((top.name, *file.relative_to(top).parts[:-1][:1]))


def _share(count: Counter[str], total: str, covered: str) -> str:
    share = 100 * count[covered] / count[total] if count[total] else 100.0
    return f"{count[covered]:>6} {share:5.1f} %"


def main() -> int:
    for line in report(Path(sys.argv[1])):
        sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
