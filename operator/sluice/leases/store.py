"""The lease table as the operator uses it.

Who holds leases is decided by the leader's own memory, which it rebuilt from Kubernetes under an epoch of its own. Redis
fences: it refuses whoever has another epoch, and tells whether a table's history is the one that this leader left. A Redis
that went back in time, or that somebody else wrote to, is noticed at the next grant or release.

Nothing here has a time to live: a lease ends when the end of its holder is proved.
"""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha1, sha256
from uuid import uuid4

from redis.asyncio import Redis

from sluice.leases import scripts
from sluice.leases.model import Epochs, Grant, Lease


class ForgottenError(Exception):
    """Redis lost what it was told, or serves another leader: rebuild before anything else is granted."""


class StaleError(ForgottenError):
    """A table's history isn't the one that this leader left."""


class RefusedError(Exception):
    """The attempt holds a lease that was granted to another request: for another spec or footprint, or decided on another
    history of its tables. It must be released first."""


@dataclass(frozen=True)
class _Held:
    grant: Grant
    request: str


def _token(text: str) -> int:
    epoch, counter = text.split(" ")
    return Epochs.token(int(epoch), int(counter))


def _token_text(token: int) -> str:
    return f"{Epochs.of(token)} {Epochs.counter_of(token)}"


def _version_after(version: str, request: str) -> str:
    """As the scripts make it."""
    return sha1(f"{version} {request}".encode(), usedforsecurity=False).hexdigest()


