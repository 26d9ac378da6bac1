"""An S3 server with a table, behind a proxy for each test; and an environment that holds credentials for it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from devenv.s3_server import REGION, S3Server
from integration.tables.store_proxy import StoreProxy
from sluice.tables import table_access
from unit.tables.lake import commit, orders

_CLOUDS = ("AWS_", "AZURE_", "GOOGLE_", "GCE_")


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """With the tables s3://lake/orders and s3://lake/deep, whose log has 30 commits."""
    with S3Server(tmp_path_factory.mktemp("s3"), Path(os.environ["SLUICE_S3_SERVER"])) as server:
        lake = server.bucket("lake")
        orders(lake / "orders")
        orders(lake / "deep")
        for version in range(1, 30):
            commit(lake / "deep", version)
        yield server


@pytest.fixture
def no_clouds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(_CLOUDS)]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(table_access, "_regions", {})
    monkeypatch.setattr(table_access, "_known_stores", set())


@pytest.fixture
def store(s3: S3Server) -> Iterator[StoreProxy]:
    with StoreProxy(s3.port) as proxy:
        yield proxy


@pytest.fixture
def signed_in(
    s3: S3Server, store: StoreProxy, no_clouds: None, monkeypatch: pytest.MonkeyPatch
) -> pytest.MonkeyPatch:
    """The environment as a Secret with these keys gives it to the operator."""
    given = {
        "AWS_ACCESS_KEY_ID": s3.account.access_key,
        "AWS_SECRET_ACCESS_KEY": s3.account.secret_key,
        "AWS_REGION": REGION,
        "AWS_ENDPOINT_URL": store.endpoint,
        "AWS_ALLOW_HTTP": "true",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return monkeypatch
