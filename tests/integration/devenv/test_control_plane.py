"""A stack without controllers is enough for the demo: it serves our resources and takes pods in `default`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from devenv.apiserver import DEFAULT_NAMESPACE, DEFINITIONS, ApiServer, apply, install_crds
from devenv.errors import DevError
from devenv.stack import ControlPlane, crd_files
from devenv.toolchain import cache, ensure_control_plane_tools

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "driver"},
    "spec": {"containers": [{"name": "spark-kubernetes-driver", "image": "none"}]},
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ControlPlane(tmp_path_factory.mktemp("plane"), ensure_control_plane_tools(cache())) as plane:
        yield plane.api


def test_it_runs_no_more_than_it_must(tmp_path: Path) -> None:
    plane = ControlPlane(tmp_path, ensure_control_plane_tools(cache()))
    assert [service.name for service in plane.services] == ["etcd", "redis", "kube-apiserver"]


def test_a_pod_in_the_namespace_default_has_its_account(api: ApiServer) -> None:
    pod = apply(api.call, f"{DEFAULT_NAMESPACE}/pods/driver", json.dumps(POD))
    assert pod["spec"]["serviceAccountName"] == "default"


def test_every_crd_of_the_project_is_served(api: ApiServer) -> None:
    definitions = api.call("GET", DEFINITIONS)["items"]
    names = {definition["metadata"]["name"] for definition in definitions}
    assert names == {
        "deltatablepolicies.sluice.dev",
        "deltawritejobs.sluice.dev",
        "sparkapplications.sparkoperator.k8s.io",
    }
    assert api.call("GET", "/apis/sluice.dev/v1alpha1/namespaces/default/deltawritejobs")["items"] == []


def test_crds_are_installed_anew_without_a_conflict(api: ApiServer) -> None:
    (definition, *_) = api.call("GET", DEFINITIONS)["items"]
    install_crds(api.call, crd_files())
    again = api.call("GET", f"{DEFINITIONS}/{definition['metadata']['name']}")
    assert again["metadata"]["uid"] == definition["metadata"]["uid"]


def test_a_refusal_says_what_was_asked_and_why(api: ApiServer) -> None:
    with pytest.raises(
        DevError, match=r"refused PATCH /api/v1/namespaces/none/pods/driver.* with 404: .*none"
    ):
        apply(api.call, "/api/v1/namespaces/none/pods/driver", json.dumps(POD))


def test_a_crd_without_a_name_is_named(api: ApiServer, tmp_path: Path) -> None:
    nameless = tmp_path / "nameless.yaml"
    nameless.write_text("kind: CustomResourceDefinition\nmetadata:\n  labels: {}\n", encoding="utf-8")
    with pytest.raises(DevError, match=r"nameless\.yaml has no metadata\.name"):
        install_crds(api.call, [nameless])
