"""What a real single-node cluster needs beside the local stack: node programs, containerd, Helm, Debian's runc and so on.

Only for the end-to-end tests, and only where we are root on a machine with apt: containers need both.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from devenv import debian, kubernetes_binaries
from devenv.cache import Cache
from devenv.errors import NotOnThisMachineError
from devenv.kubernetes_binaries import CLUSTER, STACK

CNI_PLUGINS = Path("/usr/lib/cni")
# Debian's package for each program.
PACKAGES = {
    "buildah": "buildah",
    "debootstrap": "debootstrap",
    "ip": "iproute2",
    "iptables": "iptables",
    "nsenter": "util-linux",
    "openssl": "openssl",
    "runc": "runc",
}


@dataclass(frozen=True)
class ClusterTools:
    """Folders whose programs are the cluster's."""

    folders: tuple[Path, ...]

    @property
    def path(self) -> str:
        return os.pathsep.join(map(str, self.folders))


def ensure_cluster_tools(cache: Cache) -> ClusterTools:
    ensure_container_programs(cache)
    return ClusterTools(tuple(kubernetes_binaries.ensure(cache, build) for build in (*STACK, *CLUSTER)))


def ensure_container_programs(cache: Cache) -> None:
    """Debian's programs that make images and containers."""
    if os.geteuid() != 0:
        raise NotOnThisMachineError(
            "needs root: a cluster on this machine makes network namespaces and containers"
        )
    if _missing_packages():
        if not debian.can_install():
            raise NotOnThisMachineError(
                f"needs apt to install {' '.join(_missing_packages())}, or these by hand"
            )
        debian.install(cache, _missing_packages(), lambda: not _missing_packages())


def _missing_packages() -> list[str]:
    missing = [package for program, package in PACKAGES.items() if which(program) is None]
    return missing if CNI_PLUGINS.is_dir() else [*missing, "containernetworking-plugins"]
