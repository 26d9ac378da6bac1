"""The limits of a child process, which the child sets for itself before it loads anything."""

import math
import os
import re
import resource
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import process_time

MEBIBYTE = 1024 * 1024

_GRACE = 30
"""Seconds that a child lives beyond the patience of a parent that is gone."""
_FIRST_TO_GO = "1000"
_NICENESS = 10
"""The parent serves all objects and a child one of them: where both want the processor, the parent has nine tenths of it."""
_ADDRESSES = 32
"""Times the memory of a process."""
_IN_USE = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True)
class Limits:
    memory_mib: int
    """Private memory that the process has in use, the interpreter and threads' stacks included. The parent looks at it."""
    cpu_seconds: int
    """CPU time of the process after it took its last question."""
    patience: float
    """Seconds until a question must be answered, from when the process has started."""
    answer_mib: int
    """The size of one answer, pickled."""
    threads: int = 1
    """Questions that the process works on at once."""
    stack_mib: int = 8
    """The most that the stack of each of these threads may take."""

    def set_for_this_process(self) -> None:
        """Sets what holds from the start: memory, stacks, no core file, that its parent goes before it on the processor, and that
        the kernel ends it before its parent."""
        os.nice(_NICENESS)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (self._address_mib * MEBIBYTE,) * 2)
        threading.stack_size(self.stack_mib * MEBIBYTE)
        with suppress(OSError):  # a sandbox may not have it
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO, encoding="ascii")

    @property
    def _address_mib(self) -> int:
        """What it may reserve: a library takes far more addresses than memory where it opens many files at once. This ends a
        process that takes more in an instant than its parent sees."""
        return _ADDRESSES * self.memory_mib

    def extend_cpu_time(self) -> None:
        """Gives the process its CPU seconds from now on; where they end, the kernel sends SIGXCPU."""
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(process_time()) + self.cpu_seconds, hard))

    @property
    def is_memory_short(self) -> bool:
        """Whether this process has reserved nine tenths of what it may, or cannot even find out."""
        try:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
        except MemoryError:
            return True
        return pages * resource.getpagesize() > 0.9 * self._address_mib * MEBIBYTE

    def extend_life(self) -> None:
        """Ends the process if its parent is gone, also while other code holds the interpreter's lock."""
        signal.alarm(math.ceil(self.patience) + _GRACE)


def memory_of_container() -> int | None:
    """How many MiB the processes of this container may take together. None: nothing limits them, or it is not known."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(limit) // MEBIBYTE if limit.isdigit() else None


def memory_in_use(pid: int) -> int:
    """How many MiB of its own the process has in use; 0: it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return 0
    return sum(int(kibibytes) for kibibytes in _IN_USE.findall(status)) // 1024


def lift_life() -> None:
    """Lets the process live while it waits for questions: the end of its input ends it then."""
    signal.alarm(0)
