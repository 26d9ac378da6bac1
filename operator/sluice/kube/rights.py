"""What the operator needs to be allowed: the one list, by which its roles, the docs and its own checks go."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from sluice.api import names
from sluice.api.base import Json
from sluice.api.engine_kind import EngineKind
from sluice.kube.client import Kube
from sluice.kube.resources import (
    ACCESS,
    APPLICATIONS,
    CONFIG_MAPS,
    DEFINITIONS,
    EVENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    OWN_ACCESS,
    PODS,
    POLICIES,
    Resource,
)


class Where(StrEnum):
    JOBS = "cluster-wide, or each watched namespace"
    OWN = "its own namespace"
    CLAIMS = names.CLAIMS_NAMESPACE
    CLUSTER = "cluster-wide"
    CLUSTER_IF_ALL = "cluster-wide, where `watchNamespaces` is empty"


@dataclass(frozen=True)
class Right:
    verbs: tuple[str, ...]
    resource: Resource
    where: Where
    purpose: str
    """What it is needed for, as "to ..."."""
    sub: str = ""
    name: str = ""
    """The one object that it is about; empty: all. Whoever may create objects of a kind may create them under any name."""
    is_needed: bool = True
    """Whether jobs cannot be run without it."""

    @property
    def plural(self) -> str:
        """The resource as roles name it."""
        return f"{self.resource.plural}/{self.sub}" if self.sub else self.resource.plural


_READ = ("get", "list", "watch")
_FOLLOWED = ("list", "watch")
_DRIVEN = ("get", "list", "watch", "create", "patch", "delete")
_CHANGED = ("get", "update")
_TO_RUN = {
    EngineKind.KUBEFLOW: "to run attempts, where `engines` names kubeflow",
    EngineKind.APACHE: "to run attempts, where `engines` names apache",
}


def rights_of(deployment: str, engines: Collection[EngineKind] = tuple(EngineKind)) -> tuple[Right, ...]:
    """All that the operator of this installation needs, and nothing else."""
    return (
        Right(_READ, JOBS, Where.JOBS, "to read jobs"),
        Right(_FOLLOWED, POLICIES, Where.JOBS, "to read policies"),
        Right(("patch",), JOBS, Where.JOBS, "to write the statuses of jobs", sub="status"),
        Right(("patch",), POLICIES, Where.JOBS, "to write the statuses of policies", sub="status"),
        Right(("create",), JOBS, Where.JOBS, "to create the jobs of policies"),
        Right(
            ("delete",),
            JOBS,
            Where.JOBS,
            "to delete finished jobs whose `ttlSecondsAfterFinished` is over, and jobs of policies that are no longer wanted",
        ),
        *(Right(_DRIVEN, APPLICATIONS[engine], Where.JOBS, _TO_RUN[engine]) for engine in engines),
        Right(
            _DRIVEN,
            PODS,
            Where.JOBS,
            "to follow the drivers of attempts, and to take a driver's name by a pod",
        ),
        Right(("create",), EVENTS, Where.JOBS, "to tell Events of jobs and policies", is_needed=False),
        Right(("create",), EVENTS, Where.OWN, "to tell Events of its own Lease", is_needed=False),
        Right(("create",), LEASES, Where.OWN, "to lead, one at a time"),
        Right(_CHANGED, LEASES, Where.OWN, "to lead, one at a time", name=names.leader_lease(deployment)),
        Right(
            ("create",),
            CONFIG_MAPS,
            Where.OWN,
            "to write down leases that nothing explains, where runs reported that names lead, and which epoch is in force",
        ),
        Right(
            _CHANGED,
            CONFIG_MAPS,
            Where.OWN,
            "to write down leases that nothing explains",
            name=names.unexplained_leases(deployment),
        ),
        Right(
            _CHANGED,
            CONFIG_MAPS,
            Where.OWN,
            "to write down where runs reported that catalog names lead; without it such names are bound to nothing",
            name=names.reported_names(deployment),
            is_needed=False,
        ),
        Right(
            _CHANGED,
            CONFIG_MAPS,
            Where.OWN,
            "to say which epoch is in force, which the admission policy compares",
            name=names.epoch_parameter(deployment),
        ),
        Right(("create",), CONFIG_MAPS, Where.CLAIMS, "to claim its namespaces and its place in Redis"),
        Right(
            _CHANGED,
            CONFIG_MAPS,
            Where.CLAIMS,
            "to claim its namespaces and its place in Redis",
            name=names.CLAIMS,
        ),
        Right(("get",), NAMESPACES, Where.CLUSTER, "to know the cluster again", name=names.CLAIMS_NAMESPACE),
        Right(
            _FOLLOWED,
            DEFINITIONS,
            Where.CLUSTER_IF_ALL,
            "to follow which kinds there are; without it the log says so, and kopf looks only once",
            is_needed=False,
        ),
        Right(
            _FOLLOWED,
            NAMESPACES,
            Where.CLUSTER_IF_ALL,
            "to follow which namespaces there are; without it the log says so, and kopf looks only once",
            is_needed=False,
        ),
        *(
            Right(
                ("get",),
                DEFINITIONS,
                Where.CLUSTER,
                "to know that a Spark operator is not installed where `engines` names several; without it all have to be",
                name=f"{APPLICATIONS[engine].plural}.{APPLICATIONS[engine].group}",
                is_needed=False,
            )
            for engine in engines
            if len(engines) > 1
        ),
        Right(
            ("get",),
            LEASES,
            Where.CLUSTER,
            "to see whether a claim that is in the way is void; without it the claim stands",
            is_needed=False,
        ),
    )


@dataclass(frozen=True)
class AccessQuestion:
    """One thing that the API server may allow, or not."""

    verb: str
    right: Right
    namespace: str | None
    """None: in all namespaces, or of no namespace."""

    def __str__(self) -> str:
        group = self.right.resource.group
        what = f"{self.right.plural}.{group}" if group else self.right.plural
        one = f" {self.right.name}" if self.right.name else ""
        of_none = self.right.resource in (NAMESPACES, DEFINITIONS)
        place = f"in namespace {self.namespace}" if self.namespace else "" if of_none else "in all namespaces"
        return " ".join(part for part in (f"{self.verb} {what}{one}", place) if part)

    @property
    def attributes(self) -> Json:
        right = self.right
        asked = {
            "verb": self.verb,
            "group": right.resource.group,
            "resource": right.resource.plural,
            "subresource": right.sub,
            "name": right.name,
            "namespace": self.namespace or "",
        }
        return {name: value for name, value in asked.items() if value}


def asks(rights: Iterable[Right], own_namespace: str, watched: tuple[str, ...]) -> Iterator[AccessQuestion]:
    """All that an operator of this namespace needs that runs the jobs of these; none: of all."""
    places: dict[Where, tuple[str | None, ...]] = {
        Where.JOBS: watched or (None,),
        Where.OWN: (own_namespace,),
        Where.CLAIMS: (names.CLAIMS_NAMESPACE,),
        Where.CLUSTER: (None,),
        Where.CLUSTER_IF_ALL: () if watched else (None,),
    }
    for right in rights:
        for namespace in places[right.where]:
            for verb in right.verbs:
                yield AccessQuestion(verb, right, namespace)


async def may_i(kube: Kube, asked: AccessQuestion) -> bool:
    """Whether whoever asks is allowed that."""
    return _allowed(await kube.create(OWN_ACCESS, None, _review(asked, {})))


async def may_account(kube: Kube, asked: AccessQuestion, namespace: str, account: str) -> bool:
    """Whether the service account is allowed that; whoever asks must be allowed to create SubjectAccessReviews."""
    who = {
        "user": f"system:serviceaccount:{namespace}:{account}",
        "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"],
    }
    return _allowed(await kube.create(ACCESS, None, _review(asked, who)))


def _review(asked: AccessQuestion, who: Json) -> Json:
    kind = "SubjectAccessReview" if who else "SelfSubjectAccessReview"
    spec = who | {"resourceAttributes": asked.attributes}
    return {"apiVersion": ACCESS.api_version, "kind": kind, "spec": spec}


def _allowed(review: Json) -> bool:
    return bool((review.get("status") or {}).get("allowed"))
