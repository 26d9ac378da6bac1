"""What becomes of answers that can't be written: of letters that an encoding doesn't have, and where nobody reads on or there is no
room. No verdict has the exit codes that such ends have."""

import codecs
import errno
import io
import os
import sys
from typing import NoReturn, TextIO

_SIGPIPE = 128 + 13
_NOT_WRITTEN = 74
"""EX_IOERR of sysexits.h."""
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_ESCAPED = "sluice.escaped"


def speak_unicode() -> None:
    """Writes escapes, as in `\\u2717`, for what an encoding doesn't have, such as that of pipes on Windows: JSON stays JSON by it.
    What is read is UTF-8, as all manifests are."""
    codecs.register_error(_ESCAPED, _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ESCAPED)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2)), error.end


def end_quietly() -> NoReturn:
    """Ends as whatever writes into a pipe that nobody reads on, such as that of `| head -1`."""
    _leave(_SIGPIPE, sys.stdout, sys.stderr)


def is_full(error: OSError) -> bool:
    """Whether it is for want of room, and not about anything that was read."""
    return error.errno in _NO_ROOM


def end_unwritten() -> NoReturn:
    """Ends where an answer stays half written."""
    _leave(_NOT_WRITTEN, sys.stdout)


def _leave(code: int, *streams: TextIO) -> NoReturn:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:  # what is left in their buffers is written at the end
        os.dup2(nowhere, stream.fileno())
    raise SystemExit(code)
