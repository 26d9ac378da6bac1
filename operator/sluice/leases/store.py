"""The lease table as the operator uses it.

The leader's own memory decides who holds leases; it was rebuilt from Kubernetes under an epoch of its own. Redis fences: it
refuses whoever has another epoch, and tells whether a table's history is the one that this leader left. A Redis that went back
in time, or that somebody else wrote to, is noticed at the next grant or release. Nothing here has a time to live: a lease ends
when the end of its holder is proved.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from uuid import uuid4

from redis.asyncio import Redis
from redis.commands.core import AsyncScript
from redis.exceptions import OutOfMemoryError, ResponseError

from sluice.leases import scripts
from sluice.leases.changes import (
    GrantRequest,
    LeaseChange,
    OrderedRequests,
    ReleaseRequest,
    record,
    request_of,
    token_text,
    version_key,
    version_keys,
)
from sluice.leases.fitness import UnfitError, unfit
from sluice.leases.keys import Keys
from sluice.leases.model import Epochs, Grant, Lease, number_in, right_to_run
from sluice.leases.reach import Reach
from sluice.leases.stored_state import StoredState, former, token_in

_AT_ONCE = 200
"""Holders that one request tells Redis about."""


class ForgottenError(Exception):
    """Redis lost what it was told, or serves another leader: rebuild before anything else is granted."""


class StaleError(ForgottenError):
    """A table's history isn't the one that this leader left."""


class TakenError(ForgottenError):
    """What only one may hold has another holder: this leader, or Redis, knows of it, and whoever asked did not."""


class OtherInstallationError(Exception):
    """Redis keeps the leases of another installation, which may still run."""


class FullError(Exception):
    """Redis has no room for the lease: it is not granted, and nothing was changed."""


class RefusedError(Exception):
    """The attempt holds a lease that was granted to another request: for another spec or footprint, or decided on another
    history of its tables. It must be released first."""


@dataclass(frozen=True)
class _Held:
    grant: Grant
    request: str


def _stale(lease: Lease, version: str) -> StaleError:
    table = next((one for one in lease.tables if version_key(one) == version), version)
    return StaleError(f"the history of table {table} in Redis is not the one that this leader left")


def _over(epoch: int) -> ForgottenError:
    return ForgottenError(f"epoch {epoch}, in which this was decided on, is over")


def _is_full(error: ResponseError) -> bool:
    return isinstance(error, OutOfMemoryError) or "-OOM " in str(error)  # the latter from Redis 6.2


class LeaseStore:
    def __init__(self, redis: "Redis", deployment: str, installation: str) -> None:
        self._redis = redis
        self._installation = installation
        """The installation that the leases belong to."""
        self._keys = Keys(deployment)
        self._change = redis.register_script(scripts.CHANGE)
        self._changes = OrderedRequests(self._send)
        self._beat = redis.register_script(scripts.BEAT)
        self._reach = redis.register_script(scripts.REACH)
        self._rebuild = redis.register_script(scripts.REBUILD)
        self._epoch = 0
        self._versions: dict[str, str] = {}
        """Versions of tables as this leader left them; those that it has not changed in its epoch have none."""
        self._last_token = 0
        self._held: dict[str, _Held] = {}
        self._holders: dict[str, dict[str, Lease]] = {}
        """The same leases by their jobs' uids."""
        self._rights: dict[str, str] = {}
        """The holders of what only one may hold."""
        self._learned: dict[str, None] = {}
        """Holders whose reach Redis has not been told yet."""
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

    def granted(self, lease: Lease) -> Grant | None:
        """What was granted to its holder, as this leader knows it."""
        held = self._held.get(lease.holder)
        return held.grant if held is not None else None

    def holder_of_run(self, run: str) -> str | None:
        """Who holds the right to this run."""
        return self._rights.get(right_to_run(run))

    def held_by(self, uid: str) -> list[Lease]:
        return list(self._holders.get(uid, {}).values())

    @property
    def uids(self) -> list[str]:
        """The jobs that hold any lease."""
        return list(self._holders)

    def learn(self, lease: Lease, reach: Reach) -> None:
        """Takes in a reach that wasn't known. Redis is told later."""
        held = self._held[lease.holder]
        self._held[lease.holder] = replace(held, grant=replace(held.grant, reach=reach))
        self._learned[lease.holder] = None

    def _note(self, held: _Held) -> None:
        lease = held.grant.lease
        self._held[lease.holder] = held
        self._holders.setdefault(lease.uid, {})[lease.holder] = lease
        self._rights |= dict.fromkeys(lease.rights, lease.holder)

    def _drop(self, lease: Lease) -> None:
        del self._held[lease.holder]
        for right in lease.rights:
            if self._rights.get(right) == lease.holder:
                self._pass_on(right)
        del self._holders[lease.uid][lease.holder]
        if not self._holders[lease.uid]:
            del self._holders[lease.uid]

    def _pass_on(self, right: str) -> None:
        """To another holder, of whom a rebuild may have found two."""
        others = (held.grant.lease for held in self._held.values())
        holder = next((other.holder for other in others if right in other.rights), None)
        if holder is None:
            del self._rights[right]
        else:
            self._rights[right] = holder

    async def check_fitness(self) -> None:
        """Raises UnfitError if this Redis cannot keep leases. By the next time another server may be the one that is meant, and
        only a new connection finds it."""
        why = unfit(await self._redis.info())
        if why is not None:
            await self._redis.connection_pool.disconnect()
            raise UnfitError(why)

    async def former(self) -> StoredState:
        """What is there, if nobody or this installation wrote it. What another wrote may be taken over before the rebuild comes,
        which then would not know that it was."""
        found = await former(self._redis, self._keys)
        if found.installation is not None:
            self._refuse_others(["INSTALLATION", found.installation])
        await self._redis.hlen(
            self._keys.leases
        )  # a right that only checks need is missed before an epoch is spent
        return found

    async def rebuild(self, epoch: int, grants: Iterable[Grant], *, beat: int = 0) -> None:
        """Replaces the whole table in one step, for a new epoch."""
        held = [_Held(grant, request_of(grant.lease, {})) for grant in grants]
        rights = [
            part
            for one in held
            for right in one.grant.lease.rights
            for part in (right, one.grant.lease.holder)
        ]
        arguments: list[str | int] = [uuid4().hex, beat, len(rights) // 2, *rights]
        for one in held:
            lease = one.grant.lease
            value = f"{token_text(one.grant.token)}\n{one.request}\n{record(lease, one.grant.reach)}"
            arguments += [lease.holder, value]
        answer = await self._ask(self._rebuild, epoch, *arguments)
        if answer[0] != "REBUILT":
            raise ForgottenError(f"epoch {epoch} is over: Redis serves epoch {answer[1]}")
        self._epoch = epoch
        self._versions = {}
        self._last_token = 0
        self._held, self._holders, self._rights, self._learned = {}, {}, {}, {}
        for one in held:
            self._note(one)
        self._run_id = await self._current_run_id()

    async def check_memory(self) -> None:
        """Checks that this is still the Redis, and the same run of it, that was last rebuilt. Nothing else may be under way."""
        run_id = await self._current_run_id()
        if run_id != self._run_id:
            raise ForgottenError("Redis was restarted or replaced: what it remembers may be old")
        keys = self._keys
        async with self._redis.pipeline(transaction=False) as asked:
            asked.mget(keys.epoch, keys.installation, keys.counter)
            asked.hlen(keys.leases)
            (epoch, installation, counter), leases = await asked.execute()
        if installation is not None:
            self._refuse_others(["INSTALLATION", str(installation)])
        if epoch != str(self._epoch):
            raise ForgottenError(f"Redis does not remember epoch {self._epoch}")
        # A late copy of the rebuild may have brought back an emptied Redis as it was then.
        last = Epochs.counter_of(self._last_token)
        if (number_in(counter or "0") or 0) < last or leases != len(self._held):
            raise ForgottenError(
                f"Redis does not remember all that was granted and released in epoch {epoch}"
            )

    async def grant(self, lease: Lease, reach: Reach | None = None) -> Grant:
        """Grants the lease. It is idempotent: asking again for the same attempt with the same hash, while nothing else was
        granted or released on its tables, gives the same token."""
        for right in lease.rights:
            if self._rights.get(right, lease.holder) != lease.holder:
                raise TakenError(f"{lease.job}: {right} is held by {self._rights[right]}")
        known = self._held.get(lease.holder)
        is_known = known is not None and known.grant.lease.hash == lease.hash
        granted_to = known.request if known is not None and is_known else None
        change = GrantRequest(lease, reach, granted_to)
        change.must_be_text()
        grant: Grant = await self._changes.do((self._epoch, change))
        return grant

    async def release(self, lease: Lease) -> None:
        """Releases the lease; it is idempotent."""
        known = self._held.get(lease.holder)
        if known is not None:
            await self._changes.do((self._epoch, ReleaseRequest(known.grant.lease, known.grant.token)))

    async def _send(self, changes: Sequence[tuple[int, GrantRequest | ReleaseRequest]]) -> Sequence[Any]:
        """Sends these as one request. What was decided on in an epoch that is over is not sent."""
        touched = {table for _, change in changes for table in version_keys(change.lease)}
        versions = {table: self._versions.get(table, "") for table in touched}
        told = [change.told(versions) if epoch == self._epoch else None for epoch, change in changes]
        text = json.dumps([one.words for one in told if one is not None], separators=(",", ":"))
        try:
            answer = await self._ask(self._change, self._epoch, text)
        except ResponseError as error:
            if not _is_full(error) or all(isinstance(change, ReleaseRequest) for _, change in changes):
                raise
            return await self._send_what_frees(changes)
        self._expect("CHANGED", answer)
        answers = iter(json.loads(answer[1]))
        return [
            _over(epoch) if sent is None else self._outcome(change, sent, next(answers), versions)
            for (epoch, change), sent in zip(changes, told, strict=True)
        ]

    async def _send_what_frees(
        self, changes: Sequence[tuple[int, GrantRequest | ReleaseRequest]]
    ) -> Sequence[Any]:
        """Sends the releases of a request that a full Redis has refused, which changed nothing, because of a grant among them."""
        releases = [one for one in changes if isinstance(one[1], ReleaseRequest)]
        done = iter(await self._send(releases) if releases else ())
        return [
            next(done)
            if isinstance(change, ReleaseRequest)
            else FullError("its memory has reached maxmemory")
            for _, change in changes
        ]

    def _outcome(
        self,
        change: GrantRequest | ReleaseRequest,
        sent: LeaseChange,
        answer: Sequence[str],
        versions: Mapping[str, str],
    ) -> Any:
        try:
            if isinstance(change, GrantRequest):
                return self._granted(change, sent, answer)
            self._released(change, sent, answer, versions)
        except (ForgottenError, RefusedError) as error:
            return error
        return None

    def _granted(self, change: GrantRequest, sent: LeaseChange, answer: Sequence[str]) -> Grant:
        lease = change.lease
        match answer[0]:
            case "GRANTED":
                grant = Grant(lease, token_in(answer[1]), change.reach)
                self._check_token(grant)
                self._versions |= sent.left
                self._last_token = max(grant.token, self._last_token)
                self._note(_Held(grant, sent.request))
                return grant
            case "OTHER":
                raise RefusedError(
                    f"{lease.job} holds a lease of attempt {lease.attempt} that was granted to another request, "
                    f"under the token {token_in(answer[1])}"
                )
            case "HELD":
                raise TakenError(f"{lease.job}: {answer[1]} is held by {answer[2]}, as Redis tells")
            case _:
                raise _stale(lease, answer[1])

    def _released(
        self, change: ReleaseRequest, sent: LeaseChange, answer: Sequence[str], versions: Mapping[str, str]
    ) -> None:
        """`versions`: those that all changes of the request leave."""
        for table, version in zip(version_keys(change.lease), answer, strict=True):
            if version != versions[table]:
                raise _stale(change.lease, table)
        self._versions |= sent.left
        self._drop(change.lease)

    async def note_beat(self, beat: int) -> None:
        """Notes how far the leader has come, by its Lease object."""
        self._expect("NOTED", await self._ask(self._beat, self._epoch, beat))

    async def note_learned(self) -> None:
        """Notes for a next leader what was learned."""
        while self._learned:
            some = list(islice(self._learned, _AT_ONCE))
            told = {holder: self._held[holder].grant for holder in some if holder in self._held}
            arguments: list[str] = []
            for holder, grant in told.items():
                if grant.reach is not None:
                    arguments += [holder, token_text(grant.token), grant.reach.to_json()]
            self._expect("NOTED", await self._ask(self._reach, self._epoch, *arguments))
            for holder in some:
                held = self._held.get(holder)
                if held is None or held.grant is told.get(holder):  # else it was learned meanwhile
                    self._learned.pop(holder, None)

    def _expect(self, wanted: str, answer: Sequence[str]) -> None:
        if answer[0] != wanted:
            raise ForgottenError(f"Redis serves epoch {answer[1] or 'none'}, not {self._epoch}")

    async def _ask(self, script: AsyncScript, epoch: int, *arguments: str | int) -> Sequence[str]:
        answer: list[str] = await script(keys=self._keys.all, args=[epoch, self._installation, *arguments])
        self._refuse_others(answer)
        return answer

    def _refuse_others(self, answer: Sequence[str]) -> None:
        if answer[0] == "INSTALLATION" and answer[1] != self._installation:
            raise OtherInstallationError(
                f"Redis keeps the leases of installation {answer[1]} under {self._keys.prefix}, and this is installation "
                f"{self._installation}: give each a deployment name or a Redis database of its own, or, if "
                f"{answer[1]} is gone for good, take over its leases with `sluice adopt`"
            )

    def _check_token(self, grant: Grant) -> None:
        """Checks the token: whoever asks again has the first token, and nobody else has it."""
        held = self._held.get(grant.lease.holder)
        known = held.grant if held is not None else None
        if known is None and grant.token <= self._last_token:
            raise StaleError(f"Redis gave token {grant.token} a second time: it forgot what came after")
        if known is not None and (known.token, known.lease.hash) != (grant.token, grant.lease.hash):
            raise StaleError(
                f"Redis gave {grant.lease.job} token {grant.token} for attempt {grant.lease.attempt}, which has token "
                f"{known.token}: it forgot what it had granted"
            )

    async def _current_run_id(self) -> str:
        return str((await self._redis.info("server"))["run_id"])
