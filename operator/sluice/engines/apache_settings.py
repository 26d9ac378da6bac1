"""What an application of Apache's Spark operator must say, so that the end of its one driver can be proved."""

from sluice.engines.attempt import AttemptRun, driver_pod_name, executor_names
from sluice.templates.pod import DRIVER_CONTAINER

_NEVER = -1
_NO_LIMIT = 0

TOLERATIONS = {
    "restartConfig": {"restartPolicy": "Never"},
    "resourceRetainPolicy": "Always",
    "resourceRetainDurationMillis": _NEVER,
    "ttlAfterStopMillis": _NEVER,
    "applicationTimeoutConfig": {
        "driverStartTimeoutMillis": _NO_LIMIT,
        "driverReadyTimeoutMillis": _NO_LIMIT,
        "executorStartTimeoutMillis": _NO_LIMIT,
    },
}
"""The operator starts no second driver, and leaves the pod of one that has ended: else it would wait for that pod to go before it
says that it is over, while our finalizer on the pod waits for it to say so. And as it leaves pods, it must not give up a driver
that only starts slowly."""


def identity_of(run: AttemptRun) -> dict[str, str]:
    """The settings by which the driver's pod, its container and its executors are found."""
    return {
        **executor_names(run.application),
        "spark.app.name": run.application,
        "spark.kubernetes.driver.pod.name": driver_pod_name(run.application),
        "spark.kubernetes.driver.podTemplateContainerName": DRIVER_CONTAINER,
    }
