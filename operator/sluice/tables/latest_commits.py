"""A table's latest commits with their versions.

delta-rs lists what commits say of themselves, and counts the versions down from the one at which it opened the table: wrongly as
soon as somebody has committed since, or a commit says nothing of itself. So the two ends of what matters are looked up in the log;
where they can't be found in the list, each commit's own file is read.
"""

from collections.abc import Callable, Iterator
from typing import Any

from deltalake import DeltaTable

from sluice.tables.commit_files import CommitFiles

Told = dict[str, Any]
"""What a commit says of itself, and its version."""


def latest_commits(
    opened: DeltaTable, files: CommitFiles, most: int, matters: Callable[[Told], bool]
) -> list[Told]:
    """The latest first: about as many as `most`, or fewer, down to one that is older than all that matter. Raises
    FilesUnknownError, or one of the errors of delta-rs."""
    told = opened.history(most)
    numbered = _from(opened.version(), told, files)
    end = _end_of_what_matters(numbered, matters)
    if numbered and _is_at_its_version(numbered[end], numbered, files):
        return numbered
    return list(_one_by_one(opened.version(), files, most, to_tell=_end_of_what_matters(told, matters) + 1))


def _from(latest: int, told: list[Told], files: CommitFiles) -> list[Told]:
    """Counted from the version at which the table was opened, without what was committed since; none if that can't be told."""
    info = files.info(latest)
    first = [at for at, one in enumerate(told) if info is not None and _like(one) == _like(info)]
    if len(first) != 1:
        return []
    return [one | {"version": latest - at} for at, one in enumerate(told[first[0] :])]


def _end_of_what_matters(told: list[Told], matters: Callable[[Told], bool]) -> int:
    """Where the first one stands that is older than all that matter, or else the oldest."""
    mattering = [at for at, one in enumerate(told) if matters(one)]
    return min(max(mattering, default=-1) + 1, len(told) - 1)


def _is_at_its_version(one: Told, told: list[Told], files: CommitFiles) -> bool:
    """That no commit between the two ends says nothing of itself is known only if this one is no other's like."""
    if one["version"] < 0 or sum(_like(one) == _like(other) for other in told) > 1:
        return False
    found = files.info(one["version"])
    return found is not None and _like(found) == _like(one)


def _like(one: Told) -> tuple[Any, ...]:
    return tuple(one.get(name) for name in ("timestamp", "operation", "userMetadata", "txnId"))


def _one_by_one(latest: int, files: CommitFiles, most: int, *, to_tell: int) -> Iterator[Told]:
    """`to_tell`: so many that say something of themselves are as many as matter, or more."""
    for version in range(latest, max(-1, latest - most), -1):
        info = files.info(version)
        said = {name: value for name, value in (info or {}).items() if value is not None}
        yield said | {"version": version}
        to_tell -= info is not None
        if to_tell == 0:
            return
