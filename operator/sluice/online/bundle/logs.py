"""The end of a container's log, however long it is."""

from collections import deque
from dataclasses import dataclass

from sluice.kube.client import Kube

MOST_BYTES = 4_000_000
"""So much of a log is kept, from its end on."""
_LINES = "100000"
_ASKED_BYTES = str(64_000_000)


@dataclass(frozen=True)
class LogEnd:
    text: str
    note: str


async def end_of_log(
    kube: Kube, namespace: str, pod: str, container: str, *, previous: bool = False
) -> LogEnd:
    query = {"container": container, "tailLines": _LINES, "limitBytes": _ASKED_BYTES, "timestamps": "true"}
    pieces: deque[bytes] = deque()
    kept = read = 0
    async for piece in kube.log(namespace, pod, query | ({"previous": "true"} if previous else {})):
        pieces.append(piece)
        kept += len(piece)
        read += len(piece)
        while kept - len(pieces[0]) >= MOST_BYTES:
            kept -= len(pieces.popleft())
    content = b"".join(pieces)[-MOST_BYTES:]
    if len(content) < read:
        content = content.partition(b"\n")[2]  # half of a line may be half of a secret
    text = content.decode(errors="backslashreplace")
    left_out = read - len(content)
    note = f"its end: {left_out:,} bytes before it are left out" if left_out else ""
    if text.count("\n") >= int(_LINES):
        note = note or f"its last {_LINES} lines"
    return LogEnd(text, note)


def lines_about(text: str, words: set[str]) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if any(word in line for word in words))
