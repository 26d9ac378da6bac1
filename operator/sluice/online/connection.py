"""The way to the installation that a command is about: its name in the cluster, its Kubernetes, its Redis."""

import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from kubernetes.aio.config import ConfigException
from redis.asyncio import Redis
from redis.exceptions import RedisError

from sluice.controller.config import ConfigError, load
from sluice.kube.client import ApiError, Kube
from sluice.online.errors import OnlineError

PATIENCE = 5.0


@dataclass(frozen=True)
class Installation:
    """Which operator is meant."""

    namespace: str
    deployment: str
    redis_url: str | None = None
    """None: nobody has said where its Redis is."""
    watch_namespaces: tuple[str, ...] = ()
    """Whose jobs it runs, as far as that was said; empty: all namespaces."""


def installation(
    config: Path | None,
    *,
    namespace: str | None = None,
    deployment: str | None = None,
    redis_url: str | None = None,
) -> Installation:
    """As the operator's own configuration file names it; what is given beside it wins."""
    if config is None:
        return Installation(namespace or "default", deployment or "sluice", redis_url)
    try:
        known = load(config)
    except ConfigError as error:
        raise OnlineError(str(error)) from error
    return Installation(
        namespace or known.namespace,
        deployment or known.deployment,
        redis_url or known.redis_url,
        known.watch_namespaces,
    )


@asynccontextmanager
async def cluster() -> AsyncIterator[Kube]:
    """The cluster that kubectl would ask. What it doesn't answer or refuses ends the command with its own words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where it looked is said with what it didn't find
            kube = await Kube.connect()
    except (ConfigException, OSError) as error:
        raise OnlineError(
            f"no cluster is known ({str(error).rstrip('.')}): set KUBECONFIG, or run this inside the cluster"
        ) from error
    try:
        yield kube
    except ApiError as error:
        raise OnlineError(f"the cluster refuses: {error}" if error.status else str(error)) from error
    finally:
        await kube.close()


@asynccontextmanager
async def redis_of(at: Installation) -> AsyncIterator[Redis]:
    if at.redis_url is None:
        raise OnlineError(
            "say where its Redis is, by --redis-url or by the operator's own configuration (--config)"
        )
    try:
        client = Redis.from_url(
            at.redis_url,
            decode_responses=True,
            socket_timeout=PATIENCE,
            socket_connect_timeout=PATIENCE,
        )
    except ValueError as error:
        raise OnlineError(f"--redis-url: {error}") from error
    try:
        yield client
    except (RedisError, OSError) as error:
        raise OnlineError(f"Redis: {error}") from error
    finally:
        await client.aclose()
