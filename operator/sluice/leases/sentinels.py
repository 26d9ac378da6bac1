"""Sentinels that say why they name no master, and are closed together with the client that asks them."""

from collections.abc import Iterable
from typing import Any

from redis import exceptions
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool


class Sentinels(Sentinel):
    def __init__(
        self, servers: Iterable[tuple[str, int]], *, asked_with: dict[str, Any], has_login: bool
    ) -> None:
        """`asked_with`: what connections to them are made with; `has_login`: whether a login is among that."""
        super().__init__(servers, sentinel_kwargs=asked_with)  # type: ignore[no-untyped-call]
        self._has_login = has_login

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        """The master's address; or what each Sentinel said instead of it, of which redis-py tells less."""
        said = []
        for sentinel in list(self.sentinels):
            server = sentinel.connection_pool.connection_kwargs
            try:
                masters: dict[str, Any] = await sentinel.sentinel_masters()  # type: ignore[assignment]
            except exceptions.AuthenticationError as error:
                cure = "correct it" if self._has_login else "set sentinel_auth=1 if it is that of Redis"
                why = f"refuses the login ({error}): {cure}"
            except (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ResponseError) as error:
                why = f"does not tell ({error})"
            else:
                state = masters.get(service_name)
                if state is not None and self.check_master_state(state, service_name):
                    self.sentinels.remove(sentinel)
                    self.sentinels.insert(0, sentinel)  # the next time it is asked first
                    return state["ip"], state["port"]
                known = ", ".join(sorted(masters)) or "none"
                why = f"knows no such master, but {known}" if state is None else "says that it is down"
            said.append(f"{server['host']}:{server['port']} {why}")
        raise MasterNotFoundError(f"no Sentinel names a master called {service_name}: {'; '.join(said)}")


class SentinelPool(SentinelConnectionPool):
    async def aclose(self) -> None:
        await super().aclose()
        await self.sentinel_manager.aclose()
