"""Redis as it is seen from here, where somebody says how it can be reached."""

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from sluice.leases.endpoint import Endpoint
from sluice.leases.fitness import EVICTS_NOTHING, unfit
from sluice.leases.keys import Keys
from sluice.leases.refusals import REFUSALS, cure_of, refused
from sluice.leases.stored_state import former
from sluice.online.access.connection import OF_URL, Installation, endpoint_of, redis_of
from sluice.online.access.errors import OnlineError
from sluice.online.doctor.findings import Finding, fail, ok, warn

_READ = "see the section Redis of docs/operations.md"


async def redis_findings(at: Installation, url: str | None) -> list[Finding]:
    if url is None:
        message = "it was not asked: the condition LeaseTableUsable tells what the operator finds"
        there = f"kubectl -n {at.namespace} exec deployment/{at.deployment} -- sluice doctor --namespace {at.namespace}"
        cure = f"give --redis-url or SLUICE_REDIS_URL, if it can be reached from here; else ask in the operator's pod: {there}"
        return [warn("redis", "", message, cure)]
    named = Installation(at.namespace, at.deployment, url)
    try:
        endpoint = endpoint_of(named)
    except OnlineError as error:
        return [fail("redis", "--redis-url", str(error), "correct --redis-url, or what the sentence names")]
    try:
        async with redis_of(named) as redis:
            return await _found(redis, endpoint, Keys(at.deployment))
    except OnlineError as error:
        return [fail("redis", endpoint.address, str(error), "start it, or correct --redis-url")]


async def _found(redis: "Redis", endpoint: Endpoint, keys: Keys) -> list[Finding]:
    where = endpoint.address
    try:
        info = await redis.info()
        why = unfit(info)
        if why is not None:
            return [fail("redis", where, why, _READ)]
        seen = await former(redis, keys)
    except REFUSALS as error:
        return [
            fail("redis", where, f"it {refused(error, endpoint)}", cure_of(error, endpoint, of_url=OF_URL))
        ]
    except (ResponseError, ValueError) as error:
        return [fail("redis", where, str(error), _READ)]
    found = [
        ok(
            "redis",
            where,
            f"it answers, and can keep leases: version {info['redis_version']}, {EVICTS_NOTHING}",
        )
    ]
    if seen.installation is None:
        found.append(warn("redis", where, f"it keeps no leases of a deployment {keys.deployment} yet"))
    else:
        found.append(ok("redis", where, f"it keeps the leases of installation {seen.installation}"))
    return found
