"""What the operator would create for a job: its SparkApplication, with what only a grant tells put in words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Attempt
from sluice.controller.applications.applications import attempt_run
from sluice.controller.process.configuration import ConfigError, understood
from sluice.engines import RuntimeProfile, UnknownEngineError, engine_for
from sluice.engines.attempt import application_name
from sluice.engines.plan import PLAN_VARIABLE
from sluice.footprint import NotUnderstoodError
from sluice.kube.client import Kube, NotFoundError
from sluice.kube.kubeconfig import NoClusterKnownError, usual_namespace
from sluice.kube.resources import CONFIG_MAPS, JOBS
from sluice.leases import Epochs
from sluice.lifecycle.attempt.lease_evidence import lease_for
from sluice.lifecycle.job.job_view import JobView
from sluice.offline.files import STANDARD_INPUT
from sluice.online.access.connection import cluster, installation
from sluice.online.access.errors import CalledWronglyError, OnlineError
from sluice.online.access.job_names import job_names
from sluice.online.jobs.job_files import works_in

CONFIG_KEY = "sluice.yaml"
"""The operator's configuration, in the ConfigMap of its chart."""
TOKEN, EPOCH, LEASE, PLAN, UID = "<token>", "<epoch>", "<lease>", "<plan>", "<uid>"
"""What is known when the leases are granted, or once the job is created."""

_UNKNOWN_TOKEN = Epochs.token(Epochs.END - 1, 0)
_FILES = frozenset({".yaml", ".yml", ".json"})
Profiles = Mapping[str, RuntimeProfile]


class NotRenderedError(OnlineError):
    """The operator would refuse the job."""


def is_a_file(given: str) -> bool:
    path = Path(given)
    return path == STANDARD_INPUT or path.suffix in _FILES or path.exists()


async def rendered(given: str, config: Path | None, namespace: str | None) -> list[Json]:
    """The applications of a job in the cluster, or of those in a file: of these the cluster is asked nothing but a runtime
    profile that no --config tells."""
    if not is_a_file(given):
        async with cluster() as kube:
            return [await _of_cluster(kube, given, config, namespace)]
    bodies = [_as_created(work.manifest) for work in works_in([Path(given)], namespace, _usual(namespace))]
    profiles = _profiles_of(config)
    if profiles is None and any(_needs_profile(body) for body in bodies):
        profiles = await _profiles_of_cluster()
    return _all_of(bodies, profiles or {})


def _all_of(bodies: Sequence[Json], profiles: Profiles) -> list[Json]:
    """Their applications. Of a file with several jobs that are refused, each is told."""
    found, refused = [], []
    for body in bodies:
        try:
            found.append(application_of(body, profiles))
        except NotRenderedError as error:
            refused.append(str(error))
    if refused:
        raise NotRenderedError("\n".join(refused))
    return found


def application_of(body: Json, profiles: Profiles) -> Json:
    """The application of the job's attempt that is open, or else of the latest, or of the first."""
    job = JobView(body, dict(profiles), datetime.now(UTC))
    try:
        attempt = job.open_attempt or (job.status.attempts[-1] if job.status.attempts else _first(job))
        run = attempt_run(job, attempt, lease_for(job, attempt.number, job.spec_hash), Epochs.END - 1)
        kind = job.engine
    except NotUnderstoodError as error:
        raise _refused(job, *error.problems) from error
    except UnknownEngineError as error:
        raise _refused(job, str(error)) from error
    told = replace(
        run,
        lease=LEASE,
        arguments=(f"--plan={PLAN}",) if run.arguments else (),
        environment=tuple(
            one | {"value": PLAN} if one["name"] == PLAN_VARIABLE else one for one in run.environment
        ),
    )
    manifest: Json = engine_for(kind).manifest(told)
    words = {str(_UNKNOWN_TOKEN): TOKEN}
    if job.uid == UID:
        head, _, number = attempt.application.rsplit("-", 2)
        words[attempt.application] = f"{head}-{UID}-{number}"
    manifest["metadata"]["annotations"][names.ANNOTATION_WRITER_EPOCH] = EPOCH
    found: Json = _in_words(manifest, words)
    return found


def _refused(job: JobView, *problems: str) -> NotRenderedError:
    return NotRenderedError("\n".join(f"{job.key}: the operator would refuse it: {why}" for why in problems))


def _first(job: JobView) -> Attempt:
    return Attempt(
        number=1,
        token=_UNKNOWN_TOKEN,
        hash=job.spec_hash,
        application=application_name(job.name, job.uid, 1),
        engine=job.engine,
        granted_at=datetime.now(UTC),
    )


def _in_words(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _in_words(inner, words) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_in_words(inner, words) for inner in value]
    if isinstance(value, str):
        for known, word in words.items():
            value = value.replace(known, word)
    return value


def _as_created(manifest: Json) -> Json:
    return manifest | {"metadata": manifest["metadata"] | {"uid": UID, "generation": 1}}


def _needs_profile(body: Json) -> bool:
    spec = body.get("spec")
    return not (isinstance(spec, dict) and "application" in spec)


def _usual(namespace: str | None) -> str:
    try:
        return namespace or usual_namespace()
    except NoClusterKnownError:
        return "default"


async def _of_cluster(kube: Kube, given: str, config: Path | None, namespace: str | None) -> Json:
    (job,) = job_names([given], namespace)
    try:
        body = await kube.get(JOBS, job.namespace, job.name)
    except NotFoundError:
        raise OnlineError(f"there is no job {job}, and no file {given}") from None
    profiles = _profiles_of(config)
    if profiles is None and _needs_profile(body):
        profiles = await _profiles_in(kube)
    return application_of(body, profiles or {})


def _profiles_of(config: Path | None) -> Profiles | None:
    """As the file says, or in an operator's pod its own."""
    return installation(config).profiles


async def _profiles_of_cluster() -> Profiles:
    """For jobs of a file, which may be looked at where there is no cluster."""
    try:
        async with cluster() as kube:
            return await _profiles_in(kube)
    except CalledWronglyError:
        raise
    except OnlineError as error:
        raise OnlineError(f"{error}; or name the file with the runtime profiles by --config") from error


async def _profiles_in(kube: Kube) -> Profiles:
    """The runtime profiles of the cluster's one installation."""
    maps = (await kube.list(CONFIG_MAPS, None, names.LABEL_CHART))["items"]
    texts = {
        f"{one['metadata']['namespace']}/{one['metadata']['name']}": text
        for one in maps
        if (text := (one.get("data") or {}).get(CONFIG_KEY)) is not None
    }
    if len(texts) != 1:
        found = f"several: {', '.join(sorted(texts))}" if texts else "none"
        raise CalledWronglyError(
            f"the job's runtime profile stands in the operator's configuration, of which the cluster has {found}: "
            "name the file by --config"
        )
    [(place, text)] = texts.items()
    try:
        return understood(text, place).runtimes
    except ConfigError as error:
        raise OnlineError(str(error)) from error
