"""Helm, and namespaces that hold pods to the strictest standard."""

import pytest

from devenv import kubernetes_binaries
from devenv.kubernetes_binaries import HELM
from devenv.toolchain import cache
from integration.chart.helm import Helm
from integration.conftest import Kubectl, OwnObjects


@pytest.fixture(scope="session")
def helm() -> Helm:
    return Helm(kubernetes_binaries.ensure(cache(), HELM) / "helm")


@pytest.fixture
def restricted(kubectl: Kubectl, objects: OwnObjects) -> str:
    """A namespace that refuses every pod that `restricted` forbids."""
    standard = "pod-security.kubernetes.io"
    labels = [f"{standard}/{mode}=restricted" for mode in ("enforce", "warn")]
    done = kubectl("label", "namespace", objects.namespace, *labels)
    assert done.returncode == 0, done.stderr
    return objects.namespace
