"""Credentials that a pod has by its identity or by mounted files: delta-rs gets them by itself, and again when they change."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from devenv.s3_server import REGION, S3Server
from integration.tables.identity_services import IdentityServices
from integration.tables.store_proxy import StoreProxy
from sluice.tables import TableFacts, key_of_path
from sluice.tables.open_tables import REOPEN_SECONDS, OpenTables

ORDERS = key_of_path("s3://lake/orders")
ROLE = "arn:aws:iam::123456789012:role/reads-the-lake"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def services(s3: S3Server) -> Iterator[IdentityServices]:
    with IdentityServices(s3.account) as running:
        yield running


@pytest.fixture
def environment(store: StoreProxy, no_clouds: None, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Where the store is, and nothing that lets anybody in. AWS_ENDPOINT_URL would lead the SDK to the store for tokens, too."""
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", store.endpoint)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    return monkeypatch


@pytest.fixture
def token(environment: pytest.MonkeyPatch, services: IdentityServices, tmp_path: Path) -> Path:
    """As EKS sets it up for a service account with the annotation eks.amazonaws.com/role-arn."""
    file = tmp_path / "token"
    file.write_text("first", encoding="utf-8")
    environment.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(file))
    environment.setenv("AWS_ROLE_ARN", ROLE)
    environment.setenv("AWS_ENDPOINT_URL_STS", services.endpoint)
    return file


def facts(tables: OpenTables | None = None) -> TableFacts:
    return (tables or OpenTables()).facts(ORDERS)


@pytest.mark.usefixtures("token")
def test_a_service_accounts_token_gets_a_role_that_may_read(services: IdentityServices) -> None:
    assert facts().unread is None
    assert services.tokens == ["first"]
    assert services.roles == [ROLE]


def test_a_token_is_read_again_when_the_roles_credentials_have_expired(
    services: IdentityServices, token: Path
) -> None:
    services.lives = timedelta(seconds=2)
    tables = OpenTables()
    assert facts(tables).unread is None
    token.write_text("second", encoding="utf-8")
    services.takes = "second"
    end = time.monotonic() + 10
    while "second" not in services.tokens and time.monotonic() < end:
        time.sleep(0.2)
        assert facts(tables).unread is None
    assert services.tokens[-1] == "second"


@pytest.mark.usefixtures("token")
def test_a_role_that_does_not_trust_the_account_is_said(services: IdentityServices) -> None:
    services.takes = "another account's"
    said = facts().unread or ""
    assert "cannot be read: IdentityRefused: " in said
    assert "service account" in said


def test_a_token_that_is_not_mounted_is_said(token: Path) -> None:
    token.unlink()
    assert "cannot be read: NoCredentials: " in (facts().unread or "")


@pytest.mark.parametrize("endpoint", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"])
def test_a_pods_identity_on_eks_is_used(
    environment: pytest.MonkeyPatch,
    services: IdentityServices,
    store: StoreProxy,
    tmp_path: Path,
    endpoint: str,
) -> None:
    """As EKS sets it up for a service account with a pod identity association."""
    file = tmp_path / "token"
    file.write_text("of the pod", encoding="utf-8")
    services.takes = "of the pod"
    environment.setenv(endpoint, store.endpoint)
    environment.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{services.endpoint}/v1/credentials")
    environment.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(file))
    assert facts().unread is None
    assert set(services.tokens) == {"of the pod"}


def test_a_file_of_credentials_is_read_again_after_a_minute_or_once_the_store_refuses_the_old_ones(
    environment: pytest.MonkeyPatch, s3: S3Server, tmp_path: Path
) -> None:
    """As a Secret that is mounted as a file: the kubelet writes it anew when the Secret changes."""
    file = tmp_path / "credentials"
    right = f"[default]\naws_access_key_id={s3.account.access_key}\naws_secret_access_key={s3.account.secret_key}\n"
    wrong = right.replace(s3.account.secret_key, "retired")
    file.write_text(wrong, encoding="utf-8")
    environment.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    clock = Clock()
    tables = OpenTables(now=clock)
    assert "CredentialsRefused" in (facts(tables).unread or "")
    file.write_text(right, encoding="utf-8")
    assert facts(tables).unread is None
    file.write_text(wrong, encoding="utf-8")
    assert facts(tables).unread is None
    clock.now = REOPEN_SECONDS + 1
    assert "CredentialsRefused" in (facts(tables).unread or "")
