"""Whether two spellings are one location."""

from __future__ import annotations

import re

_SPLIT = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", re.DOTALL)
_SAME_STORE = {
    "s3a": "s3",
    "s3n": "s3",
    "abfs": "abfss",
    "wasb": "abfss",
    "wasbs": "abfss",
}


def is_same(one: str, other: str) -> bool:
    return _parts(one) == _parts(other)


def _parts(location: str) -> tuple[str, str, list[str]]:
    found = _SPLIT.fullmatch(location)
    assert found is not None  # noqa: S101 - each part may be missing
    scheme, authority, path = (found[1] or "file").lower(), found[2] or "", found[3]
    steps = [step for step in path.split("/") if step not in ("", ".")]
    return _SAME_STORE.get(scheme, scheme), "" if scheme == "file" else authority, steps
