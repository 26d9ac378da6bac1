"""Every way to a Redis that a URL can name, on a real one: sockets, TLS, users, and passwords that change."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis import Redis as SyncRedis
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, NoPermissionError
from redis.exceptions import ConnectionError as NoConnectionError

from devenv.redis import ensure_redis_server
from devenv.toolchain import cache
from integration.leases.redis_process import RedisProcess, running_redis
from integration.leases.tls_proxy import Certificates, issued, tls_before
from sluice.leases import Grant, Lease, LeaseStore
from sluice.leases.clients import NoPasswordError, client
from sluice.leases.endpoint import Endpoint, EndpointError
from sluice.leases.keys import Keys
from sluice.leases.refusals import refused

LEASE = Lease("a", 1, "h", "etl/a", ("file:/t",))
RIGHTS = (
    "~sluice:{test}:*", "-@all", "+info", "+select", "+get", "+mget", "+set", "+del", "+incr", "+hget", "+hgetall", "+hlen",
    "+hset", "+hdel", "+evalsha", "+script|load",
)  # fmt: skip


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[RedisProcess]:
    """A Redis that lets in only the user `writer`, and an administrator."""
    with running_redis(ensure_redis_server(cache()), tmp_path / "secured") as process:
        with process.client() as asked:
            asked.execute_command("ACL", "SETUSER", "admin", "on", ">admin", "~*", "&*", "+@all")
            asked.execute_command("ACL", "SETUSER", "writer", "on", ">first", *RIGHTS)
            asked.execute_command("ACL", "SETUSER", "default", "off")
        yield process


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issued(tmp_path_factory.mktemp("tls") / "certificates")


@asynccontextmanager
async def asked(url: str) -> AsyncIterator[Redis]:
    redis = client(Endpoint.of(url), Redis, patience=5)
    try:
        yield redis
    finally:
        await redis.aclose()


async def grants_and_releases(redis: Redis, epoch: int = 1) -> None:
    """All that a leader asks of Redis."""
    store = LeaseStore(redis, "test", "cluster/ns/test")
    await store.check_fitness()
    await store.rebuild(epoch, [])
    granted = await store.grant(LEASE)
    await store.note_beat(1)
    await store.note_learned()
    await store.check_memory()
    assert (await store.former()).grants == [Grant(LEASE, granted.token)]
    await store.release(LEASE)
    assert (await store.former()).grants == []


def change_password(server: RedisProcess, password: str) -> None:
    with SyncRedis(port=server.port, username="admin", password="admin") as redis:
        redis.execute_command("ACL", "SETUSER", "writer", "resetpass", f">{password}")


async def test_a_socket_of_the_machine(tmp_path: Path) -> None:
    socket = tmp_path / "redis.sock"
    with running_redis(ensure_redis_server(cache()), tmp_path / "redis", unixsocket=str(socket)):
        async with asked(f"unix://{socket}?db=2") as redis:
            await grants_and_releases(redis)
            assert "db2" in await redis.info("keyspace")


async def test_tls_by_the_authority_that_the_url_names_and_no_other(
    server: RedisProcess, certificates: Certificates
) -> None:
    async with tls_before(server.port, certificates) as port:
        url = f"rediss://127.0.0.1:{port}"
        async with asked(f"{url}?ssl_ca_certs={certificates.authority}") as redis:
            await grants_and_releases(redis)
        async with asked(url) as redis:
            with pytest.raises(NoConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
                await redis.ping()
        async with asked(f"rediss://localhost:{port}?ssl_ca_certs={certificates.authority}") as redis:
            with pytest.raises(NoConnectionError, match="localhost"):
                await redis.ping()
        async with asked(
            f"rediss://localhost:{port}?ssl_ca_certs={certificates.authority}&ssl_check_hostname=0"
        ) as redis:
            assert await redis.ping()


async def test_tls_with_a_certificate_of_the_clients_own(
    server: RedisProcess, certificates: Certificates
) -> None:
    async with tls_before(server.port, certificates, wants_client=True) as port:
        url = f"rediss://127.0.0.1:{port}?ssl_ca_certs={certificates.authority}"
        own = f"ssl_certfile={certificates.client}&ssl_keyfile={certificates.client_key}"
        async with asked(f"{url}&{own}") as redis:
            await grants_and_releases(redis)
        async with asked(url) as redis:
            with pytest.raises(NoConnectionError):
                await redis.ping()


def test_a_file_of_tls_that_is_not_there_is_named_before_anything_is_asked(tmp_path: Path) -> None:
    absent = tmp_path / "ca.crt"
    with pytest.raises(EndpointError, match=f"ssl_ca_certs, and {absent} is not there"):
        client(Endpoint.of(f"rediss://h?ssl_ca_certs={absent}"), Redis, patience=1)


async def test_a_user_needs_no_other_rights_than_the_documented_ones(secured: RedisProcess) -> None:
    async with asked(f"redis://writer:first@127.0.0.1:{secured.port}/0") as redis:
        await grants_and_releases(redis)
        with pytest.raises(NoPermissionError):
            await redis.keys("*")
        with pytest.raises(NoPermissionError):
            await redis.set("others", "key")


def test_the_documented_rights_are_those_of_the_test() -> None:
    text = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")
    asked_for = " ".join(RIGHTS).replace("{test}", "{sluice}")
    assert f"ACL SETUSER sluice on >PASSWORD {asked_for}" in " ".join(text.split())
    assert Keys("test").prefix == "sluice:{test}"


async def test_a_password_that_changes_in_its_file_lets_the_next_connection_in(
    secured: RedisProcess, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text("first", encoding="utf-8")
    endpoint = Endpoint.of(f"redis://writer@127.0.0.1:{secured.port}/0?password_file={file}")
    redis = client(endpoint, Redis, patience=5)
    await grants_and_releases(redis)
    change_password(secured, "second")
    assert await redis.get(Keys("test").epoch) == "1"  # who is in, stays in
    await redis.connection_pool.disconnect()
    with pytest.raises(AuthenticationError) as error:
        await redis.ping()
    assert refused(error.value, endpoint).startswith(f"refuses user writer with the password in {file} (")
    file.write_text("second", encoding="utf-8")
    await grants_and_releases(redis, epoch=2)
    await redis.aclose()


async def test_a_password_is_the_whole_file(secured: RedisProcess, tmp_path: Path) -> None:
    file = tmp_path / "password"
    password = " two\r\nlines, pässwörd-🔑\n"
    file.write_bytes(password.encode())
    change_password(secured, password)
    async with asked(f"redis://writer@127.0.0.1:{secured.port}/0?password_file={file}") as redis:
        await grants_and_releases(redis)


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "cannot be read: No such file"), (b"", "is empty"), (b"\xff", "is not UTF-8 text")],
)
async def test_a_file_without_a_password_is_named(
    server: RedisProcess, tmp_path: Path, content: bytes | None, says: str
) -> None:
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
    async with asked(f"{server.url}?password_file={file}") as redis:
        with pytest.raises(NoPasswordError, match=f"the password file {file} {says}"):
            await redis.ping()


async def test_what_a_user_may_not_is_told_with_the_user(secured: RedisProcess) -> None:
    endpoint = Endpoint.of(f"redis://writer:first@127.0.0.1:{secured.port}/0")
    with SyncRedis(port=secured.port, username="admin", password="admin") as admin:
        admin.execute_command("ACL", "SETUSER", "writer", "-info")
    redis = client(endpoint, Redis, patience=5)
    with pytest.raises(NoPermissionError) as error:
        await LeaseStore(redis, "test", "cluster/ns/test").check_fitness()
    await redis.aclose()
    assert refused(error.value, endpoint).startswith("does not let user writer do what is needed (")
    assert "info" in str(error.value)
