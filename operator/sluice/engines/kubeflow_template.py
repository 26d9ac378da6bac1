"""The spec of a user's own SparkApplication, for kubeflow's operator: what the protocol needs is added. All else passes through as
it is, known here or not."""

from collections.abc import Mapping
from typing import Any

from sluice.api.runtime import Driver, Executor
from sluice.engines.attempt import AttemptRun, driver_pod_name, executor_names
from sluice.engines.counts import count_in
from sluice.engines.driver_pod import with_proof
from sluice.engines.profile import RuntimeProfile
from sluice.templates.kubeflow import KubeflowTemplate


def profile_of(template: Mapping[str, Any], delta_version: str | None) -> RuntimeProfile:
    """What the application runs on, of a template that isn't refused: for the judgement of its writes, for its account, and for
    what it takes of the cluster. Which Delta is in its image, the template can't tell."""
    spec = KubeflowTemplate.as_stored(template)
    driver, executor = (template.get(part) or {} for part in ("driver", "executor"))
    return RuntimeProfile.model_construct(
        spark_version=spec.spark_version or "",
        delta_version=delta_version,
        service_account=_account(driver),
        driver=Driver.model_construct(cores=count_in(driver.get("cores"))),
        executor=Executor.model_construct(
            instances=count_in(executor.get("instances")), cores=count_in(executor.get("cores"))
        ),
        spark_conf=spec.settings,
    )


def _account(driver: Mapping[str, Any]) -> str | None:
    account = driver.get("serviceAccount")
    return account if isinstance(account, str) and account else None


def spec_of(
    run: AttemptRun, template: Mapping[str, Any], labels: dict[str, str], lease: dict[str, str]
) -> dict[str, Any]:
    """The template with what the protocol needs: docs/applications.md lists it."""
    driver = template.get("driver") or {}
    pod = KubeflowTemplate.as_stored(template).driver.template or {}
    return {
        **template,
        "sparkConf": {**run.settings, **(template.get("sparkConf") or {}), **executor_names(run.application)},
        "restartPolicy": (template.get("restartPolicy") or {}) | {"type": "Never"},
        "driver": driver
        | {
            "podName": driver_pod_name(run.application),
            "labels": (driver.get("labels") or {}) | labels,
            "template": with_proof(pod, labels=labels, annotations=lease, environment=run.environment),
        },
    }
