"""The summary of ./dev test tells what failed, what was left out and why; no skip passes silently."""

from pathlib import Path

import pytest

from devenv.testing import Report, may_be_skipped, skips_in, summarise

JUNIT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="0" failures="0" skipped="2" tests="3">
<testcase classname="tests.unit.test_a" name="test_runs" />
<testcase classname="tests.unit.test_a" name="test_skipped">
<skipped type="pytest.skip" message="needs SLUICE_SHARED, the folder of reference data">/a.py:1</skipped></testcase>
<testcase classname="tests.unit.test_a" name="test_known_bug">
<skipped type="pytest.xfail" message="not yet" /></testcase>
</testsuite></testsuites>
"""


def test_skips_are_read_from_pytests_report_and_expected_failures_are_not_skips(tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    junit.write_text(JUNIT)
    assert skips_in(junit) == [
        ("tests.unit.test_a::test_skipped", "needs SLUICE_SHARED, the folder of reference data")
    ]


@pytest.mark.parametrize(
    ("reason", "allowed"),
    [
        ("needs SLUICE_SHARED, the folder of reference data", True),
        ("needs root", True),
        ("Redis isn't there", False),
        ("could not import 'deltalake'", False),
        ("", False),
    ],
)
def test_only_what_no_set_up_could_cure_may_be_skipped(reason: str, allowed: bool) -> None:
    assert may_be_skipped(reason) is allowed


def test_one_failure_fails_the_whole_and_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    reports = [Report("unit", 6.0), Report("e2e", 60.0, failures=["pytest ended with 1"])]
    assert summarise(reports, 30.0) == 1
    shown = capsys.readouterr().err
    assert "e2e          FAILED      1.00 min\n      failed: pytest ended with 1" in shown
    assert "all                      1.60 min" in shown


def test_what_was_left_out_is_told_and_does_not_fail(capsys: pytest.CaptureFixture[str]) -> None:
    reports = [Report("unit", 6.0), Report("e2e", ran=False, left_out=["needs root: it makes containers"])]
    assert summarise(reports, 0.0) == 0
    assert "left out: needs root: it makes containers" in capsys.readouterr().err


def test_a_run_in_which_nothing_ran_fails() -> None:
    assert summarise([Report("unit", ran=False, left_out=["no test matched"])], 0.0) == 1
