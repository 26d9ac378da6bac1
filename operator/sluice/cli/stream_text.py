"""How far a stream has come and why it pauses, in a few words, for whoever lists jobs. It takes plain data."""

import re
from collections.abc import Iterator

from sluice.api.base import Json

_MOST_NAMED = 2
_UNITS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def progress(stream: Json) -> str:
    return ", ".join(_progress(stream))


def pause(pause: Json) -> str:
    """Says for whom, or why, and until when."""
    until = f", until {_to_the_second(pause['until'])} at the latest" if pause.get("until") else ""
    named = [str(one.get("job")) for one in pause.get("for") or ()]
    if not named:
        return f"stops: {pause.get('reason')}"
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"pauses for {', '.join(named[:_MOST_NAMED])}{more}{until}"


def _to_the_second(time: object) -> str:
    return re.sub(r"\.\d+(?=Z$)", "", str(time))


def _progress(stream: Json) -> Iterator[str]:
    batch = stream.get("batch")
    yield (
        "no batch has ended" if batch is None else f"batch {batch} ended {stream.get('batchAt', '')}".rstrip()
    )
    if stream.get("idleSince"):
        yield f"nothing to do since {stream['idleSince']}"
    lag = stream.get("lag") or {}
    behind = [f"{lag[what]} {what}" for what in ("files", "rows") if lag.get(what)]
    if lag.get("bytes"):
        behind.append(_size(lag["bytes"]))
    if behind:
        yield f"{' and '.join(behind)} behind"
    last = stream.get("lastCommit")
    if last is not None:
        yield f"committed version {last['version']} of {last['table']}"


def _size(count: int) -> str:
    for size, unit in _UNITS:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
