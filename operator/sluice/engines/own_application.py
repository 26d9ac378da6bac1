"""What is read of a user's own application: whether it can be run at all, and what its template says that a job's runtime profile
says elsewhere."""

from sluice.api.engine_kind import EngineKind
from sluice.api.job import Application
from sluice.api.runtime import Runtime
from sluice.engines import apache_template, kubeflow_template
from sluice.engines.profile import RuntimeProfile


def why_refused(application: Application) -> str | None:
    """What of it cannot be run, with its place and what to do."""
    if application.engine is EngineKind.KUBEFLOW:
        return kubeflow_template.why_refused(application.template)
    return apache_template.why_refused(application.template)


def profile_of(application: Application, runtime: Runtime | None) -> RuntimeProfile:
    """What an application that isn't refused runs on."""
    delta_version = runtime.delta_version if runtime is not None else None
    if application.engine is EngineKind.KUBEFLOW:
        return kubeflow_template.profile_of(application.template, delta_version)
    return apache_template.profile_of(application.template, delta_version)
