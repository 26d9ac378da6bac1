"""Two Redis servers of which one copies the other, and Sentinels that make the copy the master when the other is gone."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from devenv.ports import accepts, free_ports
from devenv.service import Service
from integration.leases.redis_process import RedisProcess, running_redis
from integration.waiting import eventually

MASTER = "lake"


class SentinelProcess:
    def __init__(self, program: Path, folder: Path, master: RedisProcess, *, quorum: int, login: str) -> None:
        folder.mkdir(parents=True)
        self.port = free_ports(1)[0]
        file = folder / "sentinel.conf"
        file.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {folder}\n"
            f"sentinel monitor {MASTER} 127.0.0.1 {master.port} {quorum}\n"
            f"sentinel down-after-milliseconds {MASTER} 1000\nsentinel failover-timeout {MASTER} 5000\n{login}",
            encoding="utf-8",
        )
        arguments = [str(program), str(file), "--sentinel"]
        self.service = Service("sentinel", arguments, folder / "sentinel.log", lambda: accepts(self.port))


@dataclass(frozen=True)
class Watched:
    """Servers that Sentinels watch."""

    servers: tuple[RedisProcess, RedisProcess]
    sentinels: tuple[SentinelProcess, ...]
    password: str

    @property
    def url(self) -> str:
        where = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{where}/{MASTER}/0"

    def client(self, server: RedisProcess) -> Redis:
        return Redis(port=server.port, password=self.password or None, decode_responses=True)

    def master(self) -> RedisProcess | None:
        """The one that each Sentinel that runs names."""
        named = set()
        for sentinel in self.sentinels:
            if sentinel.service.alive:
                with Redis(
                    port=sentinel.port, password=self.password or None, decode_responses=True
                ) as asked:
                    named.add(asked.sentinel_get_master_addr_by_name(MASTER))
        [found] = named if len(named) == 1 else [None]
        return next((one for one in self.servers if found == ("127.0.0.1", one.port)), None)

    def replica(self) -> RedisProcess:
        master = self.master()
        return next(one for one in self.servers if one is not master)

    def copies(self, server: RedisProcess) -> bool:
        """Whether the server has all that its master has."""
        with self.client(server) as client:
            info = client.info("replication")
        return str(info.get("master_link_status")) == "up"

    def keep_master(self) -> None:
        """From now on the Sentinels take a master for dead only after minutes, and not because the machine is busy."""
        for sentinel in self.sentinels:
            with Redis(port=sentinel.port, password=self.password or None) as asked:
                asked.sentinel_set(MASTER, "down-after-milliseconds", 600_000)

    def fail_over(self) -> None:
        """Has the Sentinels make the replica the master, while both run."""
        with Redis(port=self.sentinels[0].port, password=self.password or None) as asked:
            asked.sentinel_failover(MASTER)


@contextmanager
def watched_redis(
    program: Path, folder: Path, *, sentinels: int = 3, password: str = ""
) -> Iterator[Watched]:
    secret = {"requirepass": password, "masterauth": password} if password else {}
    login = f"sentinel auth-pass {MASTER} {password}\nrequirepass {password}\n" if password else ""
    with ExitStack() as running:
        master = running.enter_context(
            running_redis(program, folder / "one", repl_diskless_sync_delay="0", **secret)
        )
        copying = {"replicaof": f"127.0.0.1 {master.port}", "repl_diskless_sync_delay": "0", **secret}
        replica = running.enter_context(running_redis(program, folder / "two", **copying))
        made = tuple(
            SentinelProcess(
                program, folder / f"sentinel-{number}", master, quorum=sentinels // 2 + 1, login=login
            )
            for number in range(sentinels)
        )
        watched = Watched((master, replica), made, password)
        eventually(lambda: watched.copies(replica), "the replica has all that the master has")
        for sentinel in made:
            running.callback(sentinel.service.kill)
            sentinel.service.start()
        eventually(
            lambda: all(_knows_all(one, sentinels, password) for one in made), "the Sentinels know each other"
        )
        yield watched


def _knows_all(sentinel: SentinelProcess, sentinels: int, password: str) -> bool:
    with Redis(port=sentinel.port, password=password or None, decode_responses=True) as asked:
        state = asked.sentinel_master(MASTER)
    return (state["num-slaves"], state["num-other-sentinels"]) == (1, sentinels - 1)
