"""Debian's packages, for what the system lacks: only as root, only where apt is."""

import os
import shutil
from collections.abc import Callable, Sequence

from devenv.cache import Cache
from devenv.processes import fetch
from devenv.progress import step

_PATIENTLY = ("-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3")


def can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(cache: Cache, packages: Sequence[str], present: Callable[[], bool]) -> None:
    """Installs the packages, unless what they bring is `present` by the time that it is our turn.

    No service that they bring is started: the run level says that the machine isn't up for services.
    """
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    names = " ".join(packages)
    log = cache.log("apt")
    with cache.locked("apt"):
        if present():
            return
        with step(f"Installing {names} with apt"):
            fetch(
                # Another apt may be busy with the lists, too, as on a machine that has just been started.
                ["apt-get", "-q", "update"],
                log,
                failure="apt-get update failed: check this machine's package sources.",
                environment=environment,
            )
            fetch(
                ["apt-get", *_PATIENTLY, "-q", "-y", "--no-install-recommends", "install", *packages],
                log,
                failure=f"apt-get could not install {names}: install them by hand and run ./dev again.",
                environment=environment,
            )
