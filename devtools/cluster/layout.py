"""Where everything of one cluster is kept, and the addresses that it uses inside its network namespace."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from devenv.errors import DevError

POD_NET = "10.244.0"
SERVICE_NET = "10.96.0"
API_ADDRESS = f"{POD_NET}.1"
API_PORT = 6443
API_SERVER = f"https://{API_ADDRESS}:{API_PORT}"
NODE = "node1"

PROGRAMS = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "coredns",
    "containerd", "containerd-shim-runc-v2", "ctr", "kubectl", "helm",
)  # fmt: skip


def _missing(programs: list[str]) -> DevError:
    return DevError(
        f"SLUICE_CLUSTER_PATH leads to no {', '.join(programs)}: run ./dev setup cluster image once, then this by ./dev run."
    )


@dataclass(frozen=True)
class Layout:
    folder: Path
    path: str

    @classmethod
    def of(cls, folder: Path) -> Layout:
        """The programs are found where ./dev puts them."""
        path = os.environ.get("SLUICE_CLUSTER_PATH", "")
        missing = [name for name in PROGRAMS if which(name, path=path) is None]
        if missing:
            raise _missing(missing)
        return cls(folder.resolve(), path)

    def program(self, name: str) -> Path:
        found = which(name, path=self.path)
        if found is None:
            raise _missing([name])
        return Path(found)

    @property
    def certificates(self) -> Path:
        return self.folder / "pki"

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    @property
    def kubeconfig(self) -> Path:
        return self.certificates / "admin.conf"

    @property
    def containerd_socket(self) -> Path:
        return self.folder / "containerd.sock"

    @property
    def ready(self) -> Path:
        return self.folder / "ready"

    @property
    def process(self) -> Path:
        return self.folder / "process.json"
