"""The way to the installation that a command is about: its name in the cluster, its Kubernetes, its Redis."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from sluice.api import names
from sluice.api.engine_kind import EngineKind
from sluice.controller.process.configuration import (
    ConfigError,
    OperatorConfig,
    load,
    with_password_of_environment,
)
from sluice.engines import RuntimeProfile
from sluice.kube.client import UNAUTHORIZED, ApiError, Kube
from sluice.kube.kubeconfig import NoClusterKnownError
from sluice.leases.clients import client
from sluice.leases.endpoint import Endpoint, EndpointError
from sluice.leases.refusals import REFUSALS, cure_of, refused
from sluice.online.access.errors import CalledWronglyError, OnlineError

PATIENCE = 5.0
OF_URL = "in --redis-url, SLUICE_REDIS_URL or SLUICE_REDIS_PASSWORD"
"""Where whoever types a command corrects a password."""
OWN_CONFIG = Path("/etc/sluice/sluice.yaml")
"""Where an operator's pod has its configuration."""


@dataclass(frozen=True)
class Installation:
    """Which operator is meant."""

    namespace: str
    deployment: str
    redis_url: str | None = None
    """The URL of its Redis; None: it is not known."""
    watch_namespaces: tuple[str, ...] = ()
    """The namespaces whose jobs it runs, as far as that was said; empty: all."""
    profiles: Mapping[str, RuntimeProfile] | None = None
    """Its runtime profiles; None: they are not known."""
    engines: tuple[EngineKind, ...] = tuple(EngineKind)
    """The Spark operators whose applications are its own, as far as that was said; else all that are known."""
    admission_policy: bool | None = None
    """Whether its configuration says that the admission policy is there; None: it is not known."""

    def revoke_command(self, holder: str) -> str:
        """What a person types to free the lease of a holder."""
        return names.revoke_command(holder, namespace=self.namespace, deployment=self.deployment)


def installation(
    config: Path | None,
    *,
    namespace: str | None = None,
    deployment: str | None = None,
    redis_url: str | None = None,
    own_config: Path = OWN_CONFIG,
) -> Installation:
    """The installation as the operator's own configuration file names it; options given beside it win. In an operator's pod its
    file is taken where none is named, unless another installation is."""
    if redis_url and (why := unusable(redis_url)):
        raise CalledWronglyError(f"--redis-url {why}")
    known = configured(config) if config is not None else None
    if config is None and own_config.exists():
        own = configured(own_config)
        if namespace in (None, own.namespace) and deployment in (None, own.deployment):
            known = own
    if known is None:
        return Installation(namespace or "default", deployment or names.DEPLOYMENT, redis_url)
    return Installation(
        namespace or known.namespace,
        deployment or known.deployment,
        redis_url or known.redis_url,
        known.watch_namespaces,
        known.runtimes,
        known.engines,
        known.admission_policy,
    )


def configured(config: Path) -> OperatorConfig:
    """As the operator's configuration file says."""
    try:
        return load(config)
    except ConfigError as error:
        raise OnlineError(str(error)) from error


def unusable(redis_url: str) -> str | None:
    """Why the URL cannot be one of Redis, without a word of what could be a password in it."""
    try:
        Endpoint.of(redis_url)
    except EndpointError as error:
        return str(error)
    return None


@asynccontextmanager
async def cluster() -> AsyncIterator[Kube]:
    """The cluster that kubectl would ask. If it doesn't answer, or refuses, its own words end the command."""
    try:
        kube = await Kube.connect()
    except NoClusterKnownError as error:
        raise OnlineError(str(error)) from error
    try:
        yield kube
    except ApiError as error:
        raise OnlineError(_in_words(error, kube.address)) from error
    finally:
        await kube.close()


def _in_words(error: ApiError, address: str) -> str:
    if error.status == UNAUTHORIZED:
        return (
            f"the cluster at {address} does not know who asks ({error}): the token or the certificate of your kubeconfig is wrong "
            "or has expired: log in again"
        )
    if error.status:
        return f"the cluster refuses: {error}"
    return f"the cluster at {address} could not be asked: see whether kubectl reaches it, and try again ({error})"


def endpoint_of(at: Installation) -> Endpoint:
    """Where its Redis is, with the password of the environment."""
    if at.redis_url is None:
        raise CalledWronglyError(
            "it is not known where its Redis is: set --redis-url, or --config to the operator's own configuration"
        )
    try:
        return Endpoint.of(with_password_of_environment(at.redis_url))
    except EndpointError as error:
        raise CalledWronglyError(f"the URL of Redis {error}") from error
    except ConfigError as error:
        raise CalledWronglyError(str(error)) from error


@asynccontextmanager
async def redis_of(at: Installation) -> AsyncIterator[Redis]:
    endpoint = endpoint_of(at)
    try:
        redis = client(endpoint, Redis, patience=PATIENCE)
    except EndpointError as error:
        raise CalledWronglyError(f"the URL of Redis {error}") from error
    try:
        yield redis
    except REFUSALS as error:
        raise OnlineError(
            f"Redis at {endpoint.address} {refused(error, endpoint)}: {cure_of(error, endpoint, of_url=OF_URL)}"
        ) from error
    except (RedisError, OSError) as error:
        why = str(error) or ("it took too long" if isinstance(error, TimeoutError) else type(error).__name__)
        raise OnlineError(
            f"Redis at {endpoint.address} could not be asked, or refuses: {why}: see whether it runs, and whether its "
            "URL and its password are right"
        ) from error
    finally:
        await redis.aclose()
