"""Changes of the lease table on their way to Redis. It gets one request at a time, because two could overtake each other; each
carries all that was asked for while the last one was under way."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from typing import Any, Generic, TypeVar
from zlib import crc32

from sluice.leases.model import Epochs, Lease
from sluice.leases.reach import Reach

_T = TypeVar("_T")

AT_ONCE = 64
"""Changes in one request, which holds up whoever else asks Redis."""

MOST_VERSIONS = 1 << 14
"""Tables share so many versions: one of its own for each table that was ever granted would fill Redis, and the leader's memory, by
jobs of made-up tables."""

Versions = MutableMapping[str, str]
"""The versions as this leader has left them."""


@dataclass(frozen=True)
class LeaseChange:
    """A change as it is told to Redis."""

    words: Sequence[str | Sequence[str]]
    request: str
    left: Mapping[str, str]
    """The versions that it leaves."""


@dataclass(frozen=True)
class GrantRequest:
    lease: Lease
    reach: Reach | None
    granted_to: str | None
    """The request that it was granted to, if it is known to be granted."""

    def must_be_text(self) -> None:
        """Raises UnicodeError if it can't be written down; sent with others, it would keep them from being granted."""
        "".join((*self.lease.tables, *self.lease.rights, self.lease.holder)).encode()

    def told(self, versions: Versions) -> LeaseChange:
        """How it is told to Redis, after which the versions are others."""
        lease = self.lease
        tables = version_keys(lease)
        request = self.granted_to or request_of(lease, versions)
        decided_on = [versions[table] for table in tables]
        left = _left_by(request, lease, versions) if self.granted_to is None else {}
        versions.update(left)
        words = (request, record(lease, self.reach), lease.rights, tables, decided_on)
        return LeaseChange(("GRANT", lease.holder, *words), request, left)


@dataclass(frozen=True)
class ReleaseRequest:
    lease: Lease
    token: int

    def told(self, versions: Versions) -> LeaseChange:
        """How it is told to Redis, after which the versions are others."""
        token, lease = token_text(self.token), self.lease
        left = _left_by(token, lease, versions)
        versions.update(left)
        return LeaseChange(("RELEASE", lease.holder, token, lease.rights, version_keys(lease)), token, left)


def token_text(token: int) -> str:
    return f"{Epochs.of(token)} {Epochs.counter_of(token)}"


def record(lease: Lease, reach: Reach | None) -> str:
    """The record as scripts keep it."""
    return lease.to_json() if reach is None else f"{lease.to_json()}\n{reach.to_json()}"


def request_of(lease: Lease, versions: Mapping[str, str]) -> str:
    """Names what is asked for, and what was known when that was decided: an older decision's grant must not answer for a
    newer one."""
    decided_on = [f"{table} {versions.get(table, '')}" for table in version_keys(lease)]
    return sha256("\n".join([lease.holder, lease.hash, *decided_on]).encode()).hexdigest()


def version_keys(lease: Lease) -> tuple[str, ...]:
    """Under which names Redis keeps the versions of its tables."""
    return tuple(dict.fromkeys(map(version_key, lease.tables)))


def version_key(table: str) -> str:
    return f"{crc32(table.encode('utf-8', 'surrogatepass')) % MOST_VERSIONS:x}"


def _left_by(request: str, lease: Lease, versions: Mapping[str, str]) -> dict[str, str]:
    """The versions as the script makes them."""
    return {
        table: sha1(f"{versions[table]} {request}".encode(), usedforsecurity=False).hexdigest()
        for table in version_keys(lease)
    }


@dataclass
class OrderedRequests(Generic[_T]):
    """Sends what is asked for, in the order in which it is asked for."""

    send: Callable[[Sequence[_T]], Awaitable[Sequence[Any]]]
    """Sends some of it as one, and returns what came of each, or the error of each."""
    _asked: list[tuple[_T, asyncio.Future[Any]]] = field(default_factory=list)
    _sending: asyncio.Task[None] | None = None

    async def do(self, one: _T) -> Any:
        """What came of it, once it has been sent and answered."""
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked.append((one, answered))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all(), name="changes of the lease table")
        return await answered

    async def _send_all(self) -> None:
        try:
            while self._asked:
                some, self._asked = self._asked[:AT_ONCE], self._asked[AT_ONCE:]
                try:
                    found = await self.send([one for one, _ in some])
                except Exception as error:  # noqa: BLE001 - each who asked is told
                    found = [error] * len(some)
                for (_, answered), what in zip(some, found, strict=True):
                    _tell(answered, what)
        finally:
            self._sending = None


def _tell(answered: asyncio.Future[Any], what: Any) -> None:
    if answered.done():  # whoever asked waits no more
        return
    if isinstance(what, Exception):
        answered.set_exception(what)
    else:
        answered.set_result(what)
