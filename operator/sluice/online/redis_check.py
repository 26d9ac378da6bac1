"""Redis as it is seen from here, where somebody says how it can be reached."""

from redis.exceptions import AuthenticationError, RedisError

from sluice.installations.claims import redis_address
from sluice.leases.former import former
from sluice.leases.keys import Keys
from sluice.online.connection import Installation, redis_of
from sluice.online.errors import OnlineError
from sluice.online.findings import Finding, fail, ok, warn

_POLICY = "noeviction"


async def redis_findings(at: Installation, url: str | None) -> list[Finding]:
    if url is None:
        message = "it was not asked: the condition LeaseTableUsable tells what the operator finds"
        there = f"kubectl -n {at.namespace} exec deployment/{at.deployment} -- sluice doctor --namespace {at.namespace}"
        cure = f"give --redis-url or SLUICE_REDIS_URL, if it can be reached from here; else ask in the operator's pod: {there}"
        return [warn("redis", "", message, cure)]
    where = redis_address(url)
    try:
        async with redis_of(Installation(at.namespace, at.deployment, url)) as redis:
            try:
                settings = await redis.config_get("maxmemory-policy")
                seen = await former(redis, Keys(at.deployment))
            except AuthenticationError as error:
                return [
                    fail(
                        "redis",
                        where,
                        f"it refuses the user name or the password: {error}",
                        "correct the one in --redis-url, or SLUICE_REDIS_PASSWORD",
                    )
                ]
            except (RedisError, ValueError) as error:
                return [fail("redis", where, str(error), "see the section Redis of docs/operations.md")]
    except OnlineError as error:
        return [fail("redis", where, str(error), "start it, or correct --redis-url")]
    policy = settings.get("maxmemory-policy")
    found = [
        ok("redis", where, f"it answers, and maxmemory-policy is {_POLICY}")
        if policy == _POLICY
        else fail(
            "redis",
            where,
            f"maxmemory-policy is {policy}, so that leases may be evicted",
            f"set it to {_POLICY}",
        )
    ]
    if seen.installation is None:
        found.append(warn("redis", where, f"it keeps no leases of a deployment {at.deployment} yet"))
    else:
        found.append(ok("redis", where, f"it keeps the leases of installation {seen.installation}"))
    return found
