"""Helm, and namespaces that hold pods to the strictest standard."""

from pathlib import Path

import pytest

from devenv import kubernetes_binaries
from devenv.kubernetes_binaries import HELM
from devenv.toolchain import cache
from integration.chart.helm import Helm
from integration.chart.shown import labels_by_figure
from integration.conftest import Kubectl, OwnObjects
from integration.waiting import eventually

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def helm() -> Helm:
    return Helm(kubernetes_binaries.ensure(cache(), HELM) / "helm")


@pytest.fixture(scope="session")
def figures() -> dict[str, set[str]]:
    return labels_by_figure()


@pytest.fixture(scope="session")
def prometheus_operator(kubectl: Kubectl) -> None:
    """The API server knows its resources."""
    given = ("apply", "--server-side", "--force-conflicts", "-f", str(HERE / "prometheus_operator.yaml"))
    done = kubectl(*given)
    assert done.returncode == 0, done.stderr
    waits = ("wait", "--for=condition=Established", "--timeout=120s", *given[-2:])
    # It fails at once where a definition has no conditions yet.
    eventually(lambda: kubectl(*waits).returncode == 0, "the resources of the Prometheus operator are served")


@pytest.fixture
def restricted(kubectl: Kubectl, objects: OwnObjects) -> str:
    """A namespace that refuses every pod that `restricted` forbids."""
    standard = "pod-security.kubernetes.io"
    labels = [f"{standard}/{mode}=restricted" for mode in ("enforce", "warn")]
    done = kubectl("label", "namespace", objects.namespace, *labels)
    assert done.returncode == 0, done.stderr
    return objects.namespace
