"""Whether the API server refuses what a replaced leader of the installation sends late: its admission policies, as the chart makes
them."""

from collections.abc import AsyncIterator

from sluice.api import names
from sluice.api.base import Json
from sluice.kube.client import Kube, NotFoundError
from sluice.kube.config_map import ConfigMap
from sluice.kube.resources import ADMISSION_BINDINGS, ADMISSION_POLICIES, Resource
from sluice.online.access.connection import Installation
from sluice.online.doctor.findings import Finding, fail, ok, warn

_CHECK = "admission policy"
_CURE = "upgrade the release with the chart of this version"


async def fencing_findings(kube: Kube, at: Installation) -> AsyncIterator[Finding]:
    found = False
    for judged in names.JUDGED_BY_EPOCH:
        name = names.epoch_policy(at.namespace, at.deployment, judged)
        policy = await _named(kube, ADMISSION_POLICIES, name)
        binding = await _named(kube, ADMISSION_BINDINGS, name)
        found |= policy is not None
        for what, body, wrong in (
            ("policy", policy, _wrong_in_policy(policy)),
            ("binding", binding, _wrong_in_binding(binding, at)),
        ):
            if body is not None and wrong is not None:
                yield fail(_CHECK, name, f"its {what} {wrong}", _CURE)
            elif body is None and at.admission_policy:
                yield fail(_CHECK, name, f"its {what} is not there, and nothing is granted without it", _CURE)
        if policy is not None and binding is not None and at.admission_policy is False:
            yield fail(
                _CHECK,
                name,
                "it is there, and the operator does not keep its parameter, so that every write of its account is refused",
                "set admissionPolicy: true in the operator's configuration",
            )
    if not found and not at.admission_policy:
        yield warn(
            _CHECK,
            "",
            "there is none: nothing refuses what a replaced leader sends late to the API server",
            "run one replica, and no more; the chart makes it from Kubernetes 1.30 on, unless admissionPolicy.enabled is false",
        )
    elif found:
        yield await _epoch(kube, at)


async def _epoch(kube: Kube, at: Installation) -> Finding:
    parameter = ConfigMap(kube, at.namespace, names.epoch_parameter(at.deployment))
    epoch = (await parameter.read()).data.get(names.EPOCH_KEY)
    if epoch is None:
        message = f"{parameter} says no epoch: all writes to the objects of runs are refused"
        return fail(_CHECK, "", message, "see why no operator leads: a leader makes it")
    return ok(_CHECK, "", f"{parameter} says that epoch {epoch} is in force")


async def _named(kube: Kube, resource: Resource, name: str) -> Json | None:
    try:
        return await kube.get(resource, None, name)
    except NotFoundError:
        return None


def _wrong_in_policy(policy: Json | None) -> str | None:
    spec = (policy or {}).get("spec") or {}
    if policy is not None and spec.get("failurePolicy", "Fail") != "Fail":
        return "lets writes pass where it cannot be asked (failurePolicy)"
    if policy is not None and spec.get("paramKind") != {"apiVersion": "v1", "kind": "ConfigMap"}:
        return "has no ConfigMap as its parameter (paramKind)"
    return None


def _wrong_in_binding(binding: Json | None, at: Installation) -> str | None:
    if binding is None:
        return None
    spec = binding.get("spec") or {}
    ref = spec.get("paramRef") or {}
    parameter = names.epoch_parameter(at.deployment)
    if spec.get("policyName") != binding["metadata"]["name"]:
        return "binds another policy (policyName)"
    if (ref.get("namespace"), ref.get("name")) != (at.namespace, parameter):
        return f"has another parameter than ConfigMap {at.namespace}/{parameter} (paramRef)"
    if ref.get("parameterNotFoundAction") != "Deny":
        return "lets writes pass where its parameter is missing (parameterNotFoundAction)"
    if "Deny" not in (spec.get("validationActions") or ()):
        return "refuses nothing (validationActions)"
    return None
