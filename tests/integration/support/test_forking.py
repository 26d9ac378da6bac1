"""Programs that are forked are as much their own as if a Python had been started for each: here timeit, which runs
what it is given.
"""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from integration.forking import Forked, Forker
from integration.waiting import PATIENCE, eventually

ONCE = ("timeit", "-n1", "-r1")
PATH = {"PATH": os.environ["PATH"]}


@pytest.fixture(scope="module")
def forker() -> Forker:
    return Forker("timeit:main", "shlex")


def test_it_has_the_words_and_variables_that_it_was_given_and_no_others(forker: Forker) -> None:
    for greeting in ("hello", "good night"):
        said = forker.run([*ONCE, "import os; print(dict(os.environ))"], {"GREETING": greeting})
        assert said.stdout.splitlines()[0] == str({"GREETING": greeting})
        assert (said.returncode, said.stderr) == (0, "")


def test_it_ends_as_a_python_ends_and_says_why(forker: Forker) -> None:
    said = forker.run([*ONCE, "import atexit; atexit.register(print, 'the last word')"], PATH)
    assert said.returncode == 0
    assert said.stdout.splitlines()[-1] == "the last word"
    failed = forker.run([*ONCE, "print(no_such_name)"], PATH)
    assert failed.returncode == 1
    assert "NameError: name 'no_such_name' is not defined" in failed.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_one_and_none_beside_it(forker: Forker, tmp_path: Path, number: signal.Signals) -> None:
    def sleeping(name: str) -> Forked:
        with (tmp_path / name).open("wb") as said:
            sleeps = "import time; print('asleep', flush=True); time.sleep(3600)"
            return forker.start([*ONCE, sleeps], PATH, said, said)

    one, other = sleeping("one"), sleeping("other")
    try:
        eventually(lambda: (tmp_path / "one").read_text() == "asleep\n", "it sleeps")
        with pytest.raises(subprocess.TimeoutExpired):
            one.wait(0.01)
        one.send_signal(number)
        assert one.wait(PATIENCE) == -number
        one.kill()  # which does nothing to one that has ended
        assert (one.poll(), other.poll()) == (-number, None)
    finally:
        other.kill()
        assert other.wait(PATIENCE) == -signal.SIGKILL
