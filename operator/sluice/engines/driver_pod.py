"""The driver's pod as an application asks for it: a given pod template, with what proves the driver's end added."""

from collections.abc import Mapping, Sequence
from typing import Any

from sluice.api import names
from sluice.templates.pod import DRIVER_CONTAINER


def with_proof(
    template: Mapping[str, Any],
    *,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    environment: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Our finalizer keeps the pod until its termination message is read, and the pod tells the lease even when the application is
    gone."""
    metadata, spec = template.get("metadata", {}), template.get("spec", {})
    given, others = containers(spec, DRIVER_CONTAINER)
    driver: dict[str, Any] = given | {"terminationMessagePolicy": "FallbackToLogsOnError"}
    if environment:
        driver["env"] = [*driver.get("env", []), *environment]
    return {
        **template,
        "metadata": metadata
        | {
            "labels": {**metadata.get("labels", {}), **labels},
            "annotations": {**metadata.get("annotations", {}), **annotations},
            "finalizers": [*metadata.get("finalizers", []), names.FINALIZER_LEASE],
        },
        "spec": spec | {"containers": [driver, *others]},
    }


def containers(spec: Mapping[str, Any], own: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Spark's own container, as the template has it, and those that run beside it."""
    given = spec.get("containers", [])
    others = [container for container in given if container["name"] != own]
    return next((container for container in given if container["name"] == own), {"name": own}), others
