"""Which kind of objects a request was about."""

import pytest

from sluice.kube.resources import (
    EVENTS,
    JOBS,
    KUBEFLOW_APPLICATIONS,
    LEASES,
    PODS,
    POLICIES,
    Resource,
    plural_in,
)

KINDS = (JOBS, POLICIES, KUBEFLOW_APPLICATIONS, PODS, EVENTS, LEASES)


@pytest.mark.parametrize("resource", KINDS, ids=lambda resource: resource.plural)
def test_each_path_tells_its_kind(resource: Resource) -> None:
    paths = (
        resource.path(),
        resource.path("etl"),
        resource.path("etl", "orders"),
        resource.path("etl", "orders", "status"),
        resource.path("namespaces", "namespaces"),
    )
    assert {plural_in(path) for path in paths} == {resource.plural}


@pytest.mark.parametrize(("resource", "version"), [(PODS, "v1"), (LEASES, "coordination.k8s.io/v1")])
def test_each_knows_what_its_objects_have_as_version(resource: Resource, version: str) -> None:
    assert resource.api_version == version


def test_discovery_is_about_no_kind() -> None:
    assert plural_in("/apis") == plural_in(JOBS.api) == ""


def test_namespaces_are_a_kind_themselves() -> None:
    namespaces = Resource("/api/v1", "namespaces")
    assert plural_in(namespaces.path()) == plural_in(namespaces.path(None, "etl")) == "namespaces"
