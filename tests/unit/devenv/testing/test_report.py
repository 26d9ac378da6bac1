"""The summary of ./dev test tells what failed, was flaky, cost too much, or was left out and why; nothing passes silently."""

from pathlib import Path

import pytest

from devenv.testing.report import Report, over_budget, summarise

KEPT = Path("results")


def told(capsys: pytest.CaptureFixture[str], *reports: Report, strict: bool = False) -> tuple[int, str]:
    code = summarise(reports, set_up_seconds=30.0, seconds=66.0, kept=KEPT, strict=strict)
    return code, capsys.readouterr().err


def test_one_failure_fails_the_whole_and_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = told(
        capsys, Report("unit", 6.0), Report("e2e", 60.0, 30.0, failures=["tests/e2e/test_a.py"])
    )
    assert code == 1
    assert "e2e          FAILED        1.00     0.50\n      failed: tests/e2e/test_a.py" in shown
    assert "all                        1.60     0.50" in shown
    assert "evidence: results" in shown


def test_all_tests_are_counted_on_a_line_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    one, two = Report("unit", passed=5, skipped=1), Report("e2e", passed=2, failures=["tests/e2e/test_a.py"])
    assert "\n7 passed, 1 failed, 1 skipped\n" in told(capsys, one, two)[1]


def test_what_was_left_out_is_told_and_does_not_fail(capsys: pytest.CaptureFixture[str]) -> None:
    left_out = Report("e2e", ran=False, left_out=["needs root: it makes containers"])
    code, shown = told(capsys, Report("unit", 6.0), left_out)
    assert code == 0
    assert "left out: needs root: it makes containers" in shown


def test_a_run_in_which_nothing_ran_fails(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = told(capsys, Report("unit", ran=False, left_out=["no test matched"]))
    assert code == 1
    assert "nothing ran" in shown


def test_two_flaky_tests_are_told_and_pass(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = told(capsys, Report("runner", flaky=["a", "b"]))
    assert code == 0
    assert "runner       FLAKY" in shown
    assert "FLAKY: a (failed, then passed alone" in shown


def test_what_a_flaky_test_said_is_shown_as_far_as_it_is_its_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "\n".join(["def test_a():", ">   assert 1 == 2", *(f"E   line {number}" for number in range(99))])
    _, shown = told(capsys, Report("runner", flaky=["a", "b"], said={"a": text}))
    assert "a (failed, then passed alone: a bug to mend)\n        E   line 0\n" in shown
    assert shown.count("E   line") == 12
    assert "assert 1 == 2" not in shown


def test_three_flaky_tests_fail_wherever_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = told(capsys, Report("runner", flaky=["a", "b"]), Report("e2e", flaky=["c"]))
    assert code == 1
    assert "FAILED: 3 flaky" in shown


def test_with_strict_one_flaky_test_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, Report("runner", flaky=["a"]), strict=True)[0] == 1
    assert told(capsys, Report("runner"), strict=True)[0] == 0


@pytest.mark.parametrize(
    ("cpu_minutes", "slowness", "over"),
    [(19.9, 1.0, False), (20.1, 1.0, True), (39.9, 2.0, False), (40.1, 2.0, True)],
)
def test_a_section_may_cost_twice_its_budget_on_a_slow_machine_more(
    cpu_minutes: float, slowness: float, over: bool
) -> None:
    report = Report("contract", cpu_seconds=cpu_minutes * 60, budget_minutes=10, slowness=slowness)
    said = over_budget([report])
    assert list(said) == ["contract"] * over
    assert all(f"{cpu_minutes:.2f} CPU minutes" in text for text in said.values())


def sections(*cpu_minutes: float, slowness: float = 1.0) -> list[Report]:
    return [
        Report(f"s{number}", cpu_seconds=60 * cost, budget_minutes=10, slowness=slowness)
        for number, cost in enumerate(cpu_minutes)
    ]


def test_a_section_that_grew_is_over_budget_whatever_the_others_cost() -> None:
    assert list(over_budget(sections(10, 10, 10, 10, 21))) == ["s4"]
    assert list(over_budget(sections(5, 5, 5, 5, 21))) == ["s4"]


def test_a_machine_that_is_slow_for_all_sections_puts_none_of_them_over_budget() -> None:
    assert over_budget(sections(22, 24, 21, 23, 33, slowness=1.4)) == {}


def test_what_all_sections_cost_together_is_bounded_by_the_measured_pace_alone() -> None:
    assert set(over_budget(sections(22, 24, 21, 23, 33))) == {"all"}


def test_sections_that_are_too_few_to_tell_the_pace_excuse_none() -> None:
    assert list(over_budget(sections(21, 21, 21))) == ["s0", "s1", "s2"]


def test_what_all_cost_together_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = told(capsys, *sections(22, 24, 21, 23, 33))
    assert code == 1
    assert "failed: took 123.00 CPU minutes, more than 100.00: its budget is 50" in shown


def test_a_section_without_a_budget_or_that_did_not_run_is_not_held_to_one() -> None:
    assert over_budget([Report("unit", cpu_seconds=1e6)]) == {}
    assert over_budget([Report("unit", cpu_seconds=1e6, budget_minutes=1, ran=False)]) == {}