class LeaseStore:
    def __init__(self, redis: "Redis", deployment: str) -> None:
        self._redis = redis
        prefix = f"sluice:{{{deployment}}}"  # one hash tag: one slot of a cluster holds all keys
        self._keys = [f"{prefix}:{name}" for name in ("epoch", "counter", "versions", "leases", "builder")]
        self._grant = redis.register_script(scripts.GRANT)
        self._release = redis.register_script(scripts.RELEASE)
        self._rebuild = redis.register_script(scripts.REBUILD)
        self._epoch = 0
        self._versions: dict[str, str] = {}
        """Of tables, as this leader left them; those that it has not changed in its epoch have none."""
        self._last_token = 0
        self._held: dict[str, _Held] = {}
        self._run_id = ""

    @property
    def epoch(self) -> int:
        return self._epoch

    @property
    def held(self) -> list[Lease]:
        """The leases of this epoch, as this leader knows them: all that were rebuilt or granted, and not released."""
        return [held.grant.lease for held in self._held.values()]

    def holds(self, uid: str, attempt: int) -> bool:
        return self.lease_of(uid, attempt) is not None

    def lease_of(self, uid: str, attempt: int) -> Lease | None:
        held = self._held.get(f"{uid}/{attempt}")
        return held.grant.lease if held is not None else None

    def held_by(self, uid: str) -> list[Lease]:
        return [lease for lease in self.held if lease.uid == uid]

    async def check_settings(self) -> None:
        """Leases must never be evicted to make room."""
        policy = (await self._redis.info("memory")).get("maxmemory_policy")
        if policy != "noeviction":
            raise ValueError(
                f"Redis may evict leases: its maxmemory-policy is {policy!r}; set it to noeviction"
            )

    async def known_epoch(self) -> int:
        """The epoch that Redis remembers, 0 if none."""
        return int(await self._redis.get(self._keys[0]) or 0)

    async def rebuild(self, epoch: int, grants: Iterable[Grant]) -> None:
        """Replaces the whole table in one step, for a new epoch."""
        held = [_Held(grant, self._request(grant.lease, {})) for grant in grants]
        arguments: list[str | int] = [epoch, uuid4().hex]
        for one in held:
            lease = one.grant.lease
            arguments += [
                lease.holder,
                f"{_token_text(one.grant.token)}\n{one.request}\n{lease.to_json()}",
            ]
        answer = await self._rebuild(keys=self._keys, args=arguments)
        if answer[0] != "REBUILT":
            raise ForgottenError(f"epoch {epoch} is over: Redis serves epoch {answer[1]}")
        self._epoch = epoch
        self._versions = {}
        self._last_token = 0
        self._held = {one.grant.lease.holder: one for one in held}
        self._run_id = await self._current_run_id()

    async def check_memory(self) -> None:
        """Whether this is still the Redis, and the life of it, that was last rebuilt."""
        run_id = await self._current_run_id()
        if run_id != self._run_id:
            raise ForgottenError("Redis was restarted or replaced: what it remembers may be old")
        if await self.known_epoch() != self._epoch:
            raise ForgottenError(f"Redis does not remember epoch {self._epoch}")

    async def grant(self, lease: Lease) -> Grant:
        """Idempotent: asking again for the same attempt with the same hash, while nothing else was granted or released on its
        tables, gives the same token."""
        known = self._held.get(lease.holder)
        if known is not None and known.grant.lease.hash == lease.hash:
            request = known.request
        else:
            request = self._request(lease, self._versions)
        arguments: list[str | int] = [self._epoch, lease.holder, request, lease.to_json()]
        for table in lease.tables:
            arguments += [table, self._versions.get(table, "")]
        left = self._left_by(request, lease.tables)
        answer = await self._grant(keys=self._keys, args=arguments)
        match answer[0]:
            case "GRANTED":
                grant = Grant(lease, _token(answer[1]))
                self._check_token(grant)
                if known is None:
                    self._versions |= left
                self._last_token = max(grant.token, self._last_token)
                self._held[lease.holder] = _Held(grant, request)
                return grant
            case "OTHER":
                raise RefusedError(
                    f"{lease.job} holds a lease of attempt {lease.attempt} that was granted to another request, "
                    f"under the token {_token(answer[1])}"
                )
            case "STALE":
                raise StaleError(f"table {answer[1]} has another history in Redis than this leader left")
            case _:
                raise ForgottenError(f"Redis serves epoch {answer[1] or 'none'}, not {self._epoch}")

    async def release(self, lease: Lease) -> None:
        """Idempotent."""
        known = self._held.get(lease.holder)
        if known is None:
            return
        token = _token_text(known.grant.token)
        tables = known.grant.lease.tables
        left = self._left_by(token, tables)
        answer = await self._release(keys=self._keys, args=[self._epoch, lease.holder, token, *tables])
        if answer[0] != "RELEASED":
            raise ForgottenError(f"Redis serves epoch {answer[1] or 'none'}, not {self._epoch}")
        for table, version in zip(tables, answer[1:], strict=True):
            if version != left[table]:
                raise StaleError(f"table {table} has another history in Redis than this leader left")
        self._versions |= left
        del self._held[lease.holder]

    async def holders(self) -> list[Grant]:
        """All leases, as Redis has them."""
        values = await self._redis.hvals(self._keys[3])
        grants = []
        for value in values:
            token, _, record = str(value).split("\n", 2)
            grants.append(Grant(Lease.from_json(record), _token(token)))
        return grants

    async def remembered(self) -> list[Lease]:
        """What Redis holds of any epoch, as far as it can be read: hints, of which none is believed alone."""
        found = []
        for value in await self._redis.hvals(self._keys[3]):
            with contextlib.suppress(ValueError, RecursionError):
                found.append(Lease.from_json(str(value).split("\n", 2)[-1]))
        return found

    def _check_token(self, grant: Grant) -> None:
        """Who asks again has the token of the first time, and nobody else has it."""
        held = self._held.get(grant.lease.holder)
        known = held.grant if held is not None else None
        if known is None and grant.token <= self._last_token:
            raise StaleError(f"Redis gives token {grant.token} a second time: it forgot what came after")
        if known is not None and (known.token, known.lease.hash) != (grant.token, grant.lease.hash):
            raise StaleError(
                f"Redis gives {grant.lease.job} token {grant.token} for attempt {grant.lease.attempt}, which has token "
                f"{known.token}: it forgot what it had granted"
            )

    @staticmethod
    def _request(lease: Lease, versions: Mapping[str, str]) -> str:
        """Names what is asked for, and what was known when that was decided: an older decision's grant must not answer for a
        newer one."""
        decided_on = [f"{table} {versions.get(table, '')}" for table in lease.tables]
        return sha256("\n".join([lease.holder, lease.hash, *decided_on]).encode()).hexdigest()

    def _left_by(self, request: str, tables: Iterable[str]) -> dict[str, str]:
        return {table: _version_after(self._versions.get(table, ""), request) for table in tables}

    async def _current_run_id(self) -> str:
        return str((await self._redis.info("server"))["run_id"])
