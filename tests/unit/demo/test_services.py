"""A driver of the demo finds the demo's own API server, so that a stream can be asked to stop; no cluster of somebody's."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.cluster import Cluster
from demo.services import services
from devenv.credentials import write_kubeconfig
from sluice.controller.process.configuration import OperatorConfig

REDIS = "redis://127.0.0.1:1/0"


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    file = tmp_path / "kubeconfig"
    write_kubeconfig(file, "https://127.0.0.1:16443", b"an authority", "a token")
    return Cluster(file, "default")


def driver_variables(folder: Path) -> dict[str, Any]:
    given = yaml.safe_load((folder / "operator.yaml").read_text(encoding="utf-8"))
    OperatorConfig.model_validate(given)
    pod = given["runtimes"]["default"]["driverPod"]
    containers = pod["spec"]["containers"] if pod else [{"env": []}]
    return {one["name"]: one["value"] for one in containers[0]["env"]}


def test_its_drivers_know_its_api_server(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "")
    services(tmp_path, cluster, REDIS, "redis-server")
    found = driver_variables(tmp_path)
    assert (found["KUBERNETES_SERVICE_HOST"], found["KUBERNETES_SERVICE_PORT"]) == ("127.0.0.1", "16443")
    account = Path(found["SLUICE_SERVICE_ACCOUNT"])
    assert (account / "token").read_text(encoding="utf-8") == "a token"
    assert (account / "ca.crt").read_bytes() == b"an authority"
    assert account.stat().st_mode & 0o077 == 0


def test_drivers_get_no_credentials_of_a_cluster_of_somebodys(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "")
    services(tmp_path, cluster, None, "redis-server")
    assert driver_variables(tmp_path) == {}
    assert not (tmp_path / "account").exists()
