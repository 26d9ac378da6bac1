"""The spec of a user's own SparkApplication, for Apache's operator: what the protocol needs is added. All else passes through as it
is, known here or not."""

from collections.abc import Mapping
from typing import Any

from sluice.api.runtime import Driver, Executor
from sluice.engines.apache_settings import TOLERATIONS, identity_of
from sluice.engines.attempt import AttemptRun
from sluice.engines.counts import count_in
from sluice.engines.driver_pod import with_proof
from sluice.engines.profile import RuntimeProfile
from sluice.engines.stamped_metadata import labels_of, lease_of
from sluice.templates.apache import ApacheTemplate

_ACCOUNT = "spark.kubernetes.authenticate.driver.serviceAccountName"


def profile_of(template: Mapping[str, Any], delta_version: str | None) -> RuntimeProfile:
    """What the application runs on, of a template that isn't refused: for the judgement of its writes, for its account, and for
    what it takes of the cluster. Which Delta is in its image, the template can't tell."""
    spec = ApacheTemplate.as_stored(template)
    conf = spec.spark_conf
    pod = (spec.driver_spec.pod_template_spec or {}).get("spec") or {}
    return RuntimeProfile.model_construct(
        spark_version=spec.runtime_versions.spark_version or "",
        delta_version=delta_version,
        service_account=conf.get(_ACCOUNT) or pod.get("serviceAccountName") or None,
        driver=Driver.model_construct(cores=_number_in(conf, "spark.driver.cores")),
        executor=Executor.model_construct(
            instances=_number_in(conf, "spark.executor.instances"),
            cores=_number_in(conf, "spark.executor.cores"),
        ),
        spark_conf=spec.settings,
    )


def _number_in(conf: Mapping[str, str], name: str) -> int:
    given = conf.get(name, "").strip()
    return count_in(int(given) if given.isdecimal() and len(given) < 6 else None)


def spec_of(run: AttemptRun, template: Mapping[str, Any]) -> dict[str, Any]:
    """The template with what the protocol needs: docs/applications.md lists it."""
    pod = ApacheTemplate.as_stored(template).driver_spec.pod_template_spec or {}
    given = template.get("applicationTolerations") or {}
    merged = {
        name: (given.get(name) or {}) | ours if isinstance(ours, dict) else ours
        for name, ours in TOLERATIONS.items()
    }
    return {
        **template,
        "sparkConf": {**run.settings, **(template.get("sparkConf") or {}), **identity_of(run)},
        "applicationTolerations": given | merged,
        "driverSpec": (template.get("driverSpec") or {})
        | {
            "podTemplateSpec": with_proof(
                pod, labels=labels_of(run), annotations=lease_of(run), environment=run.environment
            )
        },
    }
