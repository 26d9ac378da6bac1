"""The operator's configuration: one file, read once; every mistake in it is named before anything starts."""

import os
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlsplit, urlunsplit

import yaml
from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import PydanticCustomError
from redis.asyncio import ConnectionPool
from redis.exceptions import RedisError

from sluice.api import names
from sluice.api.base import Model
from sluice.api.problems import problems_of
from sluice.engines.profile import Profiles

HTTP_OFF = "off"
HTTP_ADDRESS = r"^(off|(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]*):[0-9]{1,5})$"
_MOST_NAMED = 10
REDIS_URL = r"^(rediss?|unix)://"
UNREADABLE = (
    "cannot be read as redis://USER:PASSWORD@HOST:PORT/DATABASE?OPTIONS: percent-encode / ? # @ [ ] in the password (/ as %2F, "
    "# as %23), or leave the password out and set SLUICE_REDIS_PASSWORD; a port is a number up to 65535, a database a number, and "
    "options are those of redis-py"
)
"""It has no part of the URL, because a password may stand at any place of one that is wrong."""


class ConfigError(Exception):
    """What is wrong with the configuration, and where."""


def is_readable(url: str) -> bool:
    """Whether redis-py finds in the URL what was meant. A / in a password makes a port of its beginning, or leaves the host out."""
    try:
        parts = urlsplit(url)
        if parts.scheme != "unix" and (parts.fragment or re.fullmatch(r"[/0-9]*", parts.path) is None):
            return False
        if parts.username is None and "@" in parts.query:
            return False
        ConnectionPool.from_url(url).make_connection()  # type: ignore[no-untyped-call]  # refuses options
    except (ValueError, TypeError, RedisError):
        return False
    return True


def _readable(url: str) -> str:
    if not is_readable(url):
        raise PydanticCustomError("rule", UNREADABLE)
    return url


class OperatorConfig(Model):
    deployment: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")] = names.DEPLOYMENT
    """The name of this installation: of its Lease object and its keys in Redis."""
    namespace: str = "default"
    """The namespace of the operator's own objects, such as the leader's Lease."""
    watch_namespaces: tuple[str, ...] = ()
    """The namespaces whose jobs it runs; empty: all."""
    redis_url: Annotated[str, Field(pattern=REDIS_URL), AfterValidator(_readable)] = (
        "redis://127.0.0.1:6379/0"
    )
    """Redis, as redis://, rediss:// or unix://. The environment variable SLUICE_REDIS_URL wins; the password in
    SLUICE_REDIS_PASSWORD counts where the URL has none."""
    http_address: Annotated[str, Field(pattern=HTTP_ADDRESS)] = ":8080"
    """Where /healthz, /readyz and /metrics are served, as HOST:PORT. Without a host: on all interfaces; at port 0: on a free
    one; "off": nowhere."""
    ttl_seconds_after_finished: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    """How long a finished job stays if it doesn't say so itself; by default until somebody deletes it."""
    api_qps: Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)] = 1000.0
    """Requests a second to the API server, without watches and the Lease's own; 0: no limit. The API server protects itself by
    priority and fairness; this keeps the operator from being the one that is held off."""
    api_burst: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Requests that may go out at once after a pause."""
    runtimes: Profiles
    """Runtime profiles; `default` serves jobs that name none."""


def load(path: Path) -> OperatorConfig:
    try:
        config = understood(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text: {error}") from error
    url = os.environ.get("SLUICE_REDIS_URL")
    if url and re.match(REDIS_URL, url) is None:
        raise ConfigError(
            "the environment variable SLUICE_REDIS_URL must begin with redis://, rediss:// or unix://"
        )
    if url and not is_readable(url):
        raise ConfigError(f"the environment variable SLUICE_REDIS_URL {UNREADABLE}")
    return config.model_copy(update={"redis_url": with_password(url or config.redis_url)})


def with_password(url: str) -> str:
    """Adds the environment's password where the URL has none. Whoever names a user in the URL names the password of that user."""
    password = os.environ.get("SLUICE_REDIS_PASSWORD", "")
    parts = urlsplit(url)
    if not password or parts.password is not None:
        return url
    user, _, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{place}"))


def understood(text: str, place: str) -> OperatorConfig:
    """Reads the configuration itself, whatever the environment says beside it."""
    try:
        config = OperatorConfig.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise ConfigError(f"{place}: is not YAML: {error}") from error
    except ValidationError as error:
        raise ConfigError(
            f"{place}: {problems_of(error, '', most=_MOST_NAMED, of=OperatorConfig)}"
        ) from error
    if "default" not in config.runtimes:
        raise ConfigError(f"{place}: runtimes.default: is missing: jobs without runtimeRef run on it")
    return config
