"""The cluster by itself is what a chart finds elsewhere: names, Services, volumes, gathered roles, Pod Security that refuses."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cluster.cluster import Cluster
from cluster.layout import SERVICE_NET
from cluster.services import API_NAME, DOMAIN
from devenv.images import Image
from integration.waiting import eventually
from sluice.api.base import Json

pytestmark = pytest.mark.timeout(1200)

NAMESPACE = "restricted"
USER = 185
LOOK = Path(__file__).with_name("seen_by_a_pod.py")
WEB_PORT = 8080


class Restricted:
    """A namespace that takes only pods which pass the `restricted` Pod Security Standard."""

    def __init__(self, cluster: Cluster, image: Image) -> None:
        self.cluster = cluster
        self._image = image

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        done = self.cluster.kubectl("-n", NAMESPACE, *arguments, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}\n{self._told()}"
        return done.stdout

    def apply(self, *objects: Json) -> None:
        self.kubectl(
            "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        )

    def pod(self, name: str, *command: str, **of_the_pod: Any) -> Json:
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {**self.pod_spec(*command), **of_the_pod},
        }

    def pod_spec(self, *command: str) -> Json:
        container = {
            "name": "main",
            "image": self._image.name,
            "imagePullPolicy": "Never",
            "command": list(command),
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": True,
            },
            "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],  # noqa: S108
        }
        return {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
        }

    def _told(self) -> str:
        return self.cluster.kubectl("-n", NAMESPACE, "describe", "pods").stdout


@pytest.fixture(scope="module")
def restricted(cluster: Cluster, image: Image) -> Iterator[Restricted]:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    created = cluster.kubectl("apply", "-f", "-", stdin=json.dumps(namespace))
    assert created.returncode == 0, created.stderr
    here = Restricted(cluster, image)
    eventually(
        lambda: "default" in here.kubectl("get", "serviceaccounts", "-o", "name"),
        "the namespace has its account",
    )
    yield here
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture(scope="module")
def seen(restricted: Restricted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Json]:
    """What one pod sees of another, which serves the volume that both mount."""
    folder = tmp_path_factory.mktemp("shared")
    folder.chmod(0o777)
    restricted.apply(*_volume(folder), *_services("web"))
    serve = ("python3", "-m", "http.server", str(WEB_PORT), "--directory", "/data")
    server = restricted.pod("web", *serve, hostname="first", subdomain="peers")
    server["spec"]["containers"][0] |= {
        "readinessProbe": {"httpGet": {"path": "/", "port": WEB_PORT}, "periodSeconds": 1},
        "livenessProbe": {"exec": {"command": ["test", "-d", "/data"]}, "timeoutSeconds": 60},
    }
    look = ("python3", "-c", LOOK.read_text(), API_NAME, f"first.peers.{NAMESPACE}.svc.{DOMAIN}", "web")
    restricted.apply(_with_volume(server), _with_volume(restricted.pod("client", *look)))
    restricted.kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=300s")
    phase = partial(restricted.kubectl, "get", "pod", "client", "-o", "jsonpath={.status.phase}")
    told = partial(restricted.kubectl, "logs", "client")
    eventually(lambda: phase() in ("Succeeded", "Failed"), "the pod has looked", seconds=300, show=phase)
    assert phase() == "Succeeded", told()
    address = restricted.kubectl("get", "pod", "web", "-o", "jsonpath={.status.podIP}")
    service = restricted.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
    yield {**json.loads(told()), "address of the peer": address, "address of the service": service}
    restricted.cluster.kubectl("delete", "persistentvolume", "shared", "--wait=false")


def test_a_pod_finds_others_by_name_and_learns_fast_that_a_name_is_unknown(seen: Json) -> None:
    assert seen["api"] == f"{SERVICE_NET}.1"
    assert seen["peer"] == seen["address of the peer"]
    assert seen["service"] == seen["address of the service"]
    answer, seconds = seen["outside"]
    assert answer == "unknown"
    assert seconds < 60


def test_a_pod_reaches_another_through_its_service_and_both_share_a_volume(seen: Json) -> None:
    assert seen["shared"] == "written"
    assert seen["served"] == "from one pod to another"


def test_a_pod_speaks_to_the_api_server_by_its_name_with_the_token_of_its_account(seen: Json) -> None:
    assert seen["authenticated"] == "APIVersions"


def test_a_restricted_pod_is_held_to_what_it_asked_for(seen: Json) -> None:
    assert seen["user"] == USER
    assert seen["seccomp"] == "2"
    assert int(seen["capabilities"], 16) == 0
    assert seen["image"] == "Read-only file system"
    assert seen["scratch"] == "written"


def test_a_pod_that_may_be_root_is_refused(restricted: Restricted) -> None:
    pod = restricted.pod("root", "true")
    pod["spec"]["securityContext"] = {"runAsUser": 0}
    refused = restricted.cluster.kubectl("-n", NAMESPACE, "apply", "-f", "-", stdin=json.dumps(pod))
    assert refused.returncode != 0
    assert 'violates PodSecurity "restricted' in refused.stderr
    assert "runAsUser=0" in refused.stderr


def test_a_role_gets_the_rules_of_those_that_it_gathers(restricted: Restricted) -> None:
    rule = {"apiGroups": ["sluice.dev"], "resources": ["deltawritejobs"], "verbs": ["get"]}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    restricted.apply({**role, "metadata": {"name": "part-of-view", "labels": label}, "rules": [rule]})
    gathered = partial(restricted.kubectl, "get", "clusterrole", "view", "-o", "jsonpath={.rules}")
    eventually(lambda: rule in json.loads(gathered()), "view has the rule", seconds=120, show=gathered)
    restricted.kubectl("delete", "clusterrole", "part-of-view")


def test_helm_installs_a_chart_after_its_hook_has_run(restricted: Restricted, tmp_path: Path) -> None:
    _write_chart(tmp_path, restricted.pod_spec("echo", "the hook has run"))
    cluster = restricted.cluster
    installed = cluster.helm("-n", NAMESPACE, "install", "small", tmp_path, "--wait", "--timeout=300s")
    assert installed.returncode == 0, installed.stderr
    assert restricted.kubectl("logs", "job/before") == "the hook has run\n"
    kinds = ("poddisruptionbudget", "networkpolicy")
    there = [restricted.kubectl("get", kind, "small", "-o", "name") for kind in kinds]
    assert len(there) == len(kinds)
    removed = cluster.helm("-n", NAMESPACE, "uninstall", "small", "--wait")
    assert removed.returncode == 0, removed.stderr
    assert [restricted.kubectl("get", kind, "-o", "name") for kind in kinds] == ["", ""]


def _volume(folder: Path) -> tuple[Json, Json]:
    capacity = {"storage": "1Gi"}
    asked: Json = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    return (
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "shared"},
            "spec": {**asked, "capacity": capacity, "hostPath": {"path": str(folder), "type": "Directory"}},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "shared"},
            "spec": {**asked, "volumeName": "shared", "resources": {"requests": capacity}},
        },
    )


def _with_volume(pod: Json) -> Json:
    pod["spec"]["volumes"].append({"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}})
    pod["spec"]["containers"][0]["volumeMounts"].append({"name": "shared", "mountPath": "/data"})
    return pod


def _services(app: str) -> Iterator[Json]:
    """One with an address of its own, and one that only names the pods."""
    for name, spec in (("web", {}), ("peers", {"clusterIP": "None"})):
        ports = [{"port": 80, "targetPort": WEB_PORT}]
        yield {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name},
            "spec": {**spec, "selector": {"app": app}, "ports": ports},
        }


def _write_chart(folder: Path, hook: Json) -> None:
    selector = {"matchLabels": {"app": "small"}}
    before: Json = {"name": "before", "annotations": {"helm.sh/hook": "pre-install"}}
    objects: dict[str, Json] = {
        "hook": {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": before,
            "spec": {"backoffLimit": 0, "template": {"spec": hook}},
        },
        "budget": {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "small"},
            "spec": {"selector": selector, "maxUnavailable": 0},
        },
        "policy": {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "small"},
            "spec": {"podSelector": selector, "policyTypes": ["Ingress"]},
        },
    }
    templates = folder / "templates"
    templates.mkdir()
    (folder / "Chart.yaml").write_text(json.dumps({"apiVersion": "v2", "name": "small", "version": "1.0.0"}))
    for name, content in objects.items():
        (templates / f"{name}.yaml").write_text(json.dumps(content))
