"""Decides what a job runs on: a profile from the operator's configuration, with the job's own overrides on top."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from sluice.api.base import Model
from sluice.api.engine_kind import EngineKind
from sluice.api.identifiers import HttpUrl, ObjectName, SemanticVersion
from sluice.api.runtime import Driver, Executor, Image, Runtime
from sluice.footprint import refused_settings
from sluice.templates.apache import OLDEST_SPARK
from sluice.templates.pod import ACCOUNT_FIELDS, DriverPod, ExecutorPod, problems_at


def _none_is_refused(conf: dict[str, str]) -> dict[str, str]:
    """Raises what is wrong with each setting at its own place: no job could run with it."""
    found = [((name,), why, conf[name]) for name, why in refused_settings(conf)]
    if found:
        raise problems_at("sparkConf", found)
    return conf


Named = Annotated[str, Field(min_length=1, max_length=253)]
_EVENT_LOGS = "spark.eventLog.enabled"


class BatchSchedulerOptions(Model):
    """What kubeflow's Spark operator tells a batch scheduler of an application."""

    queue: Named | None = None
    """The scheduler's queue."""
    priority_class_name: ObjectName | None = None
    """The PriorityClass of its group of pods."""
    resources: dict[Named, Named] | None = None
    """The least that it is given before any of its pods starts, such as {cpu: "4", memory: 8Gi}; else what its pods ask for."""


class RuntimeProfile(Model):
    """A named way to run jobs. Jobs choose one by `runtimeRef`; `default` serves those that don't."""

    image: Image | None = None
    """Container image with Spark, Delta and Sluice's runner. The local engine needs none."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    engine: EngineKind = EngineKind.KUBEFLOW
    """The Spark operator that runs its jobs: kubeflow (sparkoperator.k8s.io/v1beta2) or apache (spark.apache.org/v1, Spark 4.0 and
    later). The operator's `engines` must name it."""
    spark_version: SemanticVersion
    delta_version: SemanticVersion | None = None
    main_application_file: str = "local:///opt/sluice/run.py"
    """The path of the runner inside the image."""
    service_account: ObjectName | None = None
    driver: Driver = Driver(cores=1, memory="1g")
    executor: Executor = Executor(instances=1, cores=1, memory="1g")
    history_server: HttpUrl | None = None
    """The Spark history server that shows the event logs of its runs."""
    spark_conf: Annotated[dict[str, str], AfterValidator(_none_is_refused)] = Field(default_factory=dict)
    batch_scheduler: Literal["kube-scheduler", "volcano", "yunikorn"] | None = None
    """The batch scheduler that places its pods, as kubeflow's Spark operator knows it; that must have it enabled."""
    batch_scheduler_options: BatchSchedulerOptions | None = None
    """What that scheduler is told."""
    driver_pod: DriverPod = Field(default_factory=dict)
    """Pod template of the driver, for example with volumes, tolerations or environment variables."""
    executor_pod: ExecutorPod = Field(default_factory=dict)
    """Pod template of the executors."""

    @model_validator(mode="after")
    def _drivers_run_as_the_account_that_it_names(self) -> Self:
        given = self.driver_pod.get("spec", {})
        why = f"drivers run as the profile's serviceAccount, which is {self.service_account or 'not set'}: use that field"
        found = [
            (("driverPod", "spec", field), why, given[field])
            for field in ACCOUNT_FIELDS
            if given.get(field) not in (None, self.service_account)
        ]
        if found:
            raise problems_at("runtime", found)
        return self

    @model_validator(mode="after")
    def _a_history_server_has_something_to_show(self) -> Self:
        if self.history_server is not None and not self._writes_event_logs:
            raise ValueError(
                f"historyServer shows nothing of runs that write no event logs: set {_EVENT_LOGS} to true in its sparkConf, and "
                "spark.eventLog.dir to the folder that the server reads"
            )
        return self

    @model_validator(mode="after")
    def _its_engine_can_run_it(self) -> Self:
        if self.why_unfit is not None:
            raise ValueError(self.why_unfit)
        return self

    @property
    def why_unfit(self) -> str | None:
        """Why its engine cannot run it, also once a job has set fields of its own over it."""
        if self.engine is not EngineKind.APACHE:
            return None
        if int(self.spark_version.partition(".")[0]) < OLDEST_SPARK:
            return (
                f"engine apache runs Spark {OLDEST_SPARK}.0 and later, and sparkVersion is {self.spark_version}: use a later "
                "one, or engine kubeflow"
            )
        if self.batch_scheduler is not None or self.batch_scheduler_options is not None:
            return (
                "engine apache knows no batchScheduler: remove it and batchSchedulerOptions, or use engine kubeflow; "
                "spark.kubernetes.scheduler.name in sparkConf names a scheduler, too"
            )
        if "," in self.main_application_file:
            return "engine apache takes mainApplicationFile for a list where it has a comma: use a path without one"
        return None

    @property
    def _writes_event_logs(self) -> bool:
        return self.spark_conf.get(_EVENT_LOGS, "").strip().lower() == "true"

    def history_of(self, spark_application: str) -> str | None:
        """Returns the page of a run on the history server, if it will have one."""
        if self.history_server is None or not self._writes_event_logs:
            return None
        return f"{self.history_server.rstrip('/')}/history/{spark_application}/"

    def with_overrides(self, runtime: Runtime | None) -> "RuntimeProfile":
        if runtime is None:
            return self
        given: dict[str, Any] = runtime.model_dump(exclude_none=True)
        merged: dict[str, Any] = {"spark_conf": self.spark_conf | given.get("spark_conf", {})}
        if "driver" in given:
            merged["driver"] = Driver(**self.driver.model_dump() | given["driver"])
        if "executor" in given:
            merged["executor"] = Executor(**self.executor.model_dump() | given["executor"])
        return self.model_copy(update=given | merged)


Profiles = Annotated[dict[ObjectName, RuntimeProfile], Field(min_length=1)]
