"""How long each test file took when last all of it ran: kept beside the results of runs, which go."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from devenv.testing import records
from devenv.testing.results import Results


def read(cache: Path) -> dict[str, float]:
    """Seconds by file, as pytest names it."""
    try:
        content = json.loads(_file(cache).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return {name: float(seconds) for name, seconds in content.items()}


def note(cache: Path, results: Results) -> None:
    """Takes over what a run in which nothing was left out has measured."""
    found: dict[str, float] = {}
    for file in results.folder.glob("*.tests.jsonl"):
        if not file.name.endswith(".again.tests.jsonl"):
            found |= _by_file(records.seconds_by_test(records.read(file)))
    if found:
        unfinished = _file(cache).with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(read(cache) | found, indent=1), encoding="utf-8")
        unfinished.rename(_file(cache))


def _by_file(seconds_by_test: Mapping[str, float]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for test, seconds in seconds_by_test.items():
        name = test.split("::")[0]
        sums[name] = round(sums.get(name, 0.0) + seconds, 3)
    return sums


def _file(cache: Path) -> Path:
    return cache / "test-seconds.json"
