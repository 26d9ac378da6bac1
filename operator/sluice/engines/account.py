"""The service account that a driver runs as: its rights in its job's namespace, and the commands that make it there."""

import json
from collections.abc import Mapping
from types import MappingProxyType

from sluice.api.base import Json

DRIVER_RIGHTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "pods": ("get", "list", "watch", "create", "patch", "delete", "deletecollection"),
        "configmaps": ("get", "create", "patch", "deletecollection"),
        "persistentvolumeclaims": ("list", "create", "deletecollection"),
        "services": ("deletecollection",),
    }
)
"""Verbs by resource: what Spark's driver does for its executors, and what the runner writes. RBAC knows no owners and no names of
objects that are yet to be made: the chart's admission policy for drivers judges those."""


def driver_rules() -> list[dict[str, list[str]]]:
    """The rules of the driver's Role."""
    return [
        {"apiGroups": [""], "resources": [resource], "verbs": [*verbs]}
        for resource, verbs in DRIVER_RIGHTS.items()
    ]


def driver_role(name: str) -> Json:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name},
        "rules": driver_rules(),
    }


def commands(namespace: str, account: str) -> str:
    """The commands that make the account with these rights. `kubectl create role` gives all resources of a Role the same verbs."""
    role = f"{account}-driver"
    return (
        f"kubectl create serviceaccount {account} -n {namespace} && "
        f"echo '{json.dumps(driver_role(role), separators=(',', ':'))}' | kubectl apply -n {namespace} -f - && "
        f"kubectl create rolebinding {role} -n {namespace} --role={role} --serviceaccount={namespace}:{account}"
    )


def missing(namespace: str, account: str) -> str:
    return (
        f"namespace {namespace} has no service account {account} for drivers to run as: create it, and create the job "
        f"again: {commands(namespace, account)}"
    )
