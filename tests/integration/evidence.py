"""What a failed test leaves to be read: one file with its output, and all that its fixtures can tell of the parts it used.

Where SLUICE_EVIDENCE names a folder, a file named after the test is written there, while everything that the test used is still
there. Fixtures whose value has a method `evidence` are asked; of the test's own folder all logs are taken.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pytest
from redis import Redis
from redis.exceptions import RedisError

from integration.objects import Objects, RefusedRequestError

FOLDER = "SLUICE_EVIDENCE"
LOG_BYTES = 300_000
NAME_LENGTH = 180
REDIS_SECONDS = 3.0
KINDS = ("deltawritejob", "deltatablepolicy", "sparkapplication", "pod", "lease")

Part = tuple[str, str]
"""A title and a text."""


@runtime_checkable
class Witness(Protocol):
    def evidence(self) -> Iterable[Part]: ...


def write(item: pytest.Item, report: pytest.TestReport) -> None:
    """If it has failed and somebody wants to read of it; what fails after that, or when it runs again, is added."""
    folder = os.environ.get(FOLDER)
    if not folder or not report.failed:
        return
    file = Path(folder) / f"{_safe(item.nodeid)}.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = "\n\n".join(f"===== {title}\n{text.rstrip()}" for title, text in _parts(item, report))
    with file.open("ab") as kept:
        kept.write(f"{text}\n\n".encode(errors="backslashreplace"))


def _safe(test: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", test.removeprefix("tests/"))[:NAME_LENGTH].strip("-")


def _parts(item: pytest.Item, report: pytest.TestReport) -> Iterator[Part]:
    yield f"{item.nodeid}: {report.when} failed after {report.duration:.1f} s", report.longreprtext
    yield from report.sections
    used: dict[str, object] = getattr(item, "funcargs", None) or {}
    for name, value in used.items():
        if isinstance(value, Witness):
            yield from _asked(name, value.evidence)
    own = used.get("tmp_path")
    if isinstance(own, Path):
        yield from _asked("tmp_path", lambda: logs_below(own))


def _asked(name: str, ask: Callable[[], Iterable[Part]]) -> Iterator[Part]:
    """A part that cannot tell anything any more must not hide what the others tell."""
    try:
        yield from ask()
    except Exception as error:  # noqa: BLE001 - see above
        yield f"{name} could not be asked", repr(error)


def logs_below(folder: Path) -> Iterator[Part]:
    """Drivers' logs among them."""
    for log in sorted(folder.rglob("*.log")):
        if log.is_file() and log.stat().st_size:
            yield f"{log.relative_to(folder.parent)}", end_of(log)


def end_of(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_BYTES))
        return file.read().decode(errors="backslashreplace")


def resources(objects: Objects) -> Iterator[Part]:
    """What stands in the namespace, and what was said of it."""
    for kind in KINDS:
        try:
            found = [_without_bookkeeping(one) for one in objects.every(kind)]
        except (AssertionError, OSError) as error:
            yield f"{kind}s of {objects.namespace} could not be listed", repr(error)
            continue
        yield f"{kind}s of {objects.namespace}: {len(found)}", json.dumps(found, indent=1, ensure_ascii=False)
    yield f"events of {objects.namespace}", "\n".join(map(_event, _events(objects)))


def _without_bookkeeping(one: dict[str, Any]) -> dict[str, Any]:
    """Who has set which field is half of an object's text."""
    metadata = {name: value for name, value in one.get("metadata", {}).items() if name != "managedFields"}
    return {**one, "metadata": metadata}


def _events(objects: Objects) -> list[dict[str, Any]]:
    try:
        return objects.every("event")
    except (RefusedRequestError, OSError) as error:
        return [{"message": f"they could not be listed: {error!r}"}]


def _event(event: dict[str, Any]) -> str:
    about = event.get("involvedObject", {})
    when = event.get("eventTime") or event.get("lastTimestamp")
    return f"{when} {about.get('kind')}/{about.get('name')} {event.get('reason')}: {event.get('message')}"


def redis_keys(url: str) -> Iterator[Part]:
    try:
        with Redis.from_url(url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS) as redis:
            told = [f"{key!r}: {_value(redis, key)!r}" for key in sorted(redis.keys("*"))]
    except RedisError as error:
        told = [f"they could not be read: {error!r}"]
    yield f"keys of {url}", "\n".join(told)


def _value(redis: Redis, key: bytes) -> object:
    kind = redis.type(key)
    return redis.hgetall(key) if kind == b"hash" else redis.get(key) if kind == b"string" else kind
