"""Tests of the stack kill parts of it: they have one of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from devenv.stack import Stack
from integration.conftest import Kubectl
from integration.shared_stack import unshared_stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One for the folder's modules: their tests leave it whole."""
    with unshared_stack(tmp_path_factory.mktemp("stack")) as stack:
        yield stack


@pytest.fixture(scope="session")
def kubeconfig(stack: Stack) -> Path:
    return stack.kubeconfig


@pytest.fixture(scope="session")
def kubectl(stack: Stack) -> Kubectl:
    return Kubectl(stack.kubectl, stack.kubeconfig)


@pytest.fixture
def redis_url(stack: Stack) -> str:
    """The stack's Redis, emptied, scripts included, and running, whatever the last test did to it."""
    stack.redis.thaw()
    stack.redis.start()
    with Redis.from_url(stack.redis_url) as client:
        client.flushall()
        client.script_flush()
    return stack.redis_url
