"""A pool's processes answer within limits, and when one dies only the question that cost its life fails."""

import logging
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sluice.processes.child import DeathCause, DeathError, NoAnswerError
from sluice.processes.limits import Limits
from sluice.processes.pool import Pool, QuarantineError

LONG = 120
TOY = "unit.processes.toy:answers"
LIMITS = Limits(memory_mib=128, cpu_seconds=60, patience=LONG, answer_mib=4, threads=8, stack_mib=1)
PATH = {"PYTHONPATH": os.pathsep.join(sys.path)}

Start = Callable[..., Pool]


@pytest.fixture
def start() -> Iterator[Start]:
    pools: list[Pool] = []

    def started(
        limits: Limits = LIMITS, *, factory: str = TOY, processes: int = 1, quarantine: float = math.inf
    ) -> Pool:
        environment = PATH | {"TOY": "set"}
        pools.append(
            Pool(
                "toys",
                factory,
                limits,
                processes=processes,
                environment=environment,
                quarantine_seconds=quarantine,
            )
        )
        return pools[-1]

    yield started
    for pool in pools:
        pool.close()


def ask(pool: Pool, what: str, argument: object = None, *, lane: int = 0, key: object = None) -> object:
    return pool.ask(key or (what, argument), (what, argument), lane=lane)


