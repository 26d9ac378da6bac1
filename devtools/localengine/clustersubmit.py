"""Submits an application in cluster mode: by spark-submit, with the arguments that the spark-operator gives it.

Real kubelets run the pods then, and a real garbage collector follows the owner references; this engine only writes the status.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import yaml

from localengine.application import DRIVER_CONTAINER, EXECUTOR_CONTAINER, Application
from localengine.controller import NAME_TAKEN, SubmissionError
from localengine.membership import MARKER, members
from sluice.api.base import Json

_POD_ALREADY_EXISTS = ("code=409", "AlreadyExists")

# The fields of a driver or executor and the confs that they become.
_DRIVER_CONFS = {
    "cores": "spark.driver.cores",
    "coreRequest": "spark.kubernetes.driver.request.cores",
    "coreLimit": "spark.kubernetes.driver.limit.cores",
    "memory": "spark.driver.memory",
    "memoryOverhead": "spark.driver.memoryOverhead",
    "serviceAccount": "spark.kubernetes.authenticate.driver.serviceAccountName",
    "javaOptions": "spark.driver.extraJavaOptions",
    "kubernetesMaster": "spark.kubernetes.driver.master",
    "image": "spark.kubernetes.driver.container.image",
}
_EXECUTOR_CONFS = {
    "instances": "spark.executor.instances",
    "cores": "spark.executor.cores",
    "coreRequest": "spark.kubernetes.executor.request.cores",
    "coreLimit": "spark.kubernetes.executor.limit.cores",
    "memory": "spark.executor.memory",
    "memoryOverhead": "spark.executor.memoryOverhead",
    "serviceAccount": "spark.kubernetes.authenticate.executor.serviceAccountName",
    "javaOptions": "spark.executor.extraJavaOptions",
    "deleteOnTermination": "spark.kubernetes.executor.deleteOnTermination",
    "image": "spark.kubernetes.executor.container.image",
}


class ClusterSubmitter:
    def __init__(self, api_server: str, spark_submit: str, work: Path) -> None:
        self._api_server = api_server
        self._spark_submit = spark_submit
        self._work = work

    def refusal(self, application: Application) -> str | None:  # noqa: ARG002 - Spark itself takes the rest
        return None

    async def submit(self, application: Application, submission_id: str) -> None:
        folder = self._folder(submission_id)
        folder.mkdir(parents=True)
        options = arguments(application, submission_id, self._api_server, folder)
        await self._run(options, submission_id, folder / "errors")
        shutil.rmtree(folder)

    def is_submitting(self, submission_id: str) -> bool:
        if members(submission_id):
            return True
        shutil.rmtree(self._folder(submission_id), ignore_errors=True)
        return False

    def _folder(self, submission_id: str) -> Path:
        return self._work / "submitting" / submission_id

    async def _run(self, options: list[str], submission_id: str, errors: Path) -> None:
        """A spark-submit that is ended halfway leaves a driver without its ConfigMap, so it outlives the engine."""
        with errors.open("wb") as output:
            process = subprocess.Popen(  # noqa: ASYNC220 - asyncio would end it together with the engine
                [self._spark_submit, *options],
                env={**_environment(self._spark_submit), MARKER: submission_id},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=True,
            )
        while (status := process.poll()) is None:  # noqa: ASYNC110 - nothing tells of a process that asyncio doesn't own
            await asyncio.sleep(0.1)
        if status != 0:
            raise _failure(status, errors)


def _environment(spark_submit: str) -> dict[str, str]:
    """Without PYSPARK_PYTHON and its like: spark-submit would hand this machine's paths on to the driver's container.
    PySpark's spark-submit then finds its Spark by the Python beside it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    return {**kept, "PATH": os.pathsep.join([str(Path(spark_submit).parent), kept.get("PATH", os.defpath)])}


