"""The one way to a Redis: a client of what an endpoint says, whose password is read anew and whose master is looked up anew for
each connection."""

from pathlib import Path
from typing import Any, TypeVar, cast

from redis.asyncio import Connection, ConnectionPool, Redis, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.exceptions import RedisError

from sluice.leases.endpoint import Endpoint, EndpointError, Server
from sluice.leases.sentinels import SentinelPool, Sentinels

R = TypeVar("R", bound=Redis)
ONCE = Retry(NoBackoff(), 0)
SENTINELS_PATIENCE = 1.0
"""Seconds, because they are asked one after another, and each answers from what it has in memory."""


class NoPasswordError(RedisError):
    """The file that should have the password has none."""


class PasswordFile(CredentialProvider):
    """Reads the password for each connection, so that a changed one needs no restart. It is used unchanged: a line break at its end
    is part of it."""

    def __init__(self, path: str, user: str | None) -> None:
        self._path = Path(path)
        self._user = user

    def get_credentials(self) -> tuple[str] | tuple[str, str]:
        try:
            password = self._path.read_bytes().decode()
        except OSError as error:
            raise self._without(f"cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise self._without("is not UTF-8 text") from error
        if not password:
            raise self._without("is empty")
        return (password,) if self._user is None else (self._user, password)

    async def get_credentials_async(self) -> tuple[str] | tuple[str, str]:
        return self.get_credentials()

    def _without(self, why: str) -> NoPasswordError:
        return NoPasswordError(
            f"the password file {self._path} {why}; put the password there, and the next connection reads it"
        )


def client(endpoint: Endpoint, kind: type[R], *, patience: float, retry: Retry = ONCE) -> R:
    """`patience`: the seconds to wait for an answer, where the endpoint doesn't say. Raises EndpointError if a file that it names
    is not there."""
    for option, path in endpoint.tls_files.items():
        if not Path(path).exists():
            raise EndpointError(f"has the option {option}, and {path} is not there")
    redis: dict[str, Any] = {"db": endpoint.database, "decode_responses": True, "retry": retry}
    pool = _pool(endpoint, _waits(endpoint, patience) | _login(endpoint) | redis)
    return cast("R", kind.from_pool(pool))


def _pool(endpoint: Endpoint, settings: dict[str, Any]) -> ConnectionPool:
    if endpoint.socket is not None:
        return ConnectionPool(UnixDomainSocketConnection, path=endpoint.socket, **settings)
    if endpoint.master is not None:
        encrypted = {} if endpoint.tls is None else {"ssl": True, **endpoint.tls}
        login = _login(endpoint) if endpoint.sentinel_auth else {}
        asked = {"retry": ONCE, **_waits(endpoint, SENTINELS_PATIENCE), **encrypted, **login}
        servers = map(_address, endpoint.servers)
        sentinels = Sentinels(servers, asked_with=asked, has_login=endpoint.sentinel_auth)
        return SentinelPool(endpoint.master, sentinels, **encrypted, **settings)  # type: ignore[no-untyped-call]
    host, port = _address(endpoint.servers[0])
    kind = Connection if endpoint.tls is None else SSLConnection
    return ConnectionPool(kind, host=host, port=port, **settings | dict(endpoint.tls or {}))


def _waits(endpoint: Endpoint, patience: float) -> dict[str, float]:
    return {"socket_timeout": patience, "socket_connect_timeout": patience, **endpoint.patience}


def _login(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.password_file is not None:
        return {"credential_provider": PasswordFile(endpoint.password_file, endpoint.user)}
    return {"username": endpoint.user, "password": endpoint.password}


def _address(server: Server) -> tuple[str, int]:
    return server.host.strip("[]"), server.port
