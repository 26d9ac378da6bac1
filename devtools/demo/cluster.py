"""The cluster as the demo uses it: what a person would do with kubectl."""

import http
import json
import subprocess
from base64 import b64decode
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from kubernetes import client, config
from urllib3.exceptions import HTTPError

from demo.plain import PlainState
from devenv.apiserver import APPLY, RefusedError, apply, install_crds
from devenv.stack import crd_files
from sluice.api import names
from sluice.api.base import Json
from sluice.engines.attempt import driver_pod_name
from sluice.engines.kubeflow import GROUP, PLURAL, VERSION

API = f"/apis/{names.API_VERSION}/namespaces"
REQUEST_SECONDS = 60


class DemoError(Exception):
    """What went wrong, in a sentence."""


class Cluster:
    """Reached with the credentials of a kubeconfig, whatever kind they are of."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.kubeconfig = kubeconfig
        self.namespace = namespace
        settings = client.Configuration()
        config.load_kube_config(str(kubeconfig), client_configuration=settings)  # type: ignore[no-untyped-call]
        self._client = client.ApiClient(settings)

    def apply(self, manifests: list[Json]) -> None:
        for manifest in manifests:
            apply(self._call, f"{self._jobs}/{manifest['metadata']['name']}", json.dumps(manifest))

    def create_applications(self, manifests: list[Json]) -> None:
        for manifest in manifests:
            apply(self._call, f"{self._applications}/{manifest['metadata']['name']}", json.dumps(manifest))

    def delete_applications(self, names: list[str]) -> None:
        for name in names:
            self._call("DELETE", f"{self._applications}/{name}")

    def applications(self) -> dict[str, PlainState]:
        """Every SparkApplication of the namespace with its driver's pod."""
        pods = {
            pod["metadata"]["name"]: pod
            for pod in self._call("GET", f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        }
        found = {}
        for application in self._call("GET", self._applications)["items"]:
            name = application["metadata"]["name"]
            found[name] = PlainState(application, pods.get(driver_pod_name(name), {}))
        return found

    def has_leader(self, deployment: str) -> bool:
        """Whether an operator of this installation leads."""
        lease = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/{names.leader_lease(deployment)}"
        try:
            return bool(self._call("GET", lease)["spec"].get("holderIdentity"))
        except RefusedError as refusal:
            if refusal.status != http.HTTPStatus.NOT_FOUND:
                raise
            return False

    def install_crds(self) -> None:
        install_crds(self._call, crd_files())

    def account(self, folder: Path) -> dict[str, str]:
        """Writes what Kubernetes mounts into a pod into this folder, with the kubeconfig's own token; returns the variables
        by which a driver finds it."""
        known = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        server = known["clusters"][0]["cluster"]
        folder.mkdir(mode=0o700)
        (folder / "token").write_text(known["users"][0]["user"]["token"], encoding="utf-8")
        (folder / "ca.crt").write_bytes(b64decode(server["certificate-authority-data"]))
        address = urlsplit(server["server"])
        return {
            "KUBERNETES_SERVICE_HOST": str(address.hostname),
            "KUBERNETES_SERVICE_PORT": str(address.port),
            "SLUICE_SERVICE_ACCOUNT": str(folder),
        }

    def jobs(self) -> dict[str, Json]:
        return {job["metadata"]["name"]: job for job in self._call("GET", self._jobs)["items"]}

    @property
    def _applications(self) -> str:
        return f"/apis/{GROUP}/{VERSION}/namespaces/{self.namespace}/{PLURAL}"

    @property
    def _jobs(self) -> str:
        return f"{API}/{self.namespace}/{names.JOB_PLURAL}"

    def _call(self, method: str, path: str, body: str | None = None) -> Json:
        headers = {"Accept": "application/json", **({} if body is None else {"Content-Type": APPLY})}
        request = self._client.param_serialize(
            method,
            path,
            header_params=headers,
            body=None if body is None else body.encode(),
            auth_settings=["BearerToken"],
        )
        try:
            response = self._client.call_api(*request, _request_timeout=REQUEST_SECONDS)
            answer: bytes = response.read()  # type: ignore[no-untyped-call]
        except HTTPError as error:
            raise DemoError(f"the cluster didn't answer {method} {path}: {error}") from error
        if not 200 <= response.status <= 299:
            raise RefusedError(method, path, response.status, answer)
        content: Json = json.loads(answer)
        return content


def kubeconfig_of(context: str, folder: Path) -> Path:
    """A kubeconfig with this context alone, so that everything the demo starts talks to this cluster."""
    path = folder / "kubeconfig"
    path.touch(mode=0o600)
    command = ["kubectl", "config", "view", "--raw", "--minify", "--flatten", f"--context={context}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DemoError(f"{' '.join(command)}: {done.stderr.strip()}")
    path.write_text(done.stdout)
    return path
