"""./dev leaves no process and no file behind: not after down, not when it is interrupted in the middle."""

import json
import os
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from devenv.local_stack import LocalStack
from devenv.processes import ProcessId, wait_until
from devenv.project import ROOT
from devenv.temporary import PREFIX
from devenv.toolchain import cache, ensure_stack_tools

DEV = ROOT / "dev"
SECONDS = 120.0
SERVICES = {"etcd", "kube-apiserver"}


@pytest.fixture(scope="session")
def programs() -> None:
    """Are installed: that is not to be interrupted."""
    ensure_stack_tools(cache())


@pytest.fixture
def local(programs: None) -> Iterator[LocalStack]:
    """A name for a stack of `./dev up`."""
    named = LocalStack(cache(), f"test-{uuid.uuid4().hex[:8]}")
    yield named
    named.down()


@pytest.fixture
def temporary() -> Iterator[Path]:
    """The machine's folder of temporary files as ./dev sees it; short, for the sockets below it."""
    with tempfile.TemporaryDirectory(prefix="leaves-") as folder:
        yield Path(folder)


@contextmanager
def running_dev(*arguments: str, temporary: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """./dev as a person starts it; a test that fails in between interrupts it."""
    process = subprocess.Popen(
        [DEV, *arguments],
        cwd=ROOT,
        env=None if temporary is None else {**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            process.communicate(timeout=SECONDS)


def dev(*arguments: str, temporary: Path | None = None) -> str:
    with running_dev(*arguments, temporary=temporary) as process:
        output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, output
    return output


def recorded(local: LocalStack) -> list[ProcessId]:
    state = json.loads((local.folder / "state.json").read_text(encoding="utf-8"))
    return [ProcessId(**process) for process in state["processes"]]


def running_in(folder: Path) -> list[str]:
    """All processes of this machine that name the folder or work in it, as Redis does."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = [*(process.info["cmdline"] or []), process.info["cwd"] or ""]
        if process.pid != os.getpid() and any(str(folder) in word for word in words):
            found.append(" ".join(words))
    return found


def name_of(process: psutil.Process) -> str | None:
    """None for one that ended since it was listed, as the short-lived children of ./dev do all the time."""
    try:
        name: str = process.name()
    except psutil.NoSuchProcess:
        return None
    return name


def is_alive(process: psutil.Process) -> bool:
    """A zombie is not: it waits to be counted by whoever adopted it, which may be the ./dev around this test."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_up_twice_is_one_stack_and_down_ends_it(local: LocalStack) -> None:
    name = local.folder.name
    first = dev("up", name)
    processes = recorded(local)
    assert len(processes) == 4
    assert f"export KUBECONFIG={local.kubeconfig}" in first
    again = dev("up", name)
    assert "export KUBECONFIG" in again
    assert f"./dev down {name} stops it" in again
    assert recorded(local) == processes
    assert all(process.alive() for process in processes)
    assert "stopped 4 processes" in dev("down", name)
    assert not any(process.alive() for process in processes)
    assert running_in(local.folder) == []
    assert "nothing was running" in dev("down", name)


def test_up_after_a_crash_starts_anew(local: LocalStack) -> None:
    name = local.folder.name
    dev("up", name)
    before = recorded(local)
    before[0].send(signal.SIGKILL)
    assert wait_until(lambda: not before[0].alive(), SECONDS)
    dev("up", name)
    assert all(process.alive() for process in recorded(local))
    assert not any(process.alive() for process in before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_up_leaves_nothing(local: LocalStack, number: signal.Signals) -> None:
    with running_dev("up", local.folder.name) as process:
        assert wait_until(lambda: len(running_in(local.folder)) >= 3, SECONDS)
        process.send_signal(number)
        output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 130, output
    assert "interrupted" in output
    assert running_in(local.folder) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_test_leaves_nothing(programs: None, number: signal.Signals, temporary: Path) -> None:
    no_other_folder = "--ignore-glob=*/integration/[!d]*"  # importing the tests of all takes seconds
    chosen = ("test", "integration", "-k", "test_redis_never_evicts", no_other_folder, "--numprocesses=1")
    with running_dev(*chosen, temporary=temporary) as process:
        root = psutil.Process(process.pid)

        def services() -> list[str]:
            return [name for child in root.children(recursive=True) if (name := name_of(child)) in SERVICES]

        assert wait_until(lambda: len(services()) == 2, SECONDS)
        family = root.children(recursive=True)
        assert [folder.name[:11] for folder in temporary.iterdir()] == [PREFIX]
        process.send_signal(number)
        process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert wait_until(lambda: not any(map(is_alive, family)), SECONDS), list(filter(is_alive, family))
    assert list(temporary.iterdir()) == []


def test_a_command_in_the_environment_has_the_temporary_folder_of_whoever_started_it(temporary: Path) -> None:
    told = dev(
        "run", "python", "-c", "import tempfile; print('in', tempfile.gettempdir())", temporary=temporary
    )
    assert f"in {temporary}\n" in told
    assert list(temporary.iterdir()) == []


def test_a_stack_that_goes_on_needs_no_folder_of_the_one_that_started_it(
    local: LocalStack, temporary: Path
) -> None:
    dev("up", local.folder.name, temporary=temporary)
    assert list(temporary.iterdir()) == []
    for process in recorded(local):
        # This test's own one may itself lie in the folder of the ./dev that runs it.
        assert psutil.Process(process.pid).environ().get("TMPDIR", str(temporary)) == str(temporary)
