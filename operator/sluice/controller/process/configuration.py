"""The operator's configuration: one file, read once; every mistake in it is named before anything starts."""

import os
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AfterValidator, Field, StrictBool, ValidationError
from pydantic_core import PydanticCustomError

from sluice.api import names
from sluice.api.base import Model
from sluice.api.bounds import EACH_ONCE
from sluice.api.durations import Duration, LookInterval
from sluice.api.engine_kind import EngineKind
from sluice.api.policy import AGE_AFTER
from sluice.api.problems import problems_of
from sluice.api.validation import Checked
from sluice.engines.profile import Profiles
from sluice.leases.endpoint import Endpoint, EndpointError, with_password
from sluice.tables.owners import Owners, TableOwner
from sluice.templates import JobPermission, Permissions

HTTP_OFF = "off"
HTTP_ADDRESS = r"^(off|(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]*):[0-9]{1,5})$"
_MOST_NAMED = 10


class ConfigError(Exception):
    """What is wrong with the configuration, and where."""


def _readable(url: str) -> str:
    try:
        Endpoint.of(url)
    except EndpointError as error:
        raise PydanticCustomError("rule", str(error)) from error
    return url


class OperatorConfig(Model):
    deployment: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")] = names.DEPLOYMENT
    """The name of this installation: of its Lease object and its keys in Redis."""
    namespace: str = "default"
    """The namespace of the operator's own objects, such as the leader's Lease."""
    watch_namespaces: tuple[str, ...] = ()
    """The namespaces whose jobs it runs; empty: all."""
    shared_namespaces: Annotated[tuple[str, ...], Field(max_length=10_000)] = ()
    """The namespaces whose jobs may be named in the statuses and Events of one another's jobs; `*`: all. A job in a namespace
    that isn't among them is "a job in another namespace" to the others."""
    table_owners: Annotated[tuple[TableOwner, ...], Field(max_length=1000)] = ()
    """Which namespaces may have policies for which tables; a table that no entry names may have one from any."""
    job_permissions: Annotated[tuple[JobPermission, ...], Field(max_length=1000)] = ()
    """What jobs may ask of their pods, by namespace. Jobs of a namespace that no entry names may ask for what the Pod Security
    Standard "restricted" takes, and may run under any service account."""
    redis_url: Annotated[str, AfterValidator(_readable)] = "redis://127.0.0.1:6379/0"
    """Redis, as `leases/endpoint.py` reads it. The environment variable SLUICE_REDIS_URL wins; the password in the file that
    SLUICE_REDIS_PASSWORD_FILE names, or else in SLUICE_REDIS_PASSWORD, counts where the URL has none."""
    http_address: Annotated[str, Field(pattern=HTTP_ADDRESS)] = ":8080"
    """Where /healthz, /readyz and /metrics are served, as HOST:PORT. Without a host: on all interfaces; at port 0: on a free
    one; "off": nowhere."""
    ttl_seconds_after_finished: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    """How long a finished job stays if it doesn't say so itself; by default until somebody deletes it."""
    age_after: Duration = AGE_AFTER
    """How long a job waits until it has aged, where no policy of its tables says so: docs/operations.md, "Who goes next"."""
    policy_look: LookInterval = "5m"
    """How long it takes at most until a policy's table is looked at again, between 1s and 24h. Each look that finds something new
    may write the policy's status."""
    engines: Annotated[tuple[EngineKind, ...], Field(min_length=1), Checked(EACH_ONCE)] = (
        EngineKind.KUBEFLOW,
    )
    """The Spark operators whose applications it makes and follows: kubeflow (sparkoperator.k8s.io/v1beta2), apache
    (spark.apache.org/v1). It needs the rights on each; before one is taken out again, no application of its may be left."""
    api_qps: Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)] = 1000.0
    """Requests a second to the API server, without watches and the Lease's own; 0: no limit. The API server protects itself by
    priority and fairness; this keeps the operator from being the one that is held off."""
    api_burst: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Requests that may go out at once after a pause."""
    admission_policy: StrictBool = False
    """Whether the cluster has the chart's admission policy, by which the API server refuses what a replaced leader sends late.
    Where it should be and doesn't refuse, nothing is granted; without it run one replica."""
    runtimes: Profiles
    """Runtime profiles; `default` serves jobs that name none."""

    @property
    def owners(self) -> Owners:
        return Owners(self.table_owners)

    @property
    def permissions(self) -> Permissions:
        accounts = {one.service_account for one in self.runtimes.values() if one.service_account is not None}
        return Permissions(self.job_permissions, frozenset(accounts))

    @property
    def redis(self) -> Endpoint:
        return Endpoint.of(self.redis_url)


def load(path: Path) -> OperatorConfig:
    try:
        config = understood(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text: {error}") from error
    url = os.environ.get("SLUICE_REDIS_URL")
    if url:
        try:
            Endpoint.of(url)
        except EndpointError as error:
            raise ConfigError(f"the environment variable SLUICE_REDIS_URL {error}") from error
    return config.model_copy(update={"redis_url": with_password_of_environment(url or config.redis_url)})


def with_password_of_environment(url: str) -> str:
    """Adds the environment's password where the URL has none."""
    file = os.environ.get("SLUICE_REDIS_PASSWORD_FILE", "")
    if file and not file.startswith("/"):
        raise ConfigError(
            f"the environment variable SLUICE_REDIS_PASSWORD_FILE must be a path that begins with a slash, not {file!r}"
        )
    return with_password(url, password=os.environ.get("SLUICE_REDIS_PASSWORD", ""), file=file)


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
    for name, profile in config.runtimes.items():
        if profile.engine not in config.engines:
            raise ConfigError(
                f"{place}: runtimes.{name}.engine: is {profile.engine}, which engines does not name: add it there"
            )
    if "default" not in config.runtimes:
        raise ConfigError(f"{place}: runtimes.default: is missing: jobs without runtimeRef run on it")
    return config
