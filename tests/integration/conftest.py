"""The local stack as fixtures: one for the whole session, a Kubernetes namespace and an empty Redis for each test."""

import json
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis import Redis

from devenv.processes import wait_until
from devenv.stack import Stack
from devenv.toolchain import cache, ensure_stack_tools


@dataclass(frozen=True)
class Kubectl:
    """The real kubectl, with the stack's kubeconfig."""

    program: Path
    kubeconfig: Path

    def __call__(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Runs it; the caller looks at returncode, stdout and stderr."""
        return subprocess.run(
            [str(self.program), f"--kubeconfig={self.kubeconfig}", *arguments],
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def json(self, *arguments: str) -> dict[str, object]:
        """What `kubectl ... -o json` printed; the test fails with kubectl's own words."""
        done = self(*arguments, "-o", "json")
        assert done.returncode == 0, done.stderr
        content: dict[str, object] = json.loads(done.stdout)
        return content


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """etcd, kube-apiserver, kube-controller-manager and Redis on ports of their own, with the project's CRDs."""
    with Stack(tmp_path_factory.mktemp("stack"), ensure_stack_tools(cache())) as running:
        yield running


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


@pytest.fixture
def namespace(kubectl: Kubectl) -> Iterator[str]:
    """A namespace in which pods can be created: its default service account is there."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    created = kubectl("create", "namespace", name)
    assert created.returncode == 0, created.stderr
    has_account = wait_until(
        lambda: kubectl("get", "serviceaccount", "default", "-n", name).returncode == 0, 90
    )
    assert has_account, f"namespace {name} got no default service account"
    yield name
    deleted = kubectl("delete", "namespace", name, "--wait=false")
    assert deleted.returncode == 0, deleted.stderr
