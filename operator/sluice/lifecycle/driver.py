"""Where there is more to read of an attempt's driver than what its status says."""

from sluice.api.job_status import Attempt, AttemptDriver
from sluice.engines import Observation, Stage
from sluice.engines.attempt import driver_pod_name
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.job import JobView

_WITH_DRIVER = frozenset({Stage.RUNNING, Stage.ENDED})


def with_driver(job: JobView, attempt: Attempt, seen: Observation) -> Attempt:
    """Returns the attempt with its driver, as soon as one was seen running; what was known of it once stays."""
    known = attempt.driver
    if seen.stage not in _WITH_DRIVER or (known is not None and known.spark_application is not None):
        return attempt
    driver = AttemptDriver(
        pod=driver_pod_name(attempt.application),
        spark_application=seen.spark_application,
        history=_history(job, seen.spark_application),
    )
    return attempt.model_copy(update={"driver": driver})


def _history(job: JobView, spark_application: str | None) -> str | None:
    try:
        return job.profile.history_of(spark_application) if spark_application is not None else None
    except NotUnderstoodError:
        return None
