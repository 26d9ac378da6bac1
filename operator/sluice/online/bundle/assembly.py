"""Makes the bundle of a job, from the first question to the last."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from sluice.api import names
from sluice.online.access.connection import Installation, cluster
from sluice.online.access.errors import OnlineError
from sluice.online.access.job_names import job_names
from sluice.online.bundle.archive import Bundle
from sluice.online.bundle.collection import Collection
from sluice.online.bundle.job_parts import JobParts, collect_around_job, collect_job
from sluice.online.bundle.masked_objects import ObjectMasking
from sluice.online.bundle.operator_parts import (
    collect_operator,
    collect_versions,
    installation_of,
    version_of_this,
)


@dataclass(frozen=True)
class BundleOptions:
    job: str
    namespace: str | None = None
    operator_namespace: str | None = None
    deployment: str | None = None


@dataclass(frozen=True)
class MadeBundle:
    name: str
    """What the file is called where nobody says otherwise."""
    content: bytes
    not_collected: int


async def bundle_of(asked: BundleOptions, say: Callable[[str], None]) -> MadeBundle:
    """Raises OnlineError where nothing is there of such a job, or the cluster answers nobody."""
    (job,) = job_names([asked.job], asked.namespace)
    now = datetime.now(UTC)
    made_by = f"sluice {version_of_this()}"
    bundle = Bundle(str(job), now, made_by, ObjectMasking(job.name, job.namespace))
    async with cluster() as kube:
        collecting, found = Collection(kube, bundle, say), JobParts(job)
        await collect_job(collecting, found)
        if not found.is_there:
            why = "; ".join(f"{what}: {why}" for what, why in bundle.not_collected)
            raise OnlineError(f"nothing is there of a job {job}, or nothing that you may see: {why}")
        await collect_around_job(collecting, found)
        if asked.operator_namespace is not None:
            at: Installation | None = Installation(
                asked.operator_namespace, asked.deployment or names.DEPLOYMENT
            )
        else:
            at = await installation_of(collecting, job)
        if at is None:
            bundle.lacks("everything of the operator", "it is not known where it is")
        else:
            await collect_operator(collecting, found, at)
        await collect_versions(collecting, at)
    folder = f"sluice-bundle-{job.namespace}-{job.name}-{now:%Y%m%dT%H%M%SZ}"
    content = bundle.packed(folder)
    return MadeBundle(f"{folder}.tar.gz", content, len(bundle.not_collected))
