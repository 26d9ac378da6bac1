"""A Redis of a test's own, which it may kill, freeze, restart and put an older snapshot into."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import Redis

from devenv.ports import accepts, free_ports
from devenv.service import Service


class RedisProcess:
    def __init__(self, program: Path, folder: Path, **options: str) -> None:
        """`options`: of redis-server, with _ for each -."""
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_ports(1)[0]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._dump = folder / "dump.rdb"
        given = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "dir": str(folder),
            "save": "",
            "appendonly": "no",
            "maxmemory-policy": "noeviction",
            **{name.replace("_", "-"): value for name, value in options.items()},
        }
        arguments = [
            str(program),
            *(word for name, value in given.items() for word in (f"--{name}", *(value.split() or [value]))),
        ]
        self.service = Service("redis", arguments, folder / "redis.log", lambda: accepts(self.port))

    def client(self) -> Redis:
        return Redis.from_url(self.url, decode_responses=True)

    def save(self, name: str) -> None:
        """Keeps what Redis holds now as a snapshot under this name."""
        with self.client() as client:
            client.save()
        shutil.copy(self._dump, self._dump.with_name(f"{name}.rdb"))

    def restart_from(self, name: str | None) -> None:
        """Kills Redis and starts it as after a crash: from the snapshot of this name, or from nothing."""
        self.service.kill()
        self._dump.unlink(missing_ok=True)
        if name is not None:
            shutil.copy(self._dump.with_name(f"{name}.rdb"), self._dump)
        self.service.start()


@contextmanager
def running_redis(program: Path, folder: Path, **options: str) -> Iterator[RedisProcess]:
    redis = RedisProcess(program, folder, **options)
    redis.service.start()
    try:
        yield redis
    finally:
        redis.service.thaw()
        redis.service.kill()
