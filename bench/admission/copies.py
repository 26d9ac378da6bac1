"""Copies of a job and of what it left, as etcd stores them: each with names and ids of its own, of the same length."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from bench.admission.cluster import BenchError
from bench.admission.etcd import Stored

from sluice.api.base import Json
from sluice.engines.attempt import application_name
from sluice.engines.profile import Profiles
from sluice.lifecycle.job.job_view import JobView

_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True)
class Place:
    """The place of a job in the bench's world, by which its copies are told apart."""

    name: str
    uid: str
    table: str
    holder: str = ""
    """The job that it waits for on its table; empty: nobody."""
    holder_uid: str = ""

    @staticmethod
    def new(name: str, table: str = "", holder: "Place | None" = None) -> "Place":
        """A job on a table of its own, unless one is named."""
        return Place(name, str(uuid4()), table or name, *_told(holder))

    @staticmethod
    def of(job: Json, table: str = "", holder: "Place | None" = None) -> "Place":
        name, uid = job["metadata"]["name"], job["metadata"]["uid"]
        return Place(name, uid, table or name, *_told(holder))


def _told(holder: Place | None) -> tuple[str, str]:
    return (holder.name, holder.uid) if holder is not None else ("", "")


@dataclass(frozen=True)
class Template:
    """A job that an operator of its own has brought this far, and its objects."""

    place: Place
    objects: tuple[Stored, ...]
    """The job first."""
    ids: tuple[str, ...] = ()
    """The names of its other objects."""
    profiles: Profiles | None = None
    """The operator's hash, where the job has an attempt: what a job hashes to depends on its runtime."""

    def copy(self, to: Place, number: int) -> Iterator[Stored]:
        """Returns one copy. The number tells attempts' tokens apart, and times."""
        changes = self._changes(to) | self._times(number)
        if self.profiles is not None:
            renamed = json.loads(replaced(self.objects[0].value, changes))
            changes |= self._of_attempts(renamed, number)
        for one in self.objects:
            yield Stored(
                replaced(one.key.encode(), changes).decode(),
                replaced(one.value, changes),
            )

    def _changes(self, to: Place) -> dict[str, str]:
        mine = self.place
        pairs = [
            (application_name(mine.name, mine.uid, 1), application_name(to.name, to.uid, 1)),
            (mine.name, to.name),
            (mine.uid, to.uid),
            (mine.table, to.table),
            (mine.holder, to.holder),
            (mine.holder_uid, to.holder_uid),
        ]
        return {old: new for old, new in pairs if old} | {one: str(uuid4()) for one in self.ids}

    def _times(self, number: int) -> dict[str, str]:
        """Shifts times, so that no two jobs come to be in the same microsecond: an operator that keeps each text once would
        keep one text for all of them."""
        later = timedelta(microseconds=number)
        times = {found.decode() for found in _TIME.findall(self.objects[0].value)}
        return {text: f"{datetime.fromisoformat(text) + later:{_TIME_FORMAT}}" for text in times}

    def _of_attempts(self, renamed: Json, number: int) -> dict[str, str]:
        job = json.loads(self.objects[0].value)
        tokens = [attempt["token"] for attempt in job["status"]["attempts"]]
        hashes = (self._hash_of(job), self._hash_of(renamed))
        return {str(token): str(token + number) for token in tokens} | dict([hashes])

    def _hash_of(self, job: Json) -> str:
        return JobView(job, self.profiles or {}, datetime.now(UTC)).spec_hash


def replaced(text: bytes, changes: Mapping[str, str]) -> bytes:
    """Replaces all at once, so that nothing is changed twice."""
    longer = {old: new for old, new in changes.items() if len(old.encode()) != len(new.encode())}
    if longer:
        raise BenchError(f"protobuf counts its bytes, and these have another length: {longer}")
    found = re.compile(b"|".join(re.escape(old.encode()) for old in sorted(changes, key=len, reverse=True)))
    return found.sub(lambda match: changes[match[0].decode()].encode(), text)
