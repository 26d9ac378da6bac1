"""Jobs as people name them: NAME in a namespace given beside it, or NAMESPACE/NAME."""

from collections.abc import Sequence
from dataclasses import dataclass

from sluice.api import names
from sluice.kube.kubeconfig import NoClusterKnownError, usual_namespace
from sluice.online.access.errors import CalledWronglyError, OnlineError


@dataclass(frozen=True, order=True)
class JobName:
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def kubectl_delete(self) -> str:
        return f"kubectl delete {names.JOB_KIND.lower()} {self.name} -n {self.namespace}"


def namespace_or_usual(given: str | None) -> str:
    try:
        return given or usual_namespace()
    except NoClusterKnownError as error:
        raise OnlineError(str(error)) from error


def job_names(texts: Sequence[str], namespace: str | None) -> tuple[JobName, ...]:
    """The jobs, each once."""
    found: dict[JobName, None] = {}
    for text in texts:
        where, slash, name = text.rpartition("/")
        if not name or "/" in where or (slash and not where):
            raise CalledWronglyError(f"{text!r} names no job: write NAME, or NAMESPACE/NAME")
        found[JobName(where or namespace_or_usual(namespace), name)] = None
    return tuple(found)
