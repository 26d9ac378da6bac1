"""However a run is ended, by an interrupt or by a screen that is gone, what it started is torn down."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from devenv.errors import DevError
from devenv.processes import adopt_orphans, descendants, end_descendants, wait_until
from devenv.testing import measured, watched
from devenv.testing.report import Report
from devenv.testing.results import Results
from devenv.testing.sections import Section

RunSections = Callable[..., list[Report]]
WAITS = """
import sys, time
from pathlib import Path
import pytest

folder = Path(__file__).parent

@pytest.fixture
def torn_down():
    yield
    (folder / "torn-down").touch()

def test_it(torn_down):
    been = folder / "been"
    if {first_fails} and not been.exists():
        been.touch()
        raise AssertionError("not yet")
    (folder / "waits").touch()
    print("a line", file=sys.__stdout__, flush=True)
    time.sleep(100)
"""


@pytest.fixture(autouse=True)
def before() -> Iterator[set[int]]:
    """The processes that were there before the test: only they are left after it."""
    before = {*descendants()}
    adopt_orphans()
    yield before
    adopt_orphans(False)
    left = end_descendants(spare=before)
    assert left == {}


def waits(folder: Path, *, first_fails: bool = False) -> Section:
    (folder / "test_waits.py").write_text(WAITS.format(first_fails=first_fails), encoding="utf-8")
    command = ("pytest", "test_waits.py", "-p", "no:cacheprovider", "--capture=no")
    return Section("waits", (command,), runs_again=True)


@contextmanager
def interrupted_when(file: Path) -> Iterator[None]:
    """An interrupt as Ctrl-C is one, in the main thread, once the file is there."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    def wait_and_interrupt() -> None:
        wait_until(file.exists, 60)
        os.kill(os.getpid(), signal.SIGUSR1)

    handler = signal.signal(signal.SIGUSR1, interrupt)
    alarm = threading.Thread(target=wait_and_interrupt)
    alarm.start()
    try:
        yield
    finally:
        alarm.join()
        signal.signal(signal.SIGUSR1, handler)


def test_an_interrupt_stays_one_when_a_command_does_not_heed_it(
    run_sections: RunSections, kept: Results, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(watched, "INTERRUPT_PATIENCE", 0.3)
    monkeypatch.setattr(watched, "GRACE_SECONDS", 0.3)
    is_deaf = tmp_path / "is-deaf"
    command = ("bash", "-c", f"trap '' INT; touch {is_deaf}; while :; do sleep 0.1; done")
    with interrupted_when(is_deaf), pytest.raises(KeyboardInterrupt):
        run_sections(Section("deaf", (command,)))
    assert kept.measurement("deaf").exists(), "what measures the command was killed, too"


@pytest.mark.parametrize("first_fails", [False, True])
def test_an_interrupt_lets_a_test_tear_down_also_when_it_runs_once_more(
    run_sections: RunSections, tmp_path: Path, first_fails: bool
) -> None:
    with interrupted_when(tmp_path / "waits"), pytest.raises(KeyboardInterrupt):
        run_sections(waits(tmp_path, first_fails=first_fails))
    assert (tmp_path / "been").exists() is first_fails
    assert (tmp_path / "torn-down").exists()


def test_when_nobody_reads_its_output_any_more_a_run_stops_and_tears_down(
    run_sections: RunSections, kept: Results, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as screen:
        monkeypatch.setattr(sys, "stdout", screen)
        with pytest.raises(DevError, match="Broken pipe"):
            run_sections(waits(tmp_path))
    assert (tmp_path / "torn-down").exists() or not (tmp_path / "waits").exists()
    assert kept.log("waits").stat().st_size > 0


def test_a_run_ends_when_what_measures_it_is_killed_and_an_orphan_goes_on_writing(
    run_sections: RunSections, tmp_path: Path, before: set[int]
) -> None:
    writes = "import os, subprocess\ndef test_it():\n    subprocess.Popen(['yes'], start_new_session=True)\n"
    (tmp_path / "test_it.py").write_text(f"{writes}    os.kill(os.getppid(), 9)\n", encoding="utf-8")
    (report,) = run_sections(Section("it", (("pytest", "test_it.py", "--capture=no"),)))
    assert report.failures[0].startswith("pytest ended with -9")
    # A process that is ending has lost its command line before it is gone.
    assert wait_until(lambda: before >= descendants().keys(), 60), "its pipe has no reader, so it ends"


def test_of_a_measurement_that_is_torn_the_exit_code_is_known(tmp_path: Path) -> None:
    report = tmp_path / "measured.json"
    report.write_text('{"code": 0, "cpu_')
    with subprocess.Popen(["false"]) as process:
        process.wait()
    assert measured.read(report, process).code == 1
