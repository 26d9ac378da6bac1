"""The kinds of objects that are read or written, and where the API server has them."""

from dataclasses import dataclass
from urllib.parse import quote

from sluice.api import names
from sluice.api.base import Json
from sluice.api.engine_kind import EngineKind
from sluice.engines import ENGINES, engine_of


@dataclass(frozen=True)
class Resource:
    api: str
    plural: str

    @property
    def group(self) -> str:
        """The group of its API; empty for the kinds of Kubernetes' core."""
        _, root, group, *_ = self.api.split("/")
        return "" if root == "api" else group

    @property
    def api_version(self) -> str:
        """What its objects have as apiVersion."""
        return self.api.removeprefix("/apis/").removeprefix("/api/")

    def path(self, namespace: str | None = None, name: str | None = None, sub: str | None = None) -> str:
        """The path of an object. Names may come from what others wrote: none leads elsewhere."""
        parts = [self.api]
        if namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts += [part for part in (self.plural, quote(name or "", safe=""), sub) if part]
        return "/".join(parts)


def plural_in(path: str) -> str:
    """The kind of objects that a path of the API server is about; empty where it asks which kinds there are."""
    _, root, *rest = path.split("/")
    if root not in ("api", "apis"):
        return ""
    rest = rest[1 if root == "api" else 2 :]
    if not rest:
        return ""
    return rest[2] if rest[0] == "namespaces" and len(rest) > 2 else rest[0]


def kind_in(path: str) -> str:
    """The kind of objects that a path below /apis is about, as people write it."""
    place, _, _ = path.partition("?")
    _, _, group, version, *_ = [*place.split("/"), "", ""]
    return f"{plural_in(place) or 'kinds'} of {group}/{version}"


def applications_like(body: Json) -> Resource:
    """The kind of which this application is."""
    return APPLICATIONS[engine_of(body).kind]


JOBS = Resource(f"/apis/{names.API_VERSION}", names.JOB_PLURAL)
POLICIES = Resource(f"/apis/{names.API_VERSION}", names.POLICY_PLURAL)
APPLICATIONS = {kind: Resource(engine.api, engine.plural) for kind, engine in ENGINES.items()}
KUBEFLOW_APPLICATIONS = APPLICATIONS[EngineKind.KUBEFLOW]
PODS = Resource("/api/v1", "pods")
EVENTS = Resource("/api/v1", "events")
LEASES = Resource("/apis/coordination.k8s.io/v1", "leases")
CONFIG_MAPS = Resource("/api/v1", "configmaps")
NAMESPACES = Resource("/api/v1", "namespaces")
SERVICE_ACCOUNTS = Resource("/api/v1", "serviceaccounts")
DEPLOYMENTS = Resource("/apis/apps/v1", "deployments")
OWN_ACCESS = Resource("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews")
ACCESS = Resource("/apis/authorization.k8s.io/v1", "subjectaccessreviews")
SECRETS = Resource("/api/v1", "secrets")
DEFINITIONS = Resource("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions")
ADMISSION_POLICIES = Resource("/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies")
ADMISSION_BINDINGS = Resource("/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings")
