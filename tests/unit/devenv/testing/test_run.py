"""Sections run side by side; what failed runs once more; what is left behind, interrupted, or too dear is told."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devenv.processes import adopt_orphans, descendants
from devenv.testing import watched
from devenv.testing.report import Report
from devenv.testing.results import Results
from devenv.testing.sections import FIRST, SECOND, Section

RunSections = Callable[..., list[Report]]
FAILS_ONCE = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("name", {names!r})
def test_it(name):
    been = Path(__file__).with_name(f"been-{{name}}")
    first = not been.exists()
    been.touch()
    assert not first, "somebody was quicker"

def test_fine(): pass
"""
FAILS = "def test_always(): assert False, 'never right'\n"


def section_of(name: str, folder: Path, content: str, *, runs_again: bool = True) -> Section:
    (folder / f"test_{name}.py").write_text(content, encoding="utf-8")
    command = ("pytest", f"test_{name}.py", "-p", "no:cacheprovider")
    return Section(name, (command,), runs_again=runs_again)


def bash(name: str, script: str, lane: str = FIRST) -> Section:
    return Section(name, (("bash", "-c", script),), lane=lane)


@pytest.fixture(autouse=True)
def adopting() -> Iterator[None]:
    adopt_orphans()
    yield
    adopt_orphans(False)


def test_a_test_that_passes_when_it_runs_again_is_flaky_and_both_outputs_are_kept(
    run_sections: RunSections, kept: Results, tmp_path: Path
) -> None:
    names = ["a::b[c]", "sp ace", "plain"]
    (report,) = run_sections(section_of("flaky", tmp_path, FAILS_ONCE.format(names=names)))
    assert report.failures == []
    assert report.flaky == [f"test_flaky.py::test_it[{name}]" for name in names]
    told = kept.failed("flaky").read_text(encoding="utf-8")
    assert told.count("somebody was quicker") >= 3
    assert told.count("--- once more, alone\npassed") == 3
    assert report.passed == 4


def test_a_test_that_fails_twice_is_a_failure_with_both_outputs(
    run_sections: RunSections, kept: Results, tmp_path: Path
) -> None:
    (report,) = run_sections(section_of("bad", tmp_path, FAILS))
    assert report.failures == ["test_bad.py::test_always"]
    assert report.flaky == []
    first, _, second = kept.failed("bad").read_text(encoding="utf-8").partition("once more")
    assert "never right" in first
    assert "never right" in second


def test_a_test_of_a_section_without_services_gets_no_second_chance(
    run_sections: RunSections, tmp_path: Path
) -> None:
    section = section_of("pure", tmp_path, FAILS_ONCE.format(names=["a"]), runs_again=False)
    (report,) = run_sections(section)
    assert report.failures == ["test_pure.py::test_it[a]"]


def test_many_failures_are_no_chance_and_do_not_run_again(
    run_sections: RunSections, kept: Results, tmp_path: Path
) -> None:
    (report,) = run_sections(
        section_of("many", tmp_path, FAILS_ONCE.format(names=[f"n{n}" for n in range(9)]))
    )
    assert len(report.failures) == 9
    assert "(not run again)" in kept.failed("many").read_text(encoding="utf-8")


def test_a_file_that_cannot_be_read_fails_and_does_not_run_again(
    run_sections: RunSections, tmp_path: Path
) -> None:
    (report,) = run_sections(section_of("torn", tmp_path, "import nothing_of_that_name"))
    assert "test_torn.py can't be read as tests" in report.failures


@pytest.mark.parametrize(
    ("content", "failure"),
    [
        ("import os\ndef test_it(): os._exit(3)", "pytest ended with 3"),
        ("import os\ndef test_it(): os.kill(os.getpid(), 9)", "pytest ended with -9"),
    ],
)
def test_a_pytest_that_dies_fails_its_section(
    run_sections: RunSections, tmp_path: Path, content: str, failure: str
) -> None:
    (report,) = run_sections(section_of("dies", tmp_path, content))
    assert report.failures[0].startswith(failure)


def test_a_worker_that_is_killed_fails_the_test_that_it_ran(
    run_sections: RunSections, tmp_path: Path
) -> None:
    content = "import os\ndef test_it(): os.kill(os.getpid(), 9)\ndef test_fine(): pass"
    section = section_of("dies", tmp_path, content, runs_again=False)
    (report,) = run_sections(section, options=("-p", "xdist", "--numprocesses=2"))
    died, failed = report.failures
    assert died.startswith("a worker of pytest died (")
    assert failed == "test_dies.py::test_it"
    assert report.passed == 1


