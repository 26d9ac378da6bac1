"""A process that has imported a program of ours and forks it for whoever asks on its standard input: see forking.py.

python prepared.py MODULE:FUNCTION IMPORTED... A question is one message: what to start, with its standard output and error as
descriptors, which is answered with a pid; or whose end to wait for, which is answered with how it ended.
"""

import gc
import importlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

LONGEST = 1_000_000
STANDARD = (1, 2)
READ_ONCE = (
    "kubernetes.config.kube_config",
    "kubernetes.aio.config.kube_config",
    "sluice.controller.process.clock",
)
"""Modules that read variables, or the time, when they are imported: they do it anew."""


def main(program: str, *imported: str) -> object:
    """Returns in each process that is forked, with what its program returned."""
    sys.path.pop(0)  # this folder, of which the program knows nothing
    module, _, function = program.partition(":")
    run: Callable[[], object] = getattr(importlib.import_module(module), function)
    for name in imported:
        importlib.import_module(name)
    _work_out_once()
    gc.collect()
    gc.freeze()  # else each that is forked goes through all of it at its end, and copies it: 0.35 s for `sluice --version`
    asked = socket.socket(fileno=os.dup(0))
    while True:
        message, descriptors, _, _ = socket.recv_fds(asked, LONGEST, len(STANDARD))
        if not message:
            return 0
        question = json.loads(message)
        if "reap" in question:
            answer = os.waitstatus_to_exitcode(os.waitpid(question["reap"], 0)[1])
        else:
            answer = os.fork()
            if answer == 0:
                asked.close()
                _become(question, descriptors)
                return run()
            for descriptor in descriptors:
                os.close(descriptor)
        asked.send(str(answer).encode())


def _work_out_once() -> None:
    """The fields of our resources by the models, which operators and `sluice doctor` compare with a cluster's definitions."""
    fields = sys.modules.get("sluice.api.served_fields")
    if fields is not None:
        for kind in fields.KINDS:
            fields.missing_in(kind, {})


def _become(question: dict[str, Any], descriptors: list[int]) -> None:
    """What `subprocess` would do between fork and exec."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in zip((nothing, *descriptors), (0, *STANDARD), strict=True):
        os.dup2(source, target)
        os.close(source)
    # Python asks once whether a stream can be sought in: a file can, and a pipe can't.
    sys.stdout = os.fdopen(1, "w", encoding=sys.stdout.encoding, closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, sys.stderr.encoding, "backslashreplace", closefd=False)
    os.chdir(question["folder"])
    os.environ.clear()
    os.environ.update(question["environment"])
    sys.argv = question["arguments"]
    for name in READ_ONCE:
        if name in sys.modules:
            importlib.reload(sys.modules[name])
    if "coverage" in sys.modules:
        threading.Thread(target=_save_coverage, daemon=True).start()


def _save_coverage() -> None:
    """Most of these processes are killed in the end, and would take with them what they have measured."""
    measured = sys.modules["coverage"].Coverage.current()
    while measured is not None:
        time.sleep(1)
        measured.save()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))  # type: ignore[arg-type]  # an exit code, or None
