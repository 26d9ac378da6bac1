"""A section passes only when all its tests came to their end: an exit code of 0 is no proof of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from devenv.testing.report import Report
from devenv.testing.sections import Section

RunSections = Callable[..., list[Report]]
FINE = "def test_fine(): pass\n"
FAILS_ONCE = """
from pathlib import Path

def test_first():
    been = Path(__file__).with_name("been")
    first = not been.exists()
    been.touch()
    assert not first
"""
XDIST = ("-p", "xdist", "--numprocesses=2")


def section_of(folder: Path, content: str, *options: str, conftest: str = "") -> Section:
    (folder / "test_it.py").write_text(content, encoding="utf-8")
    (folder / "conftest.py").write_text(conftest, encoding="utf-8")
    return Section("it", (("pytest", "test_it.py", "-p", "no:cacheprovider", *options),), runs_again=True)


@pytest.mark.parametrize(
    "content",
    [
        "import os\ndef test_it(): os._exit(0)\n" + FINE,
        "import pytest\ndef test_it(): pytest.exit('enough', returncode=0)\n" + FINE,
        FINE + "import pytest\ndef test_it(): pytest.exit('enough', returncode=0)\n",
        FINE + "import os\ndef teardown_module(): os._exit(0)\n",
    ],
)
def test_a_pytest_that_is_ended_with_success_before_its_tests_are_fails(
    run_sections: RunSections, tmp_path: Path, content: str
) -> None:
    (report,) = run_sections(section_of(tmp_path, content))
    assert report.result() == "FAILED"


def test_an_exit_while_pytest_tidies_up_fails(run_sections: RunSections, tmp_path: Path) -> None:
    conftest = "import os\ndef pytest_unconfigure(): os._exit(0)\n"
    (report,) = run_sections(section_of(tmp_path, FINE, conftest=conftest))
    assert [failure.split(":")[0] for failure in report.failures] == [
        "pytest ended with 0, but was ended by something in it"
    ]


def test_an_error_while_pytest_tidies_up_is_not_hidden_by_a_flaky_test(
    run_sections: RunSections, tmp_path: Path
) -> None:
    conftest = "def pytest_unconfigure(): raise OSError('disk is gone')\n"
    (report,) = run_sections(section_of(tmp_path, FAILS_ONCE + FINE, conftest=conftest))
    assert report.result() == "FAILED"


@pytest.mark.parametrize("options", [("-x",), ("--maxfail=1",), ("-x", *XDIST)])
def test_tests_that_never_ran_since_an_earlier_one_was_flaky_fail(
    run_sections: RunSections, tmp_path: Path, options: tuple[str, ...]
) -> None:
    many = "".join(f"def test_{number}(): pass\n" for number in range(50))
    (report,) = run_sections(section_of(tmp_path, FAILS_ONCE + many), options=options)
    assert report.flaky == ["test_it.py::test_first"]
    assert any("tests did not come to an end" in failure for failure in report.failures)


@pytest.mark.parametrize("options", [(), XDIST])
def test_tests_that_all_come_to_their_end_pass(
    run_sections: RunSections, tmp_path: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    skipped = "import pytest\ndef test_skipped(): pytest.skip('needs root')\n"
    (report,) = run_sections(section_of(tmp_path, FINE + skipped, *options))
    assert report.failures == []
    assert (report.passed, report.skipped) == (1, 1)


@pytest.mark.parametrize("options", [("--co",), ("-k", "nothing"), ("--fixtures",)])
def test_where_an_option_keeps_all_tests_from_running_nothing_has_passed(
    run_sections: RunSections, tmp_path: Path, options: tuple[str, ...]
) -> None:
    (report,) = run_sections(section_of(tmp_path, FINE), options=options)
    assert not report.ran
    assert report.left_out == ["no test ran"]


def test_a_whole_section_of_which_no_test_is_left_fails(run_sections: RunSections, tmp_path: Path) -> None:
    conftest = "def pytest_collection_modifyitems(items): items.clear()\n"
    (report,) = run_sections(section_of(tmp_path, FINE, conftest=conftest))
    assert report.failures == ["no test ran, and no option left them out"]


def test_a_test_that_passes_and_is_killed_in_its_teardown_when_it_runs_once_more_is_not_flaky(
    run_sections: RunSections, tmp_path: Path
) -> None:
    dies = (
        "\nimport os\ndef teardown_module():\n    if Path(__file__).with_name('dies').exists(): os._exit(0)\n"
    )
    dies += "    Path(__file__).with_name('dies').touch()\n"
    (report,) = run_sections(section_of(tmp_path, FAILS_ONCE + dies))
    assert report.flaky == []
    assert report.failures == ["test_it.py::test_first"]
