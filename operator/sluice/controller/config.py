"""The operator's configuration: one file, read once; every mistake in it is named before anything starts."""

import os
import re
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError

from sluice.api.base import Model
from sluice.api.problems import problems_of
from sluice.engines.profile import Profiles

HTTP_OFF = "off"
HTTP_ADDRESS = r"^(off|(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]*):[0-9]{1,5})$"
_MOST_NAMED = 10
REDIS_URL = r"^(rediss?|unix)://"


class ConfigError(Exception):
    """What is wrong with the configuration, and where."""


class OperatorConfig(Model):
    deployment: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")] = "sluice"
    """Names this installation: its Lease object and its keys in Redis."""
    namespace: str = "default"
    """Where the operator keeps its own objects, the leader's Lease among them."""
    watch_namespaces: tuple[str, ...] = ()
    """Namespaces whose jobs it runs; empty: all."""
    redis_url: Annotated[str, Field(pattern=REDIS_URL)] = "redis://127.0.0.1:6379/0"
    """Redis, as redis://, rediss:// or unix://. The environment variable SLUICE_REDIS_URL wins."""
    http_address: Annotated[str, Field(pattern=HTTP_ADDRESS)] = ":8080"
    """Where /healthz, /readyz and /metrics are served, as HOST:PORT; without a host on all interfaces, at port 0 on a free
    one, and at "off" nowhere."""
    ttl_seconds_after_finished: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    """How long a finished job stays that doesn't say so itself; by default until somebody deletes it."""
    api_qps: Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)] = 1000.0
    """Requests a second to the API server, without watches and the Lease's own; 0: as many as there are. The API server's own
    priority and fairness keeps it from harm; this keeps the operator from being the one who is held off."""
    api_burst: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Requests that may go out at once after a rest."""
    runtimes: Profiles
    """Runtime profiles; `default` serves jobs that name none."""


def load(path: Path) -> OperatorConfig:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        config = OperatorConfig.model_validate(content)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text: {error}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: is not YAML: {error}") from error
    except ValidationError as error:
        raise ConfigError(f"{path}: {problems_of(error, '', most=_MOST_NAMED, of=OperatorConfig)}") from error
    if "default" not in config.runtimes:
        raise ConfigError(f"{path}: runtimes.default: is missing: jobs without runtimeRef run on it")
    url = os.environ.get("SLUICE_REDIS_URL")
    if url and re.match(REDIS_URL, url) is None:
        raise ConfigError(
            "the environment variable SLUICE_REDIS_URL must begin with redis://, rediss:// or unix://"
        )
    return config.model_copy(update={"redis_url": url}) if url else config
