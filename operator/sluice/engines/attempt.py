"""One attempt of a job, as the engines need it: a plain record, made by the controller."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from sluice.engines.profile import RuntimeProfile

DRIVER_SUFFIX = "-driver"
LABEL_ROLE = "spark-role"
LABEL_SPARK = "spark-app-selector"
"""A run's id in Spark, as its pods bear it."""
EXECUTOR_ROLE = "executor"
"""How Spark itself labels its executors' pods."""

_LONGEST_NAME = 63 - len(DRIVER_SUFFIX)
_EXECUTOR_NAMES = "spark.kubernetes.executor.podNamePrefix"
_LONGEST_PREFIX = 47
"""Spark takes no longer one."""


@dataclass(frozen=True)
class AttemptRun:
    namespace: str
    job: str
    job_uid: str
    number: int
    token: int
    writer_epoch: int
    lease: str
    profile: RuntimeProfile
    arguments: tuple[str, ...]
    environment: tuple[dict[str, Any], ...] = ()
    template: Mapping[str, Any] | None = None
    """The spec of the user's own application, which runs in place of the runner."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Spark settings for the user's own application, where it doesn't set them itself."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the job that its application and its pods bear, too."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Likewise."""

    @property
    def application(self) -> str:
        return application_name(self.job, self.job_uid, self.number)


def application_name(job: str, uid: str, number: int) -> str:
    """The application's name: it is fixed before anything is created, differs from any other attempt's, and is a name that
    Services could bear (DNS-1035)."""
    tail = f"-{sha256(uid.encode()).hexdigest()[:8]}-{number}"
    head = job.replace(".", "-")
    head = head if head[0].isalpha() else f"j-{head}"
    return head[: _LONGEST_NAME - len(tail)].rstrip("-") + tail


def driver_pod_name(application: str) -> str:
    return f"{application}{DRIVER_SUFFIX}"


def executor_names(application: str) -> dict[str, str]:
    """The setting by which the names of its executors and their claims begin, and no other application's do: the chart's policy for
    drivers computes it, too."""
    fits = len(application) <= _LONGEST_PREFIX
    return {_EXECUTOR_NAMES: application if fits else f"x{application[1 - _LONGEST_PREFIX :]}"}
