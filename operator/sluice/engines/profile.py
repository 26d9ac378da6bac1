"""What a job runs on: a profile of the operator's configuration, with the job's own overrides put over it."""

from typing import Annotated, Any

from pydantic import Field

from sluice.api.base import Model
from sluice.api.runtime import Driver, Executor, Runtime


class RuntimeProfile(Model):
    """A named way to run jobs. Jobs choose one by `runtimeRef`; `default` serves those that don't."""

    image: str | None = None
    """Container image with Spark, Delta and Sluice's runner. The local engine needs none."""
    image_pull_policy: str | None = None
    spark_version: str
    delta_version: str | None = None
    main_application_file: str = "local:///opt/sluice/run.py"
    """Where the runner is inside the image."""
    service_account: str | None = None
    driver: Driver = Driver(cores=1, memory="1g")
    executor: Executor = Executor(instances=1, cores=1, memory="1g")
    spark_conf: dict[str, str] = Field(default_factory=dict)
    driver_pod: dict[str, Any] = Field(default_factory=dict)
    """Pod template of the driver, such as volumes, tolerations or environment variables."""
    executor_pod: dict[str, Any] = Field(default_factory=dict)
    """Pod template of the executors."""

    def with_overrides(self, runtime: Runtime | None) -> "RuntimeProfile":
        if runtime is None:
            return self
        given = runtime.model_dump(exclude_none=True)
        update: dict[str, Any] = {
            name: given[name]
            for name in ("image", "spark_version", "delta_version", "service_account")
            if name in given
        }
        if runtime.driver is not None:
            update["driver"] = Driver(**self.driver.model_dump() | given["driver"])
        if runtime.executor is not None:
            update["executor"] = Executor(**self.executor.model_dump() | given["executor"])
        update["spark_conf"] = self.spark_conf | (runtime.spark_conf or {})
        return self.model_copy(update=update)


Profiles = Annotated[dict[str, RuntimeProfile], Field(min_length=1)]
