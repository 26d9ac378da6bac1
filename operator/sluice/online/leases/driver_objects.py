"""Objects that carry our finalizer, behind which a driver may still write; and whose they are."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sluice.api import names
from sluice.api.base import Json
from sluice.api.engine_kind import EngineKind
from sluice.api.finalizers import has_finalizer, removal_of
from sluice.installations.claims import Identity, claim_key, other_claims
from sluice.kube.client import KindMissingError, Kube
from sluice.kube.resources import APPLICATIONS, PODS, Resource
from sluice.online.access.connection import Installation

MOST_NAMED = 10
_CLAIMS = f"ConfigMap {names.CLAIMS_NAMESPACE}/{names.CLAIMS}"


@dataclass(frozen=True)
class HeldObject:
    """An object with our finalizer."""

    resource: Resource
    body: Json

    @property
    def kind(self) -> str:
        one, group = self.resource.plural.removesuffix("s"), self.resource.group
        return f"{one}.{group}" if group else one

    @property
    def namespace(self) -> str:
        return str(self.body["metadata"]["namespace"])

    @property
    def named(self) -> str:
        return f"{self.kind} {self.namespace}/{self.body['metadata']['name']}"

    @property
    def without_finalizer(self) -> str:
        """The command that takes our finalizer off, and no other."""
        name, patch = self.body["metadata"]["name"], json.dumps(removal_of(names.FINALIZER_LEASE, self.body))
        return f"kubectl -n {self.namespace} patch {self.kind} {name} --type=json -p '{patch}'"


async def held_in(
    kube: Kube, namespaces: Sequence[str], engines: Iterable[EngineKind]
) -> AsyncIterator[HeldObject]:
    """All in these namespaces; none are named: in all."""
    for resource in (*(APPLICATIONS[engine] for engine in engines), PODS):
        for namespace in namespaces or (None,):
            try:
                async for page in kube.pages(resource, namespace):
                    for body in page["items"]:
                        if has_finalizer(body, names.FINALIZER_LEASE):
                            yield HeldObject(resource, body)
            except KindMissingError:
                continue  # no such Spark operator is installed, or no longer: drivers would be among the pods


def why_needed(at: Installation, found: Sequence[HeldObject], claims: Mapping[str, str]) -> str:
    """Why the installation may not go because of these; empty: it may. Whoever has no claim has never acted: what another
    installation claims is that one's. What nobody claims may be its own all the same: somebody may have deleted its claim."""
    if not found:
        return ""
    key = claim_key(at.namespace, at.deployment)
    try:
        others = other_claims(key, claims)
    except ValueError as error:
        return (
            f"{_have(found)}, and it is not known whose that is: {error} in {_CLAIMS}: put it right, or remove it once that "
            "installation is gone for good"
        )
    own: list[HeldObject] = []
    theirs: list[tuple[HeldObject, Identity]] = []
    for one in found:
        claim = next((claim for claim in others if claim.covers(one.namespace)), None)
        if claim is None:
            own.append(one)
        elif key in claims:
            theirs.append((one, claim.identity))
    reasons = []
    if theirs:
        rival = theirs[0][1]
        reasons.append(
            f"{_have([one for one, _ in theirs])}, in a namespace that installation {rival.deployment} in {rival.namespace} "
            f"claims, too: leave that to it; and if you are sure that {at.deployment} in {at.namespace} has run no job there, "
            f"remove the entry {key} from {_CLAIMS}"
        )
    if own:
        reasons.append(
            f"{_have(own)}, so a driver may still write: wait until the jobs have ended, or delete them and wait until they are "
            "gone. If no DeltaWriteJob owns it and you are sure that its driver is dead, take the finalizer off: "
            f"{own[0].without_finalizer}"
        )
    return ". ".join(reasons)


def _have(found: Sequence[HeldObject]) -> str:
    named = ", ".join(one.named for one in found[:MOST_NAMED])
    more = len(found) - MOST_NAMED
    verb = "has" if len(found) == 1 else "have"
    return f"{named}{f' and {more} more' if more > 0 else ''} {verb} the finalizer {names.FINALIZER_LEASE}"
