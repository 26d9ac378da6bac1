"""The thirty slowest tests of a run, in a file beside its results."""

from devenv.testing import records
from devenv.testing.results import Results

COUNT = 30


def write_slowest(results: Results) -> None:
    seconds: dict[str, float] = {}
    for file in results.folder.glob("*.tests.jsonl"):
        seconds |= records.seconds_by_test(records.read(file))
    slowest = sorted(seconds.items(), key=lambda one: -one[1])[:COUNT]
    lines = [f"{took:8.1f} s  {test}\n" for test, took in slowest]
    (results.folder / "slowest.txt").write_text("".join(lines), encoding="utf-8", errors="backslashreplace")