def _failure(status: int, errors: Path) -> SubmissionError:
    told = _without_frames(errors.read_text(errors="replace"))
    shutil.rmtree(errors.parent)
    if any(sign in told for sign in _POD_ALREADY_EXISTS):
        return SubmissionError(NAME_TAKEN)
    return SubmissionError(f"failed to run spark-submit: {told[-4000:] or f'exit status {status}'}")


def _without_frames(told: str) -> str:
    """What Java says, without where in its code: the reason stands before hundreds of such lines."""
    return "\n".join(line for line in told.splitlines() if not line.startswith("\tat "))


def arguments(application: Application, submission_id: str, api_server: str, folder: Path) -> list[str]:
    """spark-submit's arguments; the pod templates they name are written into `folder`."""
    spec = application.spec
    conf = {
        "spark.kubernetes.namespace": application.namespace,
        "spark.kubernetes.submission.waitAppCompletion": "false",
        **{key: spec[field] for field, key in _IMAGE_CONFS.items() if spec.get(field)},
        "spark.driver.cores": "1",
        "spark.driver.memory": "1g",
        "spark.executor.cores": "1",
        "spark.executor.memory": "1g",
        "spark.executor.instances": "1",
        **application.spark_conf,
        **{f"spark.hadoop.{key}": value for key, value in (spec.get("hadoopConf") or {}).items()},
        "spark.kubernetes.driver.pod.name": application.driver_pod_name,
        **_pod_confs("driver", application.driver, _DRIVER_CONFS, application, submission_id),
        **_pod_confs("executor", application.executor, _EXECUTOR_CONFS, application, submission_id),
        **{
            f"spark.kubernetes.driverEnv.{name}": value
            for name, value in (application.driver.get("envVars") or {}).items()
        },
    }
    if spec.get("imagePullSecrets"):
        conf["spark.kubernetes.container.image.pullSecrets"] = ",".join(spec["imagePullSecrets"])
    for role, container, owner in (
        ("driver", DRIVER_CONTAINER, application.owner_reference()),
        ("executor", EXECUTOR_CONTAINER, application.owner_reference(controller=False)),
    ):
        template = _template(spec[role].get("template"), container, owner)
        file = folder / f"{role}-pod-template.yaml"
        file.write_text(yaml.safe_dump(template))
        conf[f"spark.kubernetes.{role}.podTemplateFile"] = str(file)
        conf[f"spark.kubernetes.{role}.podTemplateContainerName"] = container
    deps = spec.get("deps") or {}
    return [
        *("--master", f"k8s://{api_server}", "--deploy-mode", "cluster", "--name", application.name),
        *(("--class", spec["mainClass"]) if spec.get("mainClass") else ()),
        *(
            part
            for option, field in _DEPS
            for part in ((option, ",".join(deps[field])) if deps.get(field) else ())
        ),
        *(part for key, value in conf.items() for part in ("--conf", f"{key}={value}")),
        spec["mainApplicationFile"],
        *(spec.get("arguments") or []),
    ]


_IMAGE_CONFS = {
    "image": "spark.kubernetes.container.image",
    "imagePullPolicy": "spark.kubernetes.container.image.pullPolicy",
}
_DEPS = (("--jars", "jars"), ("--py-files", "pyFiles"), ("--files", "files"))


def _pod_confs(
    role: str, pod: Json, confs: dict[str, str], application: Application, submission_id: str
) -> dict[str, str]:
    labels = {**application.labels_for_pods(submission_id), **(pod.get("labels") or {})}
    return {
        **{key: _conf_value(pod[field]) for field, key in confs.items() if field in pod},
        **{f"spark.kubernetes.{role}.label.{key}": value for key, value in labels.items()},
        **{
            f"spark.kubernetes.{role}.annotation.{key}": value
            for key, value in (pod.get("annotations") or {}).items()
        },
    }


def _conf_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _template(given: Json | None, container: str, owner: Json) -> Json:
    template: Json = given or {"spec": {"containers": [{"name": container}]}}
    metadata = template.get("metadata") or {}
    owners = [*(metadata.get("ownerReferences") or []), owner]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        **template,
        "metadata": {**metadata, "ownerReferences": owners},
    }