def until(look: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not look():
        assert time.monotonic() < end
        time.sleep(0.01)


def begun(folder: Path) -> list[int]:
    return [int(one.name.partition("-")[2]) for one in folder.glob("begun-*")]


def is_running(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def folders(place: Path, number: int) -> list[Path]:
    made = [place / f"{one}" for one in range(number)]
    for folder in made:
        folder.mkdir()
    return made


def test_questions_of_one_lane_go_to_one_process_which_starts_with_the_first_one(start: Start) -> None:
    pool = start(processes=2)
    children = set(psutil.Process().children())
    pids = [ask(pool, "pid", lane=lane) for lane in (0, 1, 2, 3, 0)]
    assert pids == [pids[0], pids[1], pids[0], pids[1], pids[0]]
    assert {child.pid for child in set(psutil.Process().children()) - children} == set(pids[:2])
    assert len(set(pids)) == 2
    assert os.getpid() not in pids
    assert ask(pool, "environment", "TOY") == "set"


def test_the_parent_goes_before_its_processes_on_the_processor(start: Start) -> None:
    assert ask(start(), "niceness") == os.nice(0) + 10


def test_what_is_asked_later_is_answered_while_an_earlier_question_waits(
    start: Start, tmp_path: Path
) -> None:
    pool = start()
    with ThreadPoolExecutor(1) as beside:
        waits = beside.submit(ask, pool, "waits", str(tmp_path))
        until(lambda: bool(begun(tmp_path)))
        assert [ask(pool, "echoes", number) for number in range(100)] == list(range(100))
        assert not waits.done()
        (tmp_path / "go").touch()
        assert waits.result(LONG) == ask(pool, "pid")


def test_what_a_library_prints_comes_between_no_answers(
    start: Start, capfd: pytest.CaptureFixture[str]
) -> None:
    pool = start()
    assert ask(pool, "prints", "loud") == "loud"
    assert ask(pool, "echoes", 1) == 1
    pool.close()
    assert capfd.readouterr().err.count("loud") == 2


def test_a_question_of_many_bytes_is_sent_whole(start: Start) -> None:
    text = "x" * (3 << 20)
    assert ask(start(), "echoes", text) == text


def test_an_error_fails_its_question_and_nothing_else(start: Start) -> None:
    pool = start()
    pid = ask(pool, "pid")
    with pytest.raises(NoAnswerError, match=r"failed on it: ValueError\('why not'\)"):
        ask(pool, "fails", "why not")
    assert ask(pool, "pid") == pid
    assert not pool.deaths
    assert pool.suspect(("fails", "why not")) is None


def test_an_answer_that_is_too_large_stays_in_its_process(start: Start) -> None:
    pool = start()
    pid = ask(pool, "pid")
    with pytest.raises(NoAnswerError, match="found more than 4 MiB"):
        ask(pool, "answers with", 5)
    assert ask(pool, "pid") == pid


@pytest.mark.parametrize(
    ("limits", "question", "cause", "why"),
    [
        (LIMITS, ("grows", 1024), DeathCause.MEMORY, "needed more than 128 MiB of memory"),
        (LIMITS, ("ends", signal.SIGABRT), DeathCause.MEMORY, "needed more than 128 MiB of memory"),
        (Limits(128, 1, LONG, 4), ("spins", None), DeathCause.CPU, "needed more than 1 s of CPU"),
        (Limits(128, 60, 3.0, 4), ("hangs", None), DeathCause.OVERDUE, "did not answer within 3 s"),
        (LIMITS, ("ends", signal.SIGKILL), DeathCause.OTHER, "was killed, as where .* has no memory left"),
        (LIMITS, ("ends", signal.SIGSEGV), DeathCause.OTHER, "ended by SIGSEGV"),
    ],
)
def test_a_question_that_breaks_its_limits_fails_with_what_happened(
    start: Start, limits: Limits, question: tuple[str, object], cause: DeathCause, why: str
) -> None:
    pool = start(limits)
    with pytest.raises(DeathError, match=f"^{why}$") as failed:
        ask(pool, *question)
    assert failed.value.death.cause is cause
    assert set(pool.deaths) == {cause}
    assert ask(pool, "echoes", "on") == "on"


def test_addresses_that_a_question_reserves_are_no_memory(start: Start) -> None:
    pool = start()
    assert ask(pool, "reserves", 512) == ask(pool, "pid")
    with pytest.raises(DeathError, match="needed more than 128 MiB of memory"):
        ask(pool, "keeps", 200)


def test_others_are_answered_when_a_question_beside_them_costs_the_process_its_life(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pool, waiting = start(), folders(tmp_path, 3)
    with caplog.at_level(logging.WARNING), ThreadPoolExecutor(4) as beside:
        others = [beside.submit(ask, pool, "waits", str(folder)) for folder in waiting]
        until(lambda: all(begun(folder) for folder in waiting))
        guilty = beside.submit(ask, pool, "grows", 1024)
        until(lambda: pool.deaths[DeathCause.MEMORY] > 0)
        for folder in waiting:
            (folder / "go").touch()
        assert begun(waiting[0])[0] not in [other.result(LONG) for other in others]
        with pytest.raises(DeathError, match="128 MiB"):
            guilty.result(LONG)
    assert "toys: a process needed more than 128 MiB of memory; its open questions: 4" in caplog.text
    # One process more if others were asked alone before it, because they may have filled that one.
    assert pool.deaths[DeathCause.MEMORY] in (2, 3)
    assert all(pool.suspect(("waits", str(folder))) is None for folder in waiting)


def test_questions_of_a_process_that_is_killed_are_answered_by_another_one(
    start: Start, tmp_path: Path
) -> None:
    pool, waiting = start(), folders(tmp_path, 3)
    with ThreadPoolExecutor(3) as beside:
        others = [beside.submit(ask, pool, "waits", str(folder)) for folder in waiting]
        until(lambda: all(begun(folder) for folder in waiting))
        (killed,) = begun(waiting[0])
        os.kill(killed, signal.SIGKILL)
        for folder in waiting:
            (folder / "go").touch()
        assert killed not in [other.result(LONG) for other in others]
    assert pool.deaths == {DeathCause.OTHER: 1}


def test_other_questions_are_answered_while_one_is_asked_alone(start: Start, tmp_path: Path) -> None:
    pool = start()
    with ThreadPoolExecutor(1) as beside:
        waits = beside.submit(ask, pool, "waits", str(tmp_path))
        until(lambda: bool(begun(tmp_path)))
        os.kill(begun(tmp_path)[0], signal.SIGKILL)
        until(lambda: len(begun(tmp_path)) == 2)
        assert ask(pool, "pid") not in begun(tmp_path)
        (tmp_path / "go").touch()
        alone = waits.result(LONG)
    assert alone in begun(tmp_path)
    assert isinstance(alone, int)
    until(lambda: not is_running(alone))


def test_a_question_that_cost_two_processes_is_in_quarantine_until_it_is_forgiven(start: Start) -> None:
    pool = start()
    with pytest.raises(DeathError):
        ask(pool, "grows", 1024, key="large")
    suspect = pool.suspect("large")
    assert suspect is not None
    assert suspect.is_quarantined
    assert pool.deaths.total() == 2
    for _ in range(3):
        with pytest.raises(QuarantineError, match="needed more than 128 MiB of memory"):
            ask(pool, "grows", 1024, key="large")
    assert pool.deaths.total() == 2

    assert set(pool.quarantined()) == {"large"}
    other = start()
    other.quarantine("large", suspect.last, 5.0)
    with pytest.raises(QuarantineError, match="needed more than 128 MiB of memory"):
        ask(other, "grows", 1024, key="large")
    assert not other.deaths

    assert pool.forgive("large")
    assert not pool.forgive("large")
    with pytest.raises(DeathError):
        ask(pool, "grows", 1024, key="large")
    assert pool.deaths.total() == 3, "it is asked alone at once"
    pool.forgive("large")
    assert ask(pool, "grows", 1, key="large") == 1 << 20
    assert pool.suspect("large") is None
    assert pool.deaths.total() == 3


def test_a_quarantine_ends_by_itself_where_it_has_an_end(start: Start) -> None:
    pool = start(quarantine=0.0)
    with pytest.raises(DeathError):
        ask(pool, "grows", 1024, key="large")
    with pytest.raises(DeathError):
        ask(pool, "grows", 1024, key="large")
    assert pool.deaths.total() == 3
    assert ask(pool, "grows", 1, key="large") == 1 << 20


def test_a_question_that_finds_its_process_filled_by_others_is_not_guilty(start: Start) -> None:
    pool = start()
    for number in range(8):
        assert isinstance(ask(pool, "keeps", 32, key=number), int)
    assert pool.deaths[DeathCause.MEMORY] >= 1
    assert all(pool.suspect(number) is None for number in range(8))


def test_a_question_that_was_overdue_is_asked_alone_and_does_not_wait_for_others_to_be(
    start: Start, tmp_path: Path
) -> None:
    pool = start(Limits(128, 60, 5.0, 4, threads=4))
    one, other = folders(tmp_path, 2)
    with ThreadPoolExecutor(2) as beside:
        for folder in (one, other):
            with pytest.raises(DeathError, match="did not answer within 5 s") as failed:
                ask(pool, "waits", str(folder))
            assert failed.value.is_guilty
        assert pool.deaths == {DeathCause.OVERDUE: 2}
        again = beside.submit(ask, pool, "waits", str(one))
        until(lambda: len(begun(one)) == 2)
        with pytest.raises(QuarantineError, match="did not answer within 5 s"):
            ask(pool, "waits", str(other))
        (one / "go").touch()
        assert isinstance(again.result(LONG), int)
    assert pool.suspect(("waits", str(one))) is None
    assert not getattr(pool.suspect(("waits", str(other))), "is_quarantined", True)


def test_questions_that_were_silent_as_long_as_the_overdue_one_are_not_asked_alone_one_after_another(
    start: Start, tmp_path: Path
) -> None:
    pool = start(Limits(128, 60, 3.0, 4, threads=8))
    silent = folders(tmp_path, 6)
    ask(pool, "pid")
    began = time.monotonic()
    with ThreadPoolExecutor(len(silent)) as beside:
        asked = [beside.submit(ask, pool, "waits", str(folder)) for folder in silent]
        for one in asked:
            with pytest.raises(DeathError, match="did not answer within 3 s"):
                one.result(LONG)
    assert time.monotonic() - began < 2 * 3.0
    assert pool.deaths == {DeathCause.OVERDUE: 1}


def test_the_start_of_a_process_is_not_taken_for_the_questions_silence(start: Start) -> None:
    pool = start(Limits(128, 60, 1.5, 4), factory="unit.processes.toy:starts_slowly")
    assert ask(pool, "echoes", 1) == 1
    assert not pool.deaths


def test_questions_that_are_asked_alone_have_a_patience_of_their_own_and_end_with_their_process(
    start: Start, tmp_path: Path
) -> None:
    pool = start()
    pid = ask(pool, "pid")
    waiting = ("waits", str(tmp_path))
    with pytest.raises(DeathError, match=r"did not answer within 0\.5 s"):
        pool.ask_alone("hangs", waiting, patience=0.5)
    alone = pool.ask_alone("pid", ("pid", None), patience=LONG)
    assert alone not in (pid, *begun(tmp_path))
    assert isinstance(alone, int)
    until(lambda: not is_running(alone))
    assert ask(pool, "pid") == pid
    assert pool.deaths == {DeathCause.OVERDUE: 1}


def test_a_suspect_has_its_turn_among_many_questions_that_are_asked_alone(
    start: Start, tmp_path: Path
) -> None:
    pool = start(replace(LIMITS, patience=1.0))
    with pytest.raises(DeathError, match="did not answer within 1 s"):
        ask(pool, "waits", str(tmp_path), key="suspect")
    (first, second) = folders(tmp_path, 2)
    with ThreadPoolExecutor(2) as beside:
        other = beside.submit(pool.ask_alone, "other", ("waits", str(first)), patience=LONG)
        until(lambda: bool(begun(first)))
        suspect = beside.submit(ask, pool, "waits", str(second), key="suspect")
        (second / "go").touch()
        (first / "go").touch()
        assert isinstance(other.result(LONG), int)
        assert isinstance(suspect.result(LONG), int)
    assert pool.suspect("suspect") is None


def test_one_process_for_one_question_at_a_time_needs_no_other_one(start: Start) -> None:
    pool = start(replace(LIMITS, threads=1))
    pid = ask(pool, "pid")
    assert pool.memory_mib == 128
    assert start().memory_mib == 2 * 128
    before = set(psutil.Process().children())
    assert ask(pool, "echoes", 1) == 1
    with pytest.raises(DeathError, match="128 MiB"):
        ask(pool, "grows", 1024, key="large")
    suspect = pool.suspect("large")
    assert suspect is not None
    assert suspect.is_quarantined
    assert pool.deaths == {DeathCause.MEMORY: 3}, "the first process had answered others"
    assert ask(pool, "pid") != pid
    assert len(set(psutil.Process().children()) - before) == 1


def test_a_process_that_cannot_start_fails_its_questions(start: Start) -> None:
    pool = start(factory="unit.processes.toy:does_not_start")
    with pytest.raises(DeathError, match="ended with exit code 1"):
        ask(pool, "pid")


def test_who_waits_for_an_answer_gets_none_when_the_pool_is_closed(start: Start, tmp_path: Path) -> None:
    pool = start()
    with ThreadPoolExecutor(1) as beside:
        waits = beside.submit(ask, pool, "waits", str(tmp_path))
        until(lambda: bool(begun(tmp_path)))
        pool.close()
        with pytest.raises(NoAnswerError, match="was ended"):
            waits.result(LONG)
    (pid,) = begun(tmp_path)
    until(lambda: not is_running(pid))
    with pytest.raises(NoAnswerError, match="was ended"):
        ask(pool, "pid")
    assert not pool.deaths


def test_a_process_ends_with_its_parent_also_in_the_middle_of_a_question(tmp_path: Path) -> None:
    program = (
        "import sys; from unit.processes.test_pool import LIMITS, PATH, TOY; from sluice.processes.pool import Pool;"
        "Pool('toys', TOY, LIMITS, processes=1, environment=PATH).ask(1, ('waits', sys.argv[1]), lane=0)"
    )
    with subprocess.Popen((sys.executable, "-c", program, str(tmp_path)), env=os.environ | PATH) as parent:
        until(lambda: bool(begun(tmp_path)))
        parent.kill()
    (child,) = begun(tmp_path)
    until(lambda: not is_running(child))
