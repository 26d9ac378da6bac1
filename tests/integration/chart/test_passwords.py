"""A password of any characters lets the chart's probe and the operator into the chart's Redis, and nobody without it: a real
Redis, started and probed as the chart says."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis.exceptions import AuthenticationError

from devenv.ports import accepts, free_ports
from devenv.redis import ensure_redis_server
from devenv.toolchain import cache
from integration.chart.helm import RELEASE, Helm, one
from integration.waiting import eventually
from sluice.api.base import Json
from sluice.controller.process.redis_client import connected
from sluice.leases.endpoint import Endpoint, with_password

PASSWORDS = [
    *("plain", "a/b?c#d@e%f:g[h]&i=j", "%41%", "#begins", "two words", " blanks around "),
    *('"double"', "'single'", "'\"", "back\\slash\\n", "$HOME `id` $(id) *", "-", "-x", "--port", "--port 1"),
    *("pässwörd-密码-🔑", "of a file\n", "\r\nof\ttwo\nlines", "x" * 600),
]


@dataclass(frozen=True)
class Started:
    process: subprocess.Popen[str]
    port: int
    environment: dict[str, str]


@pytest.fixture(scope="module")
def container(helm: Helm) -> Json:
    template = one(helm.rendered("anywhere"), "StatefulSet", f"{RELEASE}-redis")["spec"]["template"]
    [container] = template["spec"]["containers"]
    assert isinstance(container, dict)
    return container


@pytest.fixture
def redis(request: pytest.FixtureRequest, helm: Helm, container: Json, tmp_path: Path) -> Iterator[Started]:
    [port] = free_ports(1)
    programs = tmp_path / "bin"
    programs.mkdir()
    server = ensure_redis_server(cache())
    (programs / "redis-server").symlink_to(server)
    cli = programs / "redis-cli"
    cli.write_text(f'#!/bin/sh\nexec {server.with_name("redis-cli")} -p {port} "$@"\n', encoding="utf-8")
    cli.chmod(0o755)
    given = one(helm.rendered("anywhere"), "ConfigMap", f"{RELEASE}-redis")["data"]["redis.conf"]
    own = given.replace("bind * -::*", "bind 127.0.0.1").replace("port 6379", f"port {port}")
    conf = tmp_path / "redis.conf"
    conf.write_text(own.replace("dir /data", f"dir {tmp_path}"), encoding="utf-8")
    environment = {"REDISCLI_AUTH": request.param, "PATH": f"{programs}:{os.environ['PATH']}"}
    command = [word.replace("/etc/redis/redis.conf", str(conf)) for word in container["command"]]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield Started(process, port, environment)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("redis", PASSWORDS, indirect=True)
def test_a_password_of_any_characters_is_that_of_the_charts_redis(
    redis: Started, container: Json, tmp_path: Path
) -> None:
    eventually(lambda: accepts(redis.port) or redis.process.poll() is not None, "Redis listens, or has ended")
    assert redis.process.poll() is None, redis.process.communicate()[0]
    password = redis.environment["REDISCLI_AUTH"]
    if len(password) > 1:
        assert password not in Path(f"/proc/{redis.process.pid}/cmdline").read_text(encoding="utf-8")
    probe = container["readinessProbe"]["exec"]["command"]
    assert subprocess.run(probe, env=redis.environment, check=False).returncode == 0
    assert subprocess.run(probe, env=redis.environment | {"REDISCLI_AUTH": "another"}, check=False).returncode

    plain = f"redis://127.0.0.1:{redis.port}/0"
    mounted = tmp_path / "password"
    mounted.write_bytes(password.encode())
    with_file = with_password(plain, password="", file=str(mounted))
    assert asyncio.run(_writes(with_file))
    assert asyncio.run(_writes(with_password(plain, password=password, file="")))
    mounted.write_bytes(b"another")
    for refused in (plain, with_file):
        with pytest.raises(AuthenticationError):
            asyncio.run(_writes(refused))


async def _writes(url: str) -> bool:
    async with connected(Endpoint.of(url), lambda _call, _outcome: None) as redis:
        return bool(await redis.set("some", "thing"))
