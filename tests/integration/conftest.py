"""The local stack as fixtures: one for the whole run, and for each test a Kubernetes namespace of its own."""

import json
import os
import subprocess
import uuid
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdist.remote import Producer

from devenv.stack import Stack
from devenv.toolchain import cache, ensure_stack_tools
from integration import evidence, spreading
from integration.objects import Objects, Server
from integration.shared_stack import Access, SharedStack, folder_of_the_run

HERE = Path(__file__).parent
TEST_SECONDS = 600
SHARED_STACK = pytest.StashKey[SharedStack]()


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
            timeout=120,
        )

    def typed(self, line: str, home: Path) -> subprocess.CompletedProcess[str]:
        """Runs a line of a shell, as people type it; it may write below `home`."""
        environment = {
            "HOME": str(home),
            "KUBECONFIG": str(self.kubeconfig),
            "PATH": f"{self.program.parent}{os.pathsep}{os.environ['PATH']}",
        }
        return subprocess.run(
            ["sh", "-c", line], env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    def json(self, *arguments: str) -> dict[str, object]:
        """What `kubectl ... -o json` printed; the test fails with kubectl's own words."""
        done = self(*arguments, "-o", "json")
        assert done.returncode == 0, done.stderr
        content: dict[str, object] = json.loads(done.stdout)
        return content


@dataclass(frozen=True)
class OwnObjects(Objects):
    """What a failed test's namespace holds is told with the failure."""

    def evidence(self) -> Iterator[evidence.Part]:
        return evidence.resources(self)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> spreading.Spreading | None:
    return spreading.scheduler(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Waits end with words of their own, so the time of a test is longer than that of any wait."""
    for item in items:
        if item.path.is_relative_to(HERE) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))
    if hasattr(config, "workerinput"):
        spreading.longest_files_first(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    evidence.write(item, report)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Not within the time of the last test: other processes may still use the stack for long."""
    shared = session.config.stash.get(SHARED_STACK, None)
    if shared is not None:
        shared.release()


@pytest.fixture(scope="session")
def stack(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Access:
    """etcd, kube-apiserver, kube-controller-manager with the project's CRDs: shared by all tests of all processes."""
    folder = folder_of_the_run(pytestconfig, tmp_path_factory) / "shared-stack"
    tools = ensure_stack_tools(cache())
    shared = SharedStack(folder, lambda place: Stack(place, tools))
    pytestconfig.stash[SHARED_STACK] = shared
    return shared.attach()


@pytest.fixture(scope="session")
def kubeconfig(stack: Access) -> Path:
    return stack.kubeconfig


@pytest.fixture(scope="session")
def kubectl(stack: Access) -> Kubectl:
    return Kubectl(stack.kubectl, stack.kubeconfig)


@pytest.fixture
def objects(kubeconfig: Path) -> Iterator[OwnObjects]:
    """A namespace in which pods can be created."""
    made = OwnObjects(Server.of(kubeconfig), f"test-{uuid.uuid4().hex[:10]}")
    made.create_namespace()
    yield made
    made.leave_namespace()


@pytest.fixture
def namespace(objects: OwnObjects) -> str:
    return objects.namespace
