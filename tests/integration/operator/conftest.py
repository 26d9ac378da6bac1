"""An operator for each test that does something to it, and one that the others share."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from devenv.redis import ensure_redis_server
from devenv.toolchain import cache
from integration.connection import connected
from integration.leases.redis_process import RedisProcess, running_redis
from integration.objects import Objects, Server
from integration.operator.played import Played
from integration.operator.process import OperatorProcess, configuration

StartOperator = Callable[..., OperatorProcess]


@pytest.fixture(scope="session")
def redis_program() -> Path:
    return ensure_redis_server(cache())


@pytest.fixture(scope="session")
def api(kubeconfig: Path) -> Iterator[client.ApiClient]:
    with connected(kubeconfig) as connection:
        yield connection


@pytest.fixture(scope="session")
def operator_logs() -> list[Path]:
    return []


@pytest.fixture(autouse=True)
def what_operators_say_is_shown_with_a_failure(operator_logs: list[Path]) -> Iterator[None]:
    """Shows only what they say during this test."""
    before = {log: log.stat().st_size for log in operator_logs}
    yield
    for log in operator_logs:
        said = log.read_bytes()[before.get(log, 0) :] if log.exists() else b""
        if said:
            print(f"{log.name}:\n{said.decode(errors='backslashreplace')}")


@pytest.fixture
def redis(redis_program: Path, tmp_path: Path) -> Iterator[RedisProcess]:
    with running_redis(redis_program, tmp_path / "redis") as process:
        yield process


@pytest.fixture
def cluster(api: client.ApiClient, objects: Objects, redis: RedisProcess) -> Played:
    return Played(api, objects, redis.url)


@pytest.fixture
def operators(
    kubeconfig: Path, namespace: str, redis: RedisProcess, operator_logs: list[Path], tmp_path: Path
) -> Iterator[StartOperator]:
    """Starts operators of the test's own namespace; those that still run at the end are killed."""
    started: list[OperatorProcess] = []

    def start(
        name: str = "operator",
        *,
        environment: dict[str, str] | None = None,
        imports_itself: bool = False,
        **more: Any,
    ) -> OperatorProcess:
        config = configuration([namespace], redis.url) | more
        operator = OperatorProcess(
            kubeconfig, config, tmp_path, name, environment or {}, imports_itself=imports_itself
        )
        operator.start()
        started.append(operator)
        operator_logs.append(operator.log)
        return operator

    yield start
    for operator in started:
        operator.kill()


@pytest.fixture
def operator(operators: StartOperator) -> OperatorProcess:
    """One that leads and has built its lease table."""
    started = operators()
    started.says("the lease table was rebuilt")
    return started


@pytest.fixture(scope="session")
def shared(
    api: client.ApiClient,
    kubeconfig: Path,
    redis_program: Path,
    operator_logs: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Played]:
    """A cluster with an operator that serves many tests: each brings its own tables and names."""
    folder = tmp_path_factory.mktemp("shared")
    with running_redis(redis_program, folder / "redis") as redis:
        objects = Objects(Server.of(kubeconfig), f"shared-{uuid.uuid4().hex[:10]}")
        objects.create_namespace()
        operator = OperatorProcess(kubeconfig, configuration([objects.namespace], redis.url), folder)
        cluster = Played(api, objects, redis.url, operator.log)
        operator.start()
        operator_logs.append(operator.log)
        try:
            operator.says("the lease table was rebuilt")
            yield cluster
            assert operator.running, operator.told()[-3000:]
        finally:
            operator.kill()
            objects.leave_namespace()
