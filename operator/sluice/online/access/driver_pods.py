"""The pods of drivers, which tell how far runs have come sooner than the jobs' statuses do."""

from collections.abc import Mapping, Sequence

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import AttemptProgress, Phase
from sluice.engines.attempt import LABEL_ROLE, driver_pod_name
from sluice.engines.progress import progress_from, progress_of
from sluice.kube.client import ApiError, Kube
from sluice.kube.resources import PODS
from sluice.online.access.job_objects import attempts_of, key_of, phase_of

_FORBIDDEN = 403

DriverPods = Mapping[str, Json]
"""By namespace and name."""


async def driver_pods(kube: Kube, namespaces: Sequence[str]) -> DriverPods | None:
    """Those in these namespaces, or in all. None: whoever asks may not list them."""
    selector = f"{names.LABEL_JOB_UID},{LABEL_ROLE}=driver"
    try:
        return {
            key_of(pod): pod
            for namespace in namespaces or (None,)
            async for page in kube.pages(PODS, namespace, selector)
            for pod in page["items"]
        }
    except ApiError as error:
        if error.status != _FORBIDDEN:
            raise
        return None


def progress_in(job: Json, pods: DriverPods) -> AttemptProgress | None:
    """How far the job's run has come, by its driver's pod, or else by its status."""
    attempts = attempts_of(job)
    if not attempts or phase_of(job) != Phase.RUNNING.value:
        return None
    return progress_of(driver_of(job, pods)) or progress_from(attempts[-1].get("progress"))


def driver_of(job: Json, pods: DriverPods) -> Json | None:
    """The pod of its latest attempt's driver."""
    attempts = attempts_of(job)
    if not attempts:
        return None
    driver = driver_pod_name(str(attempts[-1].get("application", "")))
    return pods.get(f"{job['metadata'].get('namespace', '')}/{driver}")
