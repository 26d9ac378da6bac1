"""Processes: run to the end with their output in a log, or known by an identity that a reused pid can't fake.

Whatever we start dies with us: children ask the kernel for a signal at our death (PR_SET_PDEATHSIG), and ./dev is
the reaper of its orphaned grandchildren (PR_SET_CHILD_SUBREAPER), which it ends before it goes.
"""

import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from devenv.errors import DevError
from devenv.progress import say

Argument = str | Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
FETCH_ATTEMPTS = 4
_PAUSE = 5.0
_stopping = threading.Event()
_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) was refused")


def _die_with(parent: int) -> None:
    """Runs in the new child, before its program: the kernel shall kill it when the thread that started it ends."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def spawn(
    arguments: Sequence[Argument],
    output: IO[bytes] | int | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    own_session: bool = False,
    outlives_us: bool = False,
) -> subprocess.Popen[bytes]:
    """Starts a process that, unless it is said to outlive us, can't. Without `output` it writes where we do."""
    if _stopping.is_set():
        raise DevError(f"{arguments[0]} isn't started any more: we are being stopped")
    return subprocess.Popen(
        [str(argument) for argument in arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        env=None if environment is None else dict(environment),
        cwd=folder,
        start_new_session=own_session,
        # The child only calls prctl and getppid, both safe after a fork beside other threads.
        preexec_fn=None if outlives_us else partial(_die_with, os.getpid()),  # noqa: PLW1509
    )


@dataclass(frozen=True)
class ProcessId:
    """A pid with when it started, in this boot: another process under the same pid isn't it."""

    pid: int
    started: str

    @staticmethod
    def of(pid: int) -> "ProcessId":
        stat = _stat(pid)
        if stat is None:
            raise DevError(f"process {pid} ended before it could be looked at")
        return ProcessId(pid, f"{_boot_id()}:{stat.started}")

    def alive(self) -> bool:
        stat = _stat(self.pid)
        return stat is not None and _runs(self.pid, stat) and f"{_boot_id()}:{stat.started}" == self.started

    def send(self, number: signal.Signals) -> None:
        """Signals the process if it is still that process."""
        if self.alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def end(self, patience: float) -> None:
        """Asks it to stop, waits, then kills it."""
        self.send(signal.SIGTERM)
        if not wait_until(lambda: not self.alive(), patience):
            self.send(signal.SIGKILL)
            wait_until(lambda: not self.alive(), patience)


@dataclass(frozen=True)
class _Stat:
    state: str
    parent: int
    started: str


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name is in parentheses and may hold anything, spaces and parentheses included.
    fields = text[text.rindex(")") + 2 :].split()
    return _Stat(state=fields[0], parent=int(fields[1]), started=fields[19])


def _runs(pid: int, stat: _Stat) -> bool:
    """Whether the process runs. One whose first thread has ended looks like a zombie while its others, such as a JVM's, still
    run."""
    if stat.state not in "ZX":
        return True
    try:
        return len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


def _table() -> dict[int, _Stat]:
    """All processes of this machine that are there to be looked at."""
    pids = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
    return {pid: stat for pid in pids if (stat := _stat(pid)) is not None}


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def wait_until(condition: Callable[[], bool], seconds: float, pause: float = 0.05) -> bool:
    """Whether the condition came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def run(
    arguments: Sequence[Argument],
    log: Path,
    *,
    failure: str,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    attempts: int = 1,
) -> None:
    """Runs a command to its end; when it fails, `failure` is the sentence, followed by the end of its output."""
    code = _run_once(arguments, log, environment, folder)
    for number in range(1, attempts):
        if code == 0 or _stopping.wait(_PAUSE * number):
            break
        say(f"    {arguments[0]} failed with {code} and is asked again (its output: {log})")
        code = _run_once(arguments, log, environment, folder)
    if _stopping.is_set():
        raise DevError(f"{arguments[0]} was stopped")
    if code != 0:
        raise DevError(f"{failure}\n{last_lines(log)}\n(all of it: {log})")


fetch = partial(run, attempts=FETCH_ATTEMPTS)
"""For a command that transfers something: one that fails is run again, after longer and longer pauses.

Package managers give up at the first transfer that breaks off, or ask again at once, when nothing is better yet.
"""


def _run_once(
    arguments: Sequence[Argument], log: Path, environment: Mapping[str, str] | None, folder: Path | None
) -> int:
    with log.open("ab") as output:
        output.write(f"\n$ {' '.join(map(str, arguments))}\n".encode())
        output.flush()
        process = spawn(arguments, output, environment=environment, folder=folder)
        try:
            return process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise


def output_of(arguments: Sequence[Argument], environment: Mapping[str, str] | None = None) -> str | None:
    """What a command says on stdout and stderr, or None when it isn't there or fails."""
    try:
        done = subprocess.run(
            [str(argument) for argument in arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=None if environment is None else dict(environment),
            check=False,
            text=True,
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def last_lines(file: Path, count: int = 20) -> str:
    """The end of a log, indented, to stand below a sentence."""
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()[-count:]
    return "\n".join(f"    {line}" for line in lines)


def adopt_orphans(adopt: bool = True) -> None:
    """Makes this process the parent of every descendant whose own parent ends."""
    _prctl(PR_SET_CHILD_SUBREAPER, int(adopt))


def stop_everything() -> None:
    """Starts nothing more, also in other threads, and ends what runs."""
    _stopping.set()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    end_descendants()


def descendants() -> dict[int, str]:
    """Every living process below this one, with its command line."""
    parents = {pid: stat.parent for pid, stat in _table().items() if _runs(pid, stat)}
    below: set[int] = set()
    level = {os.getpid()}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level}
        below |= level
    return {pid: _command(pid) for pid in sorted(below)}


def _command(pid: int) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return "(gone)"
    return raw.replace(b"\0", b" ").decode(errors="replace").strip()


def end_descendants(spare: Collection[int] = (), patience: float = 5.0) -> dict[int, str]:
    """Ends every process below this one, but for those to spare; tells which there were."""

    def left() -> dict[int, str]:
        return {pid: line for pid, line in descendants().items() if pid not in spare}

    found = left()
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in left():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        if wait_until(lambda: not left(), patience):
            break
    return found
