"""The local stack: etcd, kube-apiserver and Redis on loopback ports of their own, with or without controllers.

The controllers are those that make namespaces, service accounts and ownerReferences behave. Nothing schedules or
runs pods, and nothing may tidy them up: the local engine keeps its drivers' pods itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from devenv import credentials
from devenv.apiserver import ApiServer, create_default_account, install_crds
from devenv.ports import accepts, free_ports
from devenv.processes import Argument
from devenv.project import ROOT
from devenv.service import Service

CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
)
CRD_FOLDERS = (ROOT / "crds", ROOT / "devtools" / "localengine" / "crds")


def crd_files() -> list[Path]:
    """Every CRD of the project."""
    return [file for folder in CRD_FOLDERS for file in sorted(folder.glob("*.yaml"))]


@dataclass(frozen=True)
class ControlPlaneTools:
    """The programs without which there is no Kubernetes API."""

    etcd: Path
    kube_apiserver: Path
    redis_server: Path


@dataclass(frozen=True)
class StackTools(ControlPlaneTools):
    """The programs that the whole stack is made of."""

    kube_controller_manager: Path
    kubectl: Path


@dataclass(frozen=True)
class Ports:
    etcd: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    redis: int

    @staticmethod
    def free() -> "Ports":
        return Ports(*free_ports(5))


class ControlPlane:
    """The API and Redis in a folder of their own; as a context manager they live as long as the block.

    Without controllers nothing collects what a deleted owner leaves, and only the namespace `default` has an account.
    """

    def __init__(
        self, folder: Path, tools: ControlPlaneTools, ports: Ports | None = None, *, outlives_us: bool = False
    ) -> None:
        self.folder = folder
        self.ports = ports or Ports.free()
        self.kubeconfig = folder / "kubeconfig"
        self.server = f"https://127.0.0.1:{self.ports.apiserver}"
        self.redis_url = f"redis://127.0.0.1:{self.ports.redis}/0"
        self.etcd = self._service("etcd", self._etcd(tools), lambda: accepts(self.ports.etcd), outlives_us)
        self.redis = self._service("redis", self._redis(tools), self._redis_answers, outlives_us)
        self.apiserver = self._service(
            "kube-apiserver", self._apiserver(tools), self._apiserver_ready, outlives_us
        )

    @property
    def services(self) -> tuple[Service, ...]:
        """In the order of starting; they are stopped the other way round."""
        return (self.etcd, self.redis, self.apiserver)

    def start(self, on_launch: Callable[[], None] = lambda: None) -> None:
        """Starts everything and installs the CRDs; `on_launch` is called after each process that has been started."""
        try:
            self._prepare()
            started = (self.etcd, self.redis, self.apiserver)
            for service in started:
                service.launch()
                on_launch()
            for service in started:
                service.wait_ready()
            credentials.write_kubeconfig(
                self.kubeconfig,
                self.server,
                self._certificate.read_bytes(),
                credentials.token_in(self._tokens),
            )
            self._launch_controllers(on_launch)
            self.install_crds()
            self._wait_for_controllers()
        except BaseException:
            self.stop()
            raise

    def _prepare(self) -> None:
        for name in ("etcd", "redis"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        credentials.write_signing_key(self.folder / "service-accounts.key")
        credentials.write_token(self._tokens)
        credentials.write_certificate(self._certificate)

    def _launch_controllers(self, on_launch: Callable[[], None]) -> None:  # noqa: ARG002 - there are none
        create_default_account(self.api.call)

    def _wait_for_controllers(self) -> None:
        """There are none."""

    def stop(self) -> None:
        for service in reversed(self.services):
            service.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def install_crds(self) -> None:
        """Applies every CRD of the project and waits until the API server serves them."""
        install_crds(self.api.call, crd_files())

    @property
    def api(self) -> ApiServer:
        return ApiServer(self.ports.apiserver, self._certificate, credentials.token_in(self._tokens))

    def _service(
        self, name: str, arguments: Sequence[Argument], ready: Callable[[], bool], outlives_us: bool
    ) -> Service:
        return Service(name, arguments, self.folder / f"{name}.log", ready, outlives_us=outlives_us)

    @property
    def _tokens(self) -> Path:
        return self.folder / "tokens.csv"

    @property
    def _certificate(self) -> Path:
        return self.folder / "certificates" / "apiserver.crt"

    def _etcd(self, tools: ControlPlaneTools) -> list[Argument]:
        client = f"http://127.0.0.1:{self.ports.etcd}"
        peer = f"http://127.0.0.1:{self.ports.etcd_peer}"
        return [
            tools.etcd,
            f"--data-dir={self.folder / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--log-level=warn",
        ]

    def _redis(self, tools: ControlPlaneTools) -> list[Argument]:
        options = {
            "port": str(self.ports.redis),
            "bind": "127.0.0.1",
            "dir": str(self.folder / "redis"),
            "save": "",
            "appendonly": "no",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        return [
            tools.redis_server,
            *(word for name, value in options.items() for word in (f"--{name}", value)),
        ]

    def _apiserver(self, tools: ControlPlaneTools) -> list[Argument]:
        key = self.folder / "service-accounts.key"
        return [
            tools.kube_apiserver,
            f"--etcd-servers=http://127.0.0.1:{self.ports.etcd}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--secure-port={self.ports.apiserver}",
            f"--cert-dir={self._certificate.parent}",
            "--service-cluster-ip-range=10.96.0.0/16",
            f"--token-auth-file={self._tokens}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--shutdown-delay-duration=0s",
            "--profiling=false",
        ]

    def _redis_answers(self) -> bool:
        return accepts(self.ports.redis)

    def _apiserver_ready(self) -> bool:
        return self.api.ready()


class Stack(ControlPlane):
    """The API and Redis with the controllers that tests and people expect, and a kubectl to look at it with."""

    def __init__(
        self, folder: Path, tools: StackTools, ports: Ports | None = None, *, outlives_us: bool = False
    ) -> None:
        super().__init__(folder, tools, ports, outlives_us=outlives_us)
        self.kubectl = tools.kubectl
        self.controller_manager = self._service(
            "kube-controller-manager",
            self._controller_manager(tools),
            lambda: accepts(self.ports.controller_manager),
            outlives_us,
        )

    @property
    def services(self) -> tuple[Service, ...]:
        return (*super().services, self.controller_manager)

    def _launch_controllers(self, on_launch: Callable[[], None]) -> None:
        self.controller_manager.launch()
        on_launch()

    def _wait_for_controllers(self) -> None:
        self.controller_manager.wait_ready()

    def _controller_manager(self, tools: StackTools) -> list[Argument]:
        return [
            tools.kube_controller_manager,
            f"--kubeconfig={self.kubeconfig}",
            f"--controllers={','.join(CONTROLLERS)}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.ports.controller_manager}",
            f"--cert-dir={self.folder / 'controller-certificates'}",
            f"--service-account-private-key-file={self.folder / 'service-accounts.key'}",
            f"--root-ca-file={self._certificate}",
            "--leader-elect=false",
            "--concurrent-gc-syncs=4",
            "--profiling=false",
        ]
