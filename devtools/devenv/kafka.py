"""Kafka on loopback, for tests: one process that is broker and controller, whose clients have to log in."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from devenv.cache import Cache
from devenv.jars import KAFKA_BROKER, SPARK42, ensure_jars, spark_home
from devenv.java import ensure_java
from devenv.ports import accepts, free_ports
from devenv.processes import run
from devenv.service import Service

_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True)
class Account:
    user: str = "sluice"
    password: str = "for-tests-alone"  # noqa: S105 - of a broker that lives as long as a test

    def login(self, password: str | None = None) -> str:
        """What a client says in `sasl.jaas.config`."""
        return f'{_LOGIN} username="{self.user}" password="{password or self.password}";'


def ensure_kafka_broker(cache: Cache) -> str:
    """The broker's class path: its own jars, and of Spark's those that it needs as well."""
    own = ensure_jars(cache, KAFKA_BROKER, ensure_java(cache))
    return os.pathsep.join((f"{own[0].parent}/*", f"{spark_home(cache, SPARK42)}/jars/*"))


class KafkaBroker:
    """As a context manager it lives as long as the block. A topic is made by who first writes to it."""

    def __init__(self, folder: Path, class_path: str) -> None:
        self.account = Account()
        port, controller = free_ports(2)
        self.address = f"127.0.0.1:{port}"
        self._folder = folder
        self._settings = folder / "server.properties"
        folder.mkdir(parents=True, exist_ok=True)
        self._settings.write_text(self._properties(port, controller), encoding="utf-8")
        java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", class_path]
        self._format = [*java, "kafka.tools.StorageTool", "format", "--cluster-id", "MkU3OEVBNTcwNTJENDM2Qg"]
        self.service = Service(
            "kafka",
            [*java, "kafka.Kafka", self._settings],
            folder / "kafka.log",
            lambda: accepts(port),
        )

    def _properties(self, port: int, controller: int) -> str:
        login = self.account.login()[:-1]
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"SASL_PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{login} user_{self.account.user}="{self.account.password}";',
            "log.dirs": str(self._folder / "data"),
            # By default it takes more memory than all else does.
            "log.cleaner.dedupe.buffer.size": "2097152",
            "num.partitions": "1",
        }
        return "".join(f"{name}={value}\n" for name, value in settings.items())

    def __enter__(self) -> Self:
        run(
            [*self._format, "--config", self._settings],
            self._folder / "format.log",
            failure=f"Kafka could not lay out its folder {self._folder}.",
        )
        self.service.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.service.stop()
