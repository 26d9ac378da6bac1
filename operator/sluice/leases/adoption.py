"""A lease table that passes from one installation to another, because the first is gone for good."""

from redis.asyncio import Redis

from sluice.leases import scripts
from sluice.leases.former import Former
from sluice.leases.keys import Keys


class AdoptedMeanwhileError(Exception):
    """It is neither whose it was when it was looked at, nor ours."""


async def adopt(redis: "Redis", keys: Keys, seen: Former, installation: str) -> None:
    """Whoever leads the former installation is refused from now on; the next rebuild holds what nothing explains."""
    script = redis.register_script(scripts.ADOPT)
    answer = await script(keys=keys.all, args=[seen.installation or "", installation])
    if answer[0] != "ADOPTED":
        raise AdoptedMeanwhileError(
            f"it is {answer[1] or 'nobody'}'s now, and was {seen.installation or 'nobody'}'s a moment ago"
        )
