"""The lease table as Redis has it."""

from typing import Any

from sluice.leases import Grant
from sluice.leases.former import former
from sluice.leases.keys import Keys
from sluice.online.connection import Installation, redis_of
from sluice.online.errors import OnlineError


async def held(at: Installation) -> list[Grant]:
    async with redis_of(at) as redis:
        try:
            found = (await former(redis, Keys(at.deployment))).grants
        except ValueError as error:
            raise OnlineError(f"Redis: {error}") from error
    return sorted(found, key=lambda grant: grant.token)


def plain(grant: Grant) -> dict[str, Any]:
    lease = grant.lease
    return {
        "holder": lease.holder,
        "job": lease.job,
        "attempt": lease.attempt,
        "token": grant.token,
        "tables": list(lease.tables),
    }
