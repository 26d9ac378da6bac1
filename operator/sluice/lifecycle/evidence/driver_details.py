"""Where there is more to read of an attempt's driver than what its status says."""

from sluice.api.job_status import Attempt, AttemptDriver
from sluice.engines import Observation, Stage
from sluice.engines.attempt import driver_pod_name
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.job.job_view import JobView

_WITH_DRIVER = frozenset({Stage.RUNNING, Stage.ENDED, Stage.NOT_OVER})


def with_driver(job: JobView, attempt: Attempt, seen: Observation) -> Attempt:
    """Returns the attempt with its driver, as soon as one was seen running; what was known of it once stays, but for the loss of a
    driver that was heard of again."""
    if seen.stage not in _WITH_DRIVER or (seen.stage is Stage.NOT_OVER and seen.exit_code is None):
        return attempt
    known = attempt.driver or AttemptDriver(pod=driver_pod_name(attempt.application))
    told: dict[str, str | None] = {
        "pod_uid": seen.pod_uid,
        "node": seen.node,
        "spark_application": seen.spark_application,
    }
    is_heard_of = seen.stage is Stage.RUNNING or seen.exit_code is not None
    loss = None if is_heard_of and known.pod_uid in (None, seen.pod_uid) else attempt.loss
    news = {field: said for field, said in told.items() if getattr(known, field) is None}
    if news.get("spark_application") is not None:
        news["history"] = _history(job, seen.spark_application)
    return attempt.model_copy(update={"driver": known.model_copy(update=news), "loss": loss})


def _history(job: JobView, spark_application: str | None) -> str | None:
    try:
        return job.profile.history_of(spark_application) if spark_application is not None else None
    except NotUnderstoodError:
        return None
