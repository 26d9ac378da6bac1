"""One line when a long step begins, one when it ends, and a sign of life in between.

Whole lines on stderr, because steps overlap and because CI has no terminal; stdout stays for results.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

SIGN_OF_LIFE_SECONDS = 20.0


def say(text: str) -> None:
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Stops writing, because nobody reads it any more: what is still written goes nowhere, instead of failing whoever writes."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextmanager
def step(doing: str) -> Iterator[None]:
    """Reports a step with its elapsed seconds, also when it fails."""
    began = time.monotonic()
    over = threading.Event()

    def keep_saying() -> None:
        while not over.wait(SIGN_OF_LIFE_SECONDS):
            say(f"    {doing} ... {time.monotonic() - began:.0f} s")

    say(f"==> {doing}")
    teller = threading.Thread(target=keep_saying, daemon=True)
    teller.start()
    outcome = "failed after"
    try:
        yield
        outcome = "done in"
    finally:
        over.set()
        teller.join()
        say(f"    {doing}: {outcome} {time.monotonic() - began:.1f} s")
