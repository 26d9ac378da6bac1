"""The operator's Redis client, which gives up soon and counts its calls."""

from collections.abc import Callable
from hashlib import sha1
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff

from sluice.controller.process.configuration import ConfigError
from sluice.leases import scripts
from sluice.leases.clients import client
from sluice.leases.endpoint import Endpoint, EndpointError

PATIENCE = 3.0

Asked = Callable[[str, str], None]
"""Called with what was asked, and what came of it."""

_SCRIPTS = {
    sha1(text.encode(), usedforsecurity=False).hexdigest(): name.lower()
    for name, text in vars(scripts).items()
    if name.isupper() and not name.startswith("_")
}
"""Scripts by the name that Redis knows them by."""


class CountedRedis(Redis):
    asked: Asked = staticmethod(lambda _call, _outcome: None)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        call = _SCRIPTS.get(str(args[1]), "script") if args[0] == "EVALSHA" else str(args[0]).lower()
        try:
            answer = await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except Exception as error:
            self.asked(call, type(error).__name__)
            raise
        is_told = args[0] == "EVALSHA" and isinstance(answer, list) and bool(answer)
        self.asked(call, str(answer[0]) if is_told else "ok")
        return answer


def connected(endpoint: Endpoint, asked: Asked) -> CountedRedis:
    """Raises ConfigError if a file that the endpoint names is not there."""
    retry = Retry(ExponentialBackoff(cap=0.5, base=0.05), 2)
    try:
        counted = client(endpoint, CountedRedis, patience=PATIENCE, retry=retry)
    except EndpointError as error:
        raise ConfigError(f"redisUrl {error}") from error
    counted.asked = asked
    return counted
