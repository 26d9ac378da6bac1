"""What a section needs either comes with its variables or tells why it can't be had, without stopping the others."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from devenv import environment, testing
from devenv.cache import Cache
from devenv.environment import Prepared, Variables
from devenv.errors import DevError, NotOnThisMachineError
from devenv.processes import adopt_orphans, descendants, end_descendants, wait_until
from devenv.sections import Section


def breaks(_cache: Cache) -> Variables:
    raise DevError("Maven Central can't be reached.")


def not_here(_cache: Cache) -> Variables:
    raise NotOnThisMachineError("needs root: it makes containers")


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    monkeypatch.setattr(
        environment,
        "NEEDS",
        {
            "python": lambda _cache: {"PATH": "/usr/bin:/bin"},
            "stack": lambda _cache: {"KUBE": "yes"},
            "spark": breaks,
            "cluster": not_here,
        },
    )
    return Prepared(Cache(tmp_path), ["stack", "spark", "cluster"])


def section(name: str, *needs: str) -> Section:
    return Section(name, (("true",),), needs)


def test_variables_of_several_needs_come_together(prepared: Prepared) -> None:
    assert prepared.variables("stack")["KUBE"] == "yes"
    assert "KUBE" not in prepared.variables()


def test_a_need_that_could_not_be_met_fails_its_sections_alone(prepared: Prepared) -> None:
    reports = testing.run_sections([section("contract", "spark"), section("unit")], prepared, [])
    assert reports[0].failures == ["Maven Central can't be reached."]
    assert reports[1].ran
    assert reports[1].failures == []


def test_a_section_that_this_machine_cannot_run_is_left_out_with_the_reason(prepared: Prepared) -> None:
    (report,) = testing.run_sections([section("e2e", "stack", "cluster")], prepared, [])
    assert not report.ran
    assert report.failures == []
    assert report.left_out == ["needs root: it makes containers"]


@pytest.fixture
def adopting() -> Iterator[None]:
    adopt_orphans()
    yield
    adopt_orphans(False)


def test_a_process_that_a_section_leaves_behind_fails_it(
    prepared: Prepared, adopting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testing, "GRACE_SECONDS", 0.2)
    leave = 'sleep 61 >/dev/null 2>&1 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done'
    leaves = Section("leaky", (("bash", "-c", leave),))
    bystander = subprocess.Popen(["sleep", "62"])
    try:
        (report,) = testing.run_sections([leaves], prepared, [])
        assert report.failures == ["left a process behind: sleep 61"]
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait(10)


def test_an_interrupt_stays_one_when_a_command_does_not_heed_it(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(testing, "INTERRUPT_PATIENCE", 0.3)
    is_deaf = tmp_path / "is-deaf"
    deaf = Section("deaf", (("bash", "-c", f"trap '' INT; touch {is_deaf}; while :; do sleep 0.1; done"),))
    before = descendants()

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    def interrupt_when_deaf() -> None:
        wait_until(is_deaf.exists, 30)
        os.kill(os.getpid(), signal.SIGUSR1)

    handler = signal.signal(signal.SIGUSR1, interrupt)
    alarm = threading.Thread(target=interrupt_when_deaf)
    alarm.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            testing.run_sections([deaf], prepared, [])
    finally:
        alarm.join()
        signal.signal(signal.SIGUSR1, handler)
        end_descendants(spare=before)
