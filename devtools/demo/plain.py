"""The jobs of the demo as plain SparkApplications: what is created for them, and what became of them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.comparison import Run, seconds_between
from demo.scenario import DemoJob
from sluice.api.base import Json
from sluice.api.job import DeltaWriteJobSpec
from sluice.engines.kubeflow import GROUP, VERSION
from sluice.engines.plan import plan_arguments, plan_for
from sluice.engines.profile import RuntimeProfile

PROGRAM = Path(__file__).with_name("plain_application.py")
ENDED = frozenset({"COMPLETED", "FAILED"})


@dataclass(frozen=True)
class PlainJob:
    """A job, and the name of the SparkApplication that does its work without Sluice."""

    job: DemoJob
    application: str

    def manifest(self, namespace: str, runtime: Json) -> Json:
        spec = DeltaWriteJobSpec.model_validate(self.job.spec)
        plan = plan_for(
            {"namespace": namespace, "name": self.job.name, "uid": "none"},
            spec,
            RuntimeProfile.model_validate(runtime),
            run_key=self.application,
            spec_hash="none",
            attempt=1,
            token=1,
        )
        return {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": "SparkApplication",
            "metadata": {"name": self.application, "namespace": namespace},
            "spec": {
                "type": "Python",
                "mode": "cluster",
                "sparkVersion": runtime["sparkVersion"],
                "mainApplicationFile": f"local://{PROGRAM}",
                "arguments": plan_arguments(plan),
                "sparkConf": runtime["sparkConf"],
                "restartPolicy": {"type": "Never"},
                "driver": runtime["driver"],
                "executor": {"instances": 1, "cores": 1, "memory": "1g"},
            },
        }


@dataclass(frozen=True)
class PlainState:
    """One application and its driver's pod, as the cluster shows them."""

    application: Json
    pod: Json

    @property
    def ended(self) -> bool:
        """Whether the driver has said its last: the application alone may say so before its pod does."""
        return self._state in ENDED and ("terminated" in self._container or not self.pod)

    @property
    def status(self) -> Json:
        """Phase and message in the form of a job's status, for the same view."""
        if self.ended:
            run = self.run()
            return {
                "phase": "Succeeded" if run.succeeded else "Failed",
                "message": f"{run.outcome} after {run.compute:.0f} s of compute",
            }
        if "running" in self._container or "terminated" in self._container:
            return {"phase": "Running", "message": "its driver runs, whoever else writes the table"}
        return {"phase": "Starting", "message": "its SparkApplication exists"}

    def run(self) -> Run:
        terminated = self._container.get("terminated", {})
        compute = seconds_between(terminated.get("startedAt"), terminated.get("finishedAt")) or 0.0
        if self._state == "COMPLETED":
            return Run("Committed", True, compute)
        return Run(_exception(terminated) or self._error, False, compute)

    @property
    def _state(self) -> str:
        return str(self._application_state.get("state", ""))

    @property
    def _error(self) -> str:
        return str(self._application_state.get("errorMessage") or "no reason told")

    @property
    def _application_state(self) -> dict[str, Any]:
        return dict(self.application.get("status", {}).get("applicationState", {}))

    @property
    def _container(self) -> dict[str, Any]:
        statuses = self.pod.get("status", {}).get("containerStatuses") or [{}]
        return dict(statuses[0].get("state", {}))


def _exception(terminated: Json) -> str | None:
    """The exception's class from the termination message, if the driver came to write one."""
    try:
        told = json.loads(terminated.get("message", ""))
    except ValueError:
        return None
    return str(told["exception"]["class"])
