"""The lease table as Redis has it."""

from typing import Any

from sluice.leases import Grant, LeaseStore
from sluice.online.connection import Installation, redis_of
from sluice.online.errors import OnlineError


async def held(at: Installation) -> list[Grant]:
    async with redis_of(at) as redis:
        try:
            return sorted(await LeaseStore(redis, at.deployment).holders(), key=lambda grant: grant.token)
        except ValueError as error:
            raise OnlineError(f"Redis: a lease of {at.deployment} can't be read: {error}") from error


def plain(grant: Grant) -> dict[str, Any]:
    lease = grant.lease
    return {
        "holder": lease.holder,
        "job": lease.job,
        "attempt": lease.attempt,
        "token": grant.token,
        "tables": list(lease.tables),
    }
