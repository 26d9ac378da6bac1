"""The kinds of objects that are read or written, and where the API server has them."""

from dataclasses import dataclass
from urllib.parse import quote

from sluice.engines import ENGINE


@dataclass(frozen=True)
class Resource:
    api: str
    plural: str

    def path(self, namespace: str | None = None, name: str | None = None, sub: str | None = None) -> str:
        """Names may come from what others wrote: none leads elsewhere."""
        parts = [self.api]
        if namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts += [part for part in (self.plural, quote(name or "", safe=""), sub) if part]
        return "/".join(parts)


def plural_in(path: str) -> str:
    """Of what kind of objects a path of the API server speaks; of none where it asks which kinds there are."""
    _, root, *rest = path.split("/")
    rest = rest[1 if root == "api" else 2 :]
    if not rest:
        return ""
    return rest[2] if rest[0] == "namespaces" and len(rest) > 2 else rest[0]


JOBS = Resource("/apis/sluice.dev/v1alpha1", "deltawritejobs")
POLICIES = Resource("/apis/sluice.dev/v1alpha1", "deltatablepolicies")
APPLICATIONS = Resource(ENGINE.api, ENGINE.plural)
PODS = Resource("/api/v1", "pods")
EVENTS = Resource("/api/v1", "events")
LEASES = Resource("/apis/coordination.k8s.io/v1", "leases")
CONFIG_MAPS = Resource("/api/v1", "configmaps")
NAMESPACES = Resource("/api/v1", "namespaces")
