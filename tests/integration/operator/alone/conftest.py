"""A control plane for each module alone: nobody else could go on without what its tests take away, or beside what they leave."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes import client

from devenv.stack import Stack
from integration.connection import connected
from integration.shared_stack import unshared_stack


@pytest.fixture(scope="module")
def own_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with unshared_stack(tmp_path_factory.mktemp("stack")) as stack:
        yield stack


@pytest.fixture(scope="module")
def kubeconfig(own_stack: Stack) -> Path:
    return own_stack.kubeconfig


@pytest.fixture(scope="module")
def api(kubeconfig: Path) -> Iterator[client.ApiClient]:
    with connected(kubeconfig) as connection:
        yield connection
