from datetime import UTC, datetime
from pathlib import Path

import pytest

from localengine.podstatus import ended, exit_code, running, termination_message, waiting
from localengine.processes import Facts, Life
from sluice.api.base import Json

START = datetime(2026, 11, 19, 12, 0, 0, tzinfo=UTC)
END = datetime(2026, 11, 19, 12, 1, 0, tzinfo=UTC)
POD: Json = {"metadata": {"uid": "p-1"}, "spec": {"containers": [{"image": "spark"}]}}
FALLBACK = "FallbackToLogsOnError"


def container_state(status: Json) -> Json:
    [container] = status["containerStatuses"]
    state: Json = container["state"]
    return state


@pytest.mark.parametrize(
    ("facts", "phase", "code", "reason"),
    [
        (Facts(Life.EXITED, START, END, 0), "Succeeded", 0, "Completed"),
        (Facts(Life.EXITED, START, END, 143), "Failed", 143, "Error"),
        (Facts(Life.LOST, START, END), "Failed", 137, "ContainerStatusUnknown"),
        (Facts(Life.SEALED), "Failed", 137, "ContainerStatusUnknown"),
    ],
)
def test_an_end_is_told_as_a_kubelet_tells_it(facts: Facts, phase: str, code: int, reason: str) -> None:
    status = ended(POD, facts, "")
    terminated = container_state(status)["terminated"]
    assert (status["phase"], terminated["exitCode"], terminated["reason"]) == (phase, code, reason)
    assert exit_code(facts) == code
    assert ("startedAt" in terminated) == (facts.started is not None)


def test_a_running_container_has_only_a_running_state() -> None:
    status = running(POD, Facts(Life.RUNNING, START))
    assert status["phase"] == "Running"
    assert container_state(status) == {"running": {"startedAt": "2026-11-19T12:00:00Z"}}


def test_a_container_that_waits_keeps_its_pod_pending() -> None:
    status = waiting(POD, "CreateContainerConfigError", "no secret")
    assert status["phase"] == "Pending"
    assert container_state(status)["waiting"]["message"] == "no secret"


def test_the_message_file_counts_and_only_its_last_4096_bytes(tmp_path: Path) -> None:
    message, log = tmp_path / "message", tmp_path / "log"
    message.write_text("x" + "y" * 4096)
    log.write_text("log")
    assert termination_message(FALLBACK, 1, message, log) == "y" * 4096


def test_the_log_stands_in_only_for_a_failure_without_a_message_and_only_if_asked(tmp_path: Path) -> None:
    message, log = tmp_path / "message", tmp_path / "log"
    log.write_text("it broke\n")
    assert termination_message(FALLBACK, 1, message, log) == "it broke\n"
    assert termination_message(FALLBACK, 0, message, log) == ""
    assert termination_message("File", 1, message, log) == ""


def test_the_log_is_cut_to_80_lines_and_2048_bytes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"{number}\n" for number in range(1000)))
    lines = termination_message(FALLBACK, 1, tmp_path / "none", log).splitlines()
    assert lines == [str(number) for number in range(920, 1000)]
    log.write_text("a" * 5000)
    assert len(termination_message(FALLBACK, 1, tmp_path / "none", log)) == 2048
