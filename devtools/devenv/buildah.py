"""Command lines of buildah, whose images lie in the cache folder."""

from __future__ import annotations

from devenv.cache import Cache
from devenv.processes import Argument


def buildah(cache: Cache, *arguments: Argument) -> list[Argument]:
    storage = cache.folder / "buildah"
    driver = ["--storage-driver", "overlay"]
    return ["buildah", *driver, "--root", storage / "root", "--runroot", storage / "run", *arguments]
