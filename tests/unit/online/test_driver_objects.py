"""Whose the objects are that stand in the way of an uninstall, and what is said of them."""

import pytest

from sluice.api import names
from sluice.installations.claims import Claim, Identity
from sluice.kube.resources import KUBEFLOW_APPLICATIONS, PODS, Resource
from sluice.online.access.connection import Installation
from sluice.online.leases.driver_objects import HeldObject, why_needed

SECOND = Installation("ops", "second")


def _held(name: str, namespace: str = "etl", resource: Resource = PODS) -> HeldObject:
    metadata = {"name": name, "namespace": namespace, "finalizers": ["other", names.FINALIZER_LEASE]}
    return HeldObject(resource, {"metadata": metadata})


def _claims(*claims: tuple[str, str, tuple[str, ...]]) -> dict[str, str]:
    made = [
        Claim(Identity(cluster, "ops", deployment), namespaces, "r:1/0", deployment, "", "")
        for cluster, deployment, namespaces in claims
    ]
    return {claim.identity.key: claim.to_json() for claim in made}


def test_each_is_named_with_the_command_that_takes_our_finalizer_off_the_first() -> None:
    why = why_needed(SECOND, [_held("a", resource=KUBEFLOW_APPLICATIONS), _held("b")], {})
    assert why.startswith(
        "sparkapplication.sparkoperator.k8s.io etl/a, pod etl/b have the finalizer sluice.dev/lease, so a driver"
    )
    assert "kubectl -n etl patch sparkapplication.sparkoperator.k8s.io a --type=json" in why
    assert '"path": "/metadata/finalizers/1"' in why


def test_of_many_the_first_are_named_and_their_number() -> None:
    assert "pod etl/9 and 2 more have" in why_needed(SECOND, [_held(str(n)) for n in range(12)], {})


@pytest.mark.parametrize("namespaces", [(), ("etl",)])
def test_whoever_has_no_claim_has_no_drivers_where_another_has_one(namespaces: tuple[str, ...]) -> None:
    assert not why_needed(SECOND, [_held("a")], _claims(("c", "first", namespaces)))


def test_what_nobody_claims_may_be_of_an_installation_whose_claim_was_deleted() -> None:
    claims = _claims(("c", "first", ("etl",)))
    why = why_needed(SECOND, [_held("a"), _held("b", "elsewhere")], claims)
    assert "pod elsewhere/b has the finalizer" in why
    assert "patch pod b " in why
    assert "etl/a" not in why


def test_no_command_is_printed_for_what_another_installation_claims() -> None:
    claims = _claims(("c", "first", ("etl",)), ("c", "second", ()))
    why = why_needed(SECOND, [_held("a"), _held("b", "elsewhere")], claims)
    assert "patch pod b " in why
    assert (
        "pod etl/a has the finalizer sluice.dev/lease, in a namespace that installation first in ops" in why
    )
    assert "patch pod a" not in why


def test_a_claim_that_came_with_a_backup_of_another_cluster_covers_nothing() -> None:
    claims = _claims(("former", "first", ()), ("c", "second", ()))
    why = why_needed(SECOND, [_held("a")], claims)
    assert "patch pod a " in why
    assert "first" not in why


@pytest.mark.parametrize("own", [(), (("c", "second", ()),)])
def test_no_command_is_printed_while_another_claim_cannot_be_read(
    own: tuple[tuple[str, str, tuple[str, ...]], ...],
) -> None:
    why = why_needed(SECOND, [_held("a")], _claims(*own) | {"ops.first": "{"})
    assert "the entry ops.first cannot be read" in why
    assert "patch" not in why


def test_an_own_claim_that_cannot_be_read_is_a_claim() -> None:
    claims = _claims(("c", "first", ("etl",))) | {"ops.second": "{"}
    why = why_needed(SECOND, [_held("a")], claims)
    assert "remove the entry ops.second" in why
    assert "patch" not in why
