"""The exit codes of `sluice run` and `sluice wait`, as docs/cli.md has them."""

from signal import SIGINT, SIGTERM

import pytest

from sluice.api.job_status import Phase
from sluice.cli.jobs import exit_code
from sluice.online.access.job_names import JobName
from sluice.online.jobs.job_progress import Ending, JobProgress

ALONE = {Ending.SUCCEEDED: 0, Ending.SKIPPED: 0, Ending.FAILED: 1, Ending.DELETED: 7, None: 5}


def course(ending: Ending | None, phase: str = "Waiting") -> JobProgress:
    return JobProgress(JobName("etl", "a"), "u", {"status": {"phase": phase}}, ending)


@pytest.mark.parametrize(("ending", "code"), ALONE.items())
def test_each_end_has_its_code(ending: Ending | None, code: int) -> None:
    assert exit_code([course(ending)], None) == code


def test_a_skipped_job_is_a_failure_only_if_that_is_asked_for() -> None:
    assert exit_code([course(Ending.SKIPPED)], None, fail_on_skip=True) == 6


@pytest.mark.parametrize(
    ("endings", "code"),
    [
        ((Ending.SUCCEEDED, Ending.SKIPPED), 0),
        ((None, Ending.DELETED, Ending.FAILED, Ending.SKIPPED), 1),
        ((None, Ending.DELETED), 7),
        ((None, Ending.SUCCEEDED), 5),
        ((), 0),
    ],
)
def test_of_several_the_worst_decides(endings: tuple[Ending | None, ...], code: int) -> None:
    assert exit_code([course(ending) for ending in endings], None) == code


@pytest.mark.parametrize("by", [SIGINT, SIGTERM])
def test_whoever_stops_it_is_told_so_as_shells_tell_it(by: int) -> None:
    assert exit_code([course(Ending.FAILED)], by) == 128 + by


def test_a_phase_that_was_waited_for_is_a_success_and_an_end_before_it_has_its_own_code() -> None:
    assert exit_code([course(None, "Running")], None, until=Phase.RUNNING) == 0
    assert exit_code([course(Ending.FAILED, "Failed")], None, until=Phase.RUNNING) == 1
    assert exit_code([course(Ending.FAILED, "Failed")], None, until=Phase.FAILED) == 0
    assert exit_code([course(None, "Waiting")], None, until=Phase.RUNNING) == 5
