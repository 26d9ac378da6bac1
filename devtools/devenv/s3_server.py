"""An S3 server on loopback, for tests: versitygw over a folder, whose folders are the buckets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from devenv import kubernetes_binaries
from devenv.cache import Cache
from devenv.kubernetes_binaries import VERSITYGW
from devenv.ports import accepts, free_ports
from devenv.service import Service

REGION = "us-east-1"


@dataclass(frozen=True)
class Account:
    access_key: str = "sluice"
    secret_key: str = "for-tests-alone"  # noqa: S105 - of a server that lives as long as a test


def ensure_s3_server(cache: Cache) -> Path:
    return kubernetes_binaries.ensure(cache, VERSITYGW) / VERSITYGW.name


class S3Server:
    """As a context manager it lives as long as the block. What is in its buckets stays in the folder."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.account = Account()
        self.port = free_ports(1)[0]
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self._buckets = folder / "buckets"
        self._buckets.mkdir(parents=True, exist_ok=True)
        self.service = Service(
            "versitygw",
            [
                program,
                *("--port", f"127.0.0.1:{self.port}", "--region", REGION, "--quiet"),
                # Without it each request costs a connection.
                "--keep-alive",
                *("--access", self.account.access_key, "--secret", self.account.secret_key),
                *("posix", self._buckets),
            ],
            folder / "versitygw.log",
            lambda: accepts(self.port),
        )

    def bucket(self, name: str) -> Path:
        """Makes the bucket, if it isn't there; an object is a file in it."""
        folder = self._buckets / name
        folder.mkdir(exist_ok=True)
        return folder

    def __enter__(self) -> Self:
        self.service.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.service.stop()
