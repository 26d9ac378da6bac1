"""What a run took of the cluster: the cores that its job asks for, times the seconds that its driver ran."""

from sluice.api.job_status import Attempt
from sluice.engines import RuntimeProfile


def core_seconds(profile: RuntimeProfile, attempt: Attempt) -> float:
    """The driver's and its executors' cores, as the profile and the job say, for the whole time: 0 if the driver was not seen to
    run."""
    if attempt.started_at is None or attempt.ended_at is None:
        return 0.0
    return cores_of(profile) * max(0.0, (attempt.ended_at - attempt.started_at).total_seconds())


def cores_of(profile: RuntimeProfile) -> int:
    executor = profile.executor
    return (profile.driver.cores or 1) + (executor.instances or 1) * (executor.cores or 1)
