"""An S3 server and one driver for all tests here, and for each test a proxy and a bucket of its own."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devenv.s3_server import S3Server
from integration.runner.s3.drivers import Driver, Store, commit_name, driver, hadoop_settings
from integration.runner.s3.proxy import S3Proxy


@dataclass(frozen=True)
class Log:
    """The log of a table in a bucket of its own."""

    bucket: str
    folder: Path

    @property
    def table(self) -> str:
        return f"s3a://{self.bucket}/orders"

    def commit(self, version: int) -> str:
        return f"{self.table}/_delta_log/{commit_name(version)}"

    def key(self, version: int) -> str:
        """As a pattern for a proxy."""
        return rf"/{self.bucket}/orders/_delta_log/{commit_name(version)}"

    def names(self) -> list[str]:
        """What is there, without what is hidden."""
        files = self.folder.iterdir() if self.folder.exists() else ()
        return sorted(file.name for file in files if file.is_file() and not file.name.startswith("."))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3"), Path(os.environ["SLUICE_S3_SERVER"])) as running:
        yield running


@pytest.fixture(scope="session")
def one_driver() -> Iterator[Driver]:
    with driver() as made:
        yield made


@pytest.fixture
def proxy(server: S3Server) -> Iterator[S3Proxy]:
    with S3Proxy(server.port) as running:
        yield running


@pytest.fixture
def log(server: S3Server) -> Log:
    """Under a name that no test had before: Hadoop keeps file systems by bucket, and a driver tries each bucket once."""
    name = f"lake-{uuid.uuid4().hex[:12]}"
    return Log(name, server.bucket(name) / "orders" / "_delta_log")


@pytest.fixture
def store(one_driver: Driver, proxy: S3Proxy) -> Store:
    return one_driver.store(hadoop_settings(proxy.endpoint))
