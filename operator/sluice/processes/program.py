"""The program of a child process: answers the questions of its parent, several at once, in any order.

Its arguments are a factory, as module:function, and its limits as JSON. The factory returns the function that answers. Code names
factories, users never do. The process ends with its standard input, or where its memory ends.
"""

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import IO, cast

from sluice.processes.limits import MEBIBYTE, Limits, lift_life
from sluice.processes.messages import packed, received

Answer = Callable[[object], object]
Question = tuple[int, object]
"""Its number comes first, as in the reply."""
Reply = tuple[int, bool, object]
"""Whether there is an answer; if not, why."""
STARTED: Reply = (0, True, None)
"""What the process says before it takes its first question."""

OUT_OF_MEMORY = 77
"""The exit code of a process that could not get the memory for an answer."""
FAILED = 78
"""The exit code of a process that failed on its own work."""


class Replies:
    """Answers questions in threads, and writes each reply as a whole."""

    def __init__(self, answer: Answer, limits: Limits, to: IO[bytes]) -> None:
        self._answer = answer
        self._limits = limits
        self._to = to
        self._threads = ThreadPoolExecutor(limits.threads, thread_name_prefix="question")
        self._lock = threading.Lock()
        self._open = 0

    def begin(self, number: int, question: object) -> None:
        with self._lock:
            self._open += 1
            self._limits.extend_cpu_time()
            self._limits.extend_life()
        try:
            self._threads.submit(self._reply, number, question)
        except RuntimeError:
            os._exit(OUT_OF_MEMORY)  # there is no memory for one more thread

    def _reply(self, number: int, question: object) -> None:
        try:
            reply = self._packed_reply(number, question)
            with self._lock:
                self._to.write(reply)
                self._to.flush()
                self._open -= 1
                if self._open == 0:
                    lift_life()
        except MemoryError:
            # Which of the questions takes the memory is not known, and what is left may not even do for a reply.
            os._exit(OUT_OF_MEMORY)
        except BaseException:  # noqa: BLE001 - a thread that fails must not leave its question open
            os._exit(OUT_OF_MEMORY if self._limits.is_memory_short else FAILED)

    def _packed_reply(self, number: int, question: object) -> bytes:
        try:
            reply = packed((number, True, self._answer(question)))
        except MemoryError:
            raise
        except BaseException as error:
            # Of Rust's panics, which are no Exceptions, most come from memory that it did not get.
            if not isinstance(error, Exception) and self._limits.is_memory_short:
                raise
            traceback.print_exc()
            return packed((number, False, f"failed on it: {error!r}"))
        if len(reply) > self._limits.answer_mib * MEBIBYTE:
            return packed((number, False, f"found more than {self._limits.answer_mib} MiB"))
        return reply


def main(factory: str, limits_as_json: str) -> None:
    limits = Limits(**json.loads(limits_as_json))
    limits.set_for_this_process()
    # What any library prints must not come between two replies.
    to = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    module, _, function = factory.partition(":")
    try:
        replies = Replies(getattr(import_module(module), function)(), limits, to)
        to.write(packed(STARTED))
        to.flush()
        while True:
            replies.begin(*cast("Question", received(sys.stdin.buffer)))
    except EOFError:
        os._exit(0)  # also while threads still work on questions of a parent that is gone
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


if __name__ == "__main__":
    main(*sys.argv[1:])
