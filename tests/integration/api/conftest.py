"""The API server as the tests of the resources ask it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes import client

from integration.api.server import Server
from integration.connection import connected


@pytest.fixture(scope="session")
def resources(kubeconfig: Path) -> Iterator[client.CustomObjectsApi]:
    with connected(kubeconfig) as connection:
        yield client.CustomObjectsApi(connection)


@pytest.fixture
def server(resources: client.CustomObjectsApi, namespace: str) -> Server:
    return Server(resources, namespace)
