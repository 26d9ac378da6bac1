"""The lease table as the operator uses it.

Nothing here has a time to live: a lease ends when the end of its holder is proved. The leader remembers the version
of every table that it has seen, so that a Redis which went back in time is noticed at the next grant.
"""

import contextlib
from collections.abc import Iterable
from uuid import uuid4

from redis.asyncio import Redis

from sluice.leases import scripts
from sluice.leases.model import Epochs, Grant, Lease


class ForgottenError(Exception):
    """Redis lost what it was told, or serves another leader: rebuild before anything else is granted."""


class StaleError(ForgottenError):
    """A table's version isn't the one that was last seen."""


class RefusedError(Exception):
    """The attempt holds a lease for another spec or footprint, which must be released first."""


def _token(text: str) -> int:
    epoch, counter = text.split(" ")
    return Epochs.token(int(epoch), int(counter))


class LeaseStore:
    def __init__(self, redis: "Redis", deployment: str) -> None:
        self._redis = redis
        prefix = f"sluice:{{{deployment}}}"  # one hash tag: one slot of a cluster holds all keys
        self._keys = [f"{prefix}:{name}" for name in ("epoch", "counter", "versions", "leases", "builder")]
        self._grant = redis.register_script(scripts.GRANT)
        self._release = redis.register_script(scripts.RELEASE)
        self._rebuild = redis.register_script(scripts.REBUILD)
        self._epoch = 0
        self._versions: dict[str, int] = {}
        self._last_token = 0
        self._held: dict[str, Grant] = {}
        self._run_id = ""

    @property
    def epoch(self) -> int:
        return self._epoch

    @property
    def held(self) -> list[Lease]:
        """The leases of this epoch, as this leader knows them: all that were rebuilt or granted, and not released."""
        return [grant.lease for grant in self._held.values()]

    def holds(self, uid: str, attempt: int) -> bool:
        return self.lease_of(uid, attempt) is not None

    def lease_of(self, uid: str, attempt: int) -> Lease | None:
        grant = self._held.get(f"{uid}/{attempt}")
        return grant.lease if grant is not None else None

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
        grants = list(grants)
        arguments: list[str | int] = [epoch, uuid4().hex]
        for grant in grants:
            token = f"{Epochs.of(grant.token)} {Epochs.counter_of(grant.token)}"
            arguments += [grant.lease.holder, f"{token}\n{grant.lease.hash}\n{grant.lease.to_json()}"]
        answer = await self._rebuild(keys=self._keys, args=arguments)
        if answer[0] != "REBUILT":
            raise ForgottenError(f"epoch {epoch} is over: Redis serves epoch {answer[1]}")
        self._epoch = epoch
        self._versions = {}
        self._last_token = 0
        self._held = {grant.lease.holder: grant for grant in grants}
        self._run_id = await self._current_run_id()

    async def check_memory(self) -> None:
        """Whether this is still the Redis, and the life of it, that was last rebuilt."""
        run_id = await self._current_run_id()
        if run_id != self._run_id:
            raise ForgottenError("Redis was restarted or replaced: what it remembers may be old")
        if await self.known_epoch() != self._epoch:
            raise ForgottenError(f"Redis does not remember epoch {self._epoch}")

    async def grant(self, lease: Lease) -> Grant:
        """Idempotent: asking again for the same attempt with the same hash gives the same token."""
        arguments: list[str | int] = [self._epoch, lease.holder, lease.hash, lease.to_json()]
        for table in lease.tables:
            arguments += [table, self._versions.get(table, 0)]
        answer = await self._grant(keys=self._keys, args=arguments)
        match answer[0]:
            case "GRANTED":
                self._learn(lease.tables, answer[2:])
                grant = Grant(lease, _token(answer[1]))
                self._check_token(grant)
                self._last_token = max(grant.token, self._last_token)
                self._held[lease.holder] = grant
                return grant
            case "OTHER":
                raise RefusedError(
                    f"{lease.job} holds a lease of attempt {lease.attempt} under the hash {answer[1]}"
                )
            case "STALE":
                raise StaleError(f"table {answer[1]} is at version {answer[2]} in Redis, not as last seen")
            case _:
                raise ForgottenError(f"Redis serves epoch {answer[1] or 'none'}, not {self._epoch}")

    async def release(self, lease: Lease) -> None:
        """Idempotent."""
        answer = await self._release(keys=self._keys, args=[self._epoch, lease.holder, *lease.tables])
        if answer[0] != "RELEASED":
            raise ForgottenError(f"Redis serves epoch {answer[1] or 'none'}, not {self._epoch}")
        self._learn(lease.tables, answer[1:])
        self._held.pop(lease.holder, None)

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
        known = self._held.get(grant.lease.holder)
        if known is None and grant.token <= self._last_token:
            raise StaleError(f"Redis gives token {grant.token} a second time: it forgot what came after")
        if known is not None and (known.token, known.lease.hash) != (grant.token, grant.lease.hash):
            raise StaleError(
                f"Redis gives {grant.lease.job} token {grant.token} for attempt {grant.lease.attempt}, which has token "
                f"{known.token}: it forgot what it had granted"
            )

    def _learn(self, tables: Iterable[str], versions: Iterable[str]) -> None:
        """A version only rises, as long as Redis forgets nothing."""
        now = dict(zip(tables, map(int, versions), strict=True))
        for table, version in now.items():
            if version < self._versions.get(table, 0):
                raise StaleError(
                    f"table {table} went back to version {version} in Redis: it forgot what came after"
                )
        self._versions |= now

    async def _current_run_id(self) -> str:
        return str((await self._redis.info("server"))["run_id"])
