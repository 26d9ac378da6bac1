"""Where the main thread's CPU goes, by function: seen by py-spy if it is installed, else counted by cProfile."""

import marshal
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from devenv.processes import Argument, spawn

TOP = 15
SAMPLES_A_SECOND = 100
STOP_SECONDS = 60.0

_FRAME = re.compile(r"^(?P<function>.*) \((?P<file>[^()]*?)(?::\d+)?\)$")
_MAIN = "MainThread"
_WAITING = "EpollSelector.select (selectors.py)"
"""On a busy machine a thread that waits is sometimes taken for one that computes."""
_POLLING = "<method 'poll' of 'select.epoll' objects>"
_MICRO = 1_000_000
Calls = dict[tuple[str, int, str], tuple[int, int, float, float, object]]
"""Maps each function (file, line and name) to its number of calls, without and with recursive ones, and the seconds that they took
alone and with what they call."""


class Sampler:
    """py-spy beside the operator, for as long as something is measured."""

    def __init__(self, program: Path, pid: int, folder: Path) -> None:
        self._file = folder / "samples.txt"
        rate = str(SAMPLES_A_SECOND)
        options: list[Argument] = ["--format", "raw", "--threads", "--rate", rate, "--output", self._file]
        with (folder / "py-spy.log").open("ab") as log:
            self._process = spawn([program, "record", "--pid", str(pid), *options], log)

    @staticmethod
    def program() -> Path | None:
        found = shutil.which("py-spy")
        return None if found is None else Path(found)

    def end(self) -> list[str]:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if not self._file.exists():
            return ["py-spy wrote nothing: may it look into other processes here (ptrace)?"]
        return top_of_samples(self._file.read_text(encoding="utf-8").splitlines())


def top_of_samples(lines: Iterable[str], most: int = TOP) -> list[str]:
    """Reads py-spy's raw format: frames from the outermost on, with semicolons between, and how often that stack was seen."""
    alone: Counter[str] = Counter()
    with_called: Counter[str] = Counter()
    for line in lines:
        stack, _, seen = line.rpartition(" ")
        thread, *frames = stack.split(";")
        if _MAIN not in thread or not frames:
            continue
        functions = [_function(frame) for frame in frames]
        if functions[-1] == _WAITING:
            continue
        alone[functions[-1]] += int(seen)
        for function in set(functions):
            with_called[function] += int(seen)
    seen_in_all = sum(alone.values())
    return _told(f"{seen_in_all:,} samples of py-spy", alone, with_called, max(seen_in_all, 1), most)


def top_of_calls(file: Path, most: int = TOP) -> list[str]:
    """Reads what cProfile counted; calls of small functions look dearer than they are."""
    if not file.exists():
        return ["cProfile wrote nothing: the operator was killed before it ended by itself"]
    calls: Calls = marshal.loads(file.read_bytes())  # noqa: S302 - the operator that we started wrote it
    alone: Counter[str] = Counter()
    with_called: Counter[str] = Counter()
    for (where, _, name), (_, _, itself, whole, _) in calls.items():
        if name != _POLLING:
            function = f"{name} ({_short(where)})"
            alone[function] += round(_MICRO * itself)
            with_called[function] += round(_MICRO * whole)
    spent = sum(alone.values())
    how = f"{spent / _MICRO:.1f} s by cProfile, the start among them"
    return _told(how, alone, with_called, max(spent, 1), most)


def _told(how: str, alone: Counter[str], with_called: Counter[str], whole: int, most: int) -> list[str]:
    def line(function: str) -> str:
        return f"{alone[function] / whole:7.1%} {with_called[function] / whole:7.1%}  {function}"

    # What encloses everything, such as the event loop, tells nothing.
    inside = [name for name, count in with_called.most_common() if count < 0.9 * whole]
    return [
        f"main thread, {how}: by itself, with what it calls",
        *map(line, (name for name, _ in alone.most_common(most))),
        "with what it calls:",
        *map(line, inside[: 2 * most]),
    ]


def _function(frame: str) -> str:
    found = _FRAME.match(frame)
    return frame if found is None else f"{found['function']} ({_short(found['file'])})"


def _short(file: str) -> str:
    """Shortens a path, from the package on."""
    return re.sub(r"^.*/(?:site-packages|operator|lib/python3\.\d+)/", "", file)
