"""Whether the Spark operator serves the namespaces of jobs, where that can be seen; where not, nothing is said."""

from collections.abc import AsyncIterator

from sluice.engines.served_namespaces import LABELS, served_namespaces
from sluice.kube.client import ApiError, Kube
from sluice.kube.resources import DEPLOYMENTS
from sluice.online.access.connection import Installation
from sluice.online.doctor.findings import Finding, fail
from sluice.online.doctor.runtime_checks import job_namespaces


async def unserved(kube: Kube, at: Installation) -> AsyncIterator[Finding]:
    try:
        served = await _served(kube)
        namespaces = await job_namespaces(kube, at) if served else []
    except ApiError as error:
        if not error.status:
            raise
        return  # whoever asks may not see them
    told = "; ".join(f"{name} ({', '.join(sorted(some))})" for name, some in sorted(served.items()))
    for namespace in sorted(set(namespaces).difference(*served.values())):
        yield fail(
            "spark operator",
            f"namespace {namespace}",
            f"no Spark operator runs applications there, by the --namespaces of {told}",
            "add the namespace to spark.jobNamespaces of the Spark operator's chart",
        )


async def _served(kube: Kube) -> dict[str, frozenset[str]]:
    """The namespaces that each Deployment of a Spark operator serves; empty: none is known, or one of them serves all, or doesn't
    tell."""
    served = {}
    for one in (await kube.list(DEPLOYMENTS, None, LABELS))["items"]:
        found = served_namespaces(one)
        if not found:
            return {}
        served[f"Deployment {one['metadata']['namespace']}/{one['metadata']['name']}"] = found
    return served
