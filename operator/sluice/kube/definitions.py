"""Our own resources as the API server serves them, held against those of this version.

The published schemas are asked, which every account may read, and not the definitions themselves: they tell what is done with
what is written, whoever applied them.
"""

from dataclasses import dataclass

from sluice.api import names
from sluice.api.base import Json
from sluice.api.served_fields import KINDS, missing_in, unknown_in
from sluice.kube.client import ApiError, Kube, NotFoundError
from sluice.kube.resources import JOBS, POLICIES

PUBLISHED = f"/openapi/v3{JOBS.api}"
_MOST_NAMED = 3
_STATUS = "status"
_NO_STATUS = f"the subresource {_STATUS}"
_UNAVAILABLE = 503
_RESOURCES = {names.JOB_KIND: JOBS, names.POLICY_KIND: POLICIES}
_CURE = "apply the definitions of this version: kubectl apply --server-side -f crds/, or helm upgrade with its chart"


@dataclass(frozen=True)
class DefinitionDifference:
    """How a kind's definition in the cluster differs from this version's."""

    kind: str
    is_served: bool = True
    missing: tuple[str, ...] = ()
    """Fields and values that this version writes or reads, and that the API server would drop or refuse."""
    unknown: tuple[str, ...] = ()
    """Fields and values that only a later version knows."""

    @property
    def is_older(self) -> bool:
        return not self.is_served or bool(self.missing)

    @property
    def what(self) -> str:
        if not self.is_served:
            return f"the API server does not serve {self.kind} of {names.API_VERSION}"
        if self.missing:
            return f"the definition of {self.kind} in the cluster is from another version: it lacks {_few(self.missing)}"
        return f"the definition of {self.kind} in the cluster is from a later version: it also has {_few(self.unknown)}"

    @property
    def cure(self) -> str:
        return _CURE if self.is_older else ""

    def __str__(self) -> str:
        return f"{self.what}: {self.cure}" if self.cure else self.what


async def look_at_definitions(kube: Kube) -> tuple[DefinitionDifference, ...]:
    """Raises ApiError if the API server does not say what it serves. While it boots, it serves kinds before their schemas."""
    try:
        found = differences(await kube.ask(PUBLISHED))
    except NotFoundError:
        found = tuple(DefinitionDifference(kind, is_served=False) for kind in KINDS)
    for one in found:
        if not one.is_served and await kube.is_discovered(_RESOURCES[one.kind]):
            raise ApiError(
                _UNAVAILABLE,
                "NotPublished",
                f"the API server serves {one.kind} of {names.API_VERSION}, and has not published its schema yet",
            )
    return found


def differences(published: Json) -> tuple[DefinitionDifference, ...]:
    schemas = (published.get("components") or {}).get("schemas") or {}
    by_kind = {schema_kind(schema): schema for schema in schemas.values()}
    paths = published.get("paths") or {}
    return tuple(_difference(kind, by_kind.get(kind), paths) for kind in KINDS)


def schema_kind(schema: Json) -> str | None:
    """The kind of ours whose objects the schema describes."""
    kinds = schema.get("x-kubernetes-group-version-kind") or ()
    ours = [one["kind"] for one in kinds if (one["group"], one["version"]) == (names.GROUP, names.VERSION)]
    return ours[0] if ours else None


def _difference(kind: str, schema: Json | None, paths: Json) -> DefinitionDifference:
    if schema is None:
        return DefinitionDifference(kind, is_served=False)
    served = _RESOURCES[kind]
    has_status = f"{served.api}/namespaces/{{namespace}}/{served.plural}/{{name}}/{_STATUS}" in paths
    missing = missing_in(kind, schema) if has_status else (_NO_STATUS, *missing_in(kind, schema))
    return DefinitionDifference(kind, missing=missing, unknown=unknown_in(kind, schema))


def _few(fields: tuple[str, ...]) -> str:
    more = f" and {len(fields) - _MOST_NAMED} more" if len(fields) > _MOST_NAMED else ""
    return ", ".join(fields[:_MOST_NAMED]) + more