def run_of_a_worker_that_at_its_end(run_sections: RunSections, tmp_path: Path, does: str) -> Report:
    conftest = f"import os\ndef pytest_sessionfinish(session):\n    if hasattr(session.config, 'workerinput'): {does}"
    (tmp_path / "conftest.py").write_text(conftest)
    section = section_of("ends", tmp_path, "def test_it(): pass")
    (report,) = run_sections(section, options=("-p", "xdist", "--numprocesses=1"))
    return report


def test_a_worker_that_fails_behind_its_last_test_fails_the_section(
    run_sections: RunSections, tmp_path: Path
) -> None:
    report = run_of_a_worker_that_at_its_end(run_sections, tmp_path, "raise OSError('no room')")
    assert report.passed == 1
    assert [one.partition(")")[0] for one in report.failures] == ["a worker of pytest died (OSError: no room"]


def test_a_worker_that_dies_behind_its_last_test_fails_the_section(
    run_sections: RunSections, tmp_path: Path
) -> None:
    report = run_of_a_worker_that_at_its_end(run_sections, tmp_path, "os._exit(9)")
    assert report.passed == 1
    assert report.failures[0].startswith("a worker of pytest died (")


def test_output_of_any_bytes_and_without_an_end_of_line_is_shown_and_kept_whole(
    run_sections: RunSections, kept: Results, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    size = 5_000_000
    (report,) = run_sections(bash("long", rf"printf '\xff\n'; head -c {size} /dev/zero; printf 'the end'"))
    assert report.failures == []
    log = kept.log("long").read_bytes().partition(b"\n")[2]
    assert log == b"\xff\n" + bytes(size) + b"the end"
    shown = capfdbinary.readouterr().out
    assert max(map(len, shown.split(b"\n"))) < 200_000
    assert shown.replace(b"\n", b"") == log.replace(b"\n", b"")


def test_options_that_pytest_refuses_fail(run_sections: RunSections, tmp_path: Path) -> None:
    (report,) = run_sections(
        section_of("fine", tmp_path, "def test_it(): pass"), options=("--no-such-option",)
    )
    assert report.failures[0].startswith("pytest ended with 4")


def test_a_skip_that_a_set_up_could_cure_fails(
    run_sections: RunSections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    content = "import pytest\ndef test_a(): pytest.skip('no Redis')\ndef test_b(): pytest.skip('needs root')"
    (report,) = run_sections(section_of("skips", tmp_path, content))
    assert report.left_out == ["test_skips.py::test_a: no Redis", "test_skips.py::test_b: needs root"]
    assert [failure.split(" ")[0] for failure in report.failures] == ["test_skips.py::test_a"]


@pytest.mark.parametrize(("count", "told"), [(2, ["test 0", "test 1"]), (9, ["9 tests that take long"])])
def test_long_tests_are_told_by_name_or_if_many_by_number(
    run_sections: RunSections, tmp_path: Path, count: int, told: list[str]
) -> None:
    lines = "".join(f"test {number}\n" for number in range(count))
    (tmp_path / "conftest.py").write_text(
        f"import os\nwith open(os.environ['SLUICE_LEFT_OUT_FILE'], 'w') as file: file.write({lines!r})"
    )
    (report,) = run_sections(section_of("long", tmp_path, "def test_it(): pass"))
    assert [line.split(";")[0] for line in report.left_out] == told


def test_sections_of_two_lanes_run_side_by_side(run_sections: RunSections, tmp_path: Path) -> None:
    meet = "touch {own}; for _ in $(seq 1000); do [ -e {other} ] && exit 0; sleep 0.05; done; exit 1"
    one = bash("one", meet.format(own="a", other="b"), FIRST)
    two = bash("two", meet.format(own="b", other="a"), SECOND)
    assert [report.failures for report in run_sections(one, two)] == [[], []]


SPINS = """
import ctypes, sys, threading, time

def spin():
    while time.process_time() < 0.6: pass

threading.Thread(target=spin).start()
if "without-its-first-thread" in sys.argv:
    ctypes.CDLL(None).syscall(60, 0)
"""


@pytest.mark.parametrize("how", ["with-its-first-thread", "without-its-first-thread"])
def test_a_section_costs_what_its_orphans_cost(run_sections: RunSections, tmp_path: Path, how: str) -> None:
    (tmp_path / "spins.py").write_text(SPINS)
    (report,) = run_sections(bash("busy", f"setsid python spins.py {how} & true"))
    assert report.cpu_seconds > 0.5
    assert report.failures == []


def test_a_process_that_a_section_leaves_behind_fails_it_and_is_ended(
    run_sections: RunSections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "GRACE_SECONDS", 0.2)
    leave = 'sleep 61 >/dev/null 2>&1 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done'
    (report,) = run_sections(bash("leaky", leave))
    assert report.failures == ["left a process behind: sleep 61"]
    assert not [line for line in descendants().values() if line == "sleep 61"]
