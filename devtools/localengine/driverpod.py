"""Builds what spark-submit would: the driver's Pod, and the command that the driver runs on this machine.

In process mode no spark-submit talks to Kubernetes, so the Pod is made here: from `driver.template`, with the labels, the owner
and the names that Spark and the spark-operator give it.
"""

from __future__ import annotations

import copy
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from localengine.application import DRIVER_CONTAINER, LABEL_ROLE, LABEL_SELECTOR, Application
from sluice.api.base import Json

LOG_ANNOTATION = "localengine.sluice.dev/log"
SCHEDULER = "local-engine"


@dataclass(frozen=True)
class Runtime:
    """What a Spark image would bring: the programs, the classes and the variables of every driver on this machine."""

    spark_submit: str
    jars: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    default_cores: int = 1


def refusal(application: Application) -> str | None:
    """Why the application can't run as a process of this machine, or None."""
    main = application.spec["mainApplicationFile"]
    if not main.startswith("local:///"):
        return f"as a local process only mainApplicationFile local:///PATH can run, not {main}"
    spec = (application.driver.get("template") or {}).get("spec") or {}
    for part in ("initContainers", "ephemeralContainers"):
        if spec.get(part):
            return f"a local process has no {part}: take them out of driver.template"
    containers = spec.get("containers") or []
    if len(containers) > 1:
        return f"a local process has no side containers: driver.template has {len(containers)} containers"
    paths = {
        volume["name"]: (volume.get("hostPath") or {}).get("path") for volume in spec.get("volumes") or []
    }
    for mount in containers[0].get("volumeMounts") or [] if containers else []:
        if paths.get(mount["name"]) != mount["mountPath"] or mount.get("subPath"):
            return (
                f"a local process can't mount volume {mount['name']} at {mount['mountPath']}: "
                "only a hostPath volume under its own path is there"
            )
    return None


def pod(application: Application, submission_id: str) -> Json:
    """The driver's Pod, unbound: it gets its node when there is room for one more driver."""
    template = copy.deepcopy(application.driver.get("template") or {})
    metadata = template.get("metadata") or {}
    spec = template.get("spec") or {}
    container: Json = next(iter(spec.get("containers") or []), {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **{key: metadata[key] for key in ("finalizers",) if key in metadata},
            "name": application.driver_pod_name,
            "namespace": application.namespace,
            "labels": {
                **(metadata.get("labels") or {}),
                **application.labels_for_pods(submission_id),
                **(application.driver.get("labels") or {}),
                LABEL_SELECTOR: f"spark-{uuid.uuid4().hex}",
                LABEL_ROLE: "driver",
                "spark-app-name": application.name,
                "spark-version": application.spec["sparkVersion"],
            },
            "annotations": {
                **(metadata.get("annotations") or {}),
                **(application.driver.get("annotations") or {}),
            },
            "ownerReferences": [*(metadata.get("ownerReferences") or []), application.owner_reference()],
        },
        "spec": {
            **spec,
            "restartPolicy": "Never",
            "schedulerName": SCHEDULER,
            "containers": [
                {
                    **container,
                    "name": DRIVER_CONTAINER,
                    "image": application.driver.get("image")
                    or application.spec.get("image")
                    or "local-process",
                    "args": ["driver", *_program(application)],
                    "env": [*_declared_variables(application), *(container.get("env") or [])],
                }
            ],
        },
    }


def command(application: Application, runtime: Runtime) -> list[str]:
    """The driver as a process: what the image's entrypoint would run, with the executors inside of it."""
    options = str(application.driver.get("javaOptions", ""))
    conf = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.memory": str(application.driver.get("memory", "1g")),
        **({"spark.driver.extraJavaOptions": options} if options else {}),
        **{f"spark.hadoop.{key}": value for key, value in (application.spec.get("hadoopConf") or {}).items()},
        **{
            key: value
            for key, value in application.spark_conf.items()
            if not key.startswith("spark.kubernetes.")
        },
    }
    classes = [*runtime.jars, *filter(None, [conf.get("spark.driver.extraClassPath")])]
    if classes:
        conf["spark.driver.extraClassPath"] = ":".join(classes)
    deps = application.spec.get("deps") or {}
    cores = int(application.driver.get("cores") or runtime.default_cores)
    return [
        runtime.spark_submit,
        *("--master", f"local[{cores}]", "--name", application.name),
        *(part for key, value in conf.items() for part in ("--conf", f"{key}={value}")),
        *_list_option("--jars", deps.get("jars")),
        *_list_option("--py-files", deps.get("pyFiles")),
        *_list_option("--files", deps.get("files")),
        *_program(application),
    ]


def process_environment(runtime: Runtime, container: dict[str, str], folder: Path) -> dict[str, str]:
    """The process's environment: a container starts with its image's variables and its own; nothing of the engine's leaks into
    it."""
    return {
        **runtime.environment,
        **container,
        "SPARK_LOCAL_DIRS": str(folder / "tmp"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SLUICE_TERMINATION_LOG": str(folder / "termination-log"),
        "TMPDIR": str(folder / "tmp"),
    }


def _program(application: Application) -> list[str]:
    main_class = application.spec.get("mainClass")
    return [
        *(("--class", main_class) if main_class else ()),
        application.spec["mainApplicationFile"].removeprefix("local://"),
        *(application.spec.get("arguments") or []),
    ]


def _declared_variables(application: Application) -> list[Json]:
    return [
        {"name": name, "value": value} for name, value in (application.driver.get("envVars") or {}).items()
    ]


def _list_option(option: str, values: list[str] | None) -> tuple[str, ...]:
    return (option, ",".join(value.removeprefix("local://") for value in values)) if values else ()
