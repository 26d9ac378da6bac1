"""The service account that a driver runs as: its rights in its job's namespace, and the commands that make it there."""

import json
from collections.abc import Mapping
from types import MappingProxyType

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


def commands(namespace: str, account: str) -> str:
    """The commands that make the account with these rights. `kubectl create role` gives all resources of a Role the same verbs."""
    role = f"{account}-driver"
    manifest = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": role},
        "rules": driver_rules(),
    }
    return (
        f"kubectl create serviceaccount {account} -n {namespace} && "
        f"echo '{json.dumps(manifest, separators=(',', ':'))}' | kubectl apply -n {namespace} -f - && "
        f"kubectl create rolebinding {role} -n {namespace} --role={role} --serviceaccount={namespace}:{account}"
    )


def missing(namespace: str, account: str) -> str:
    return (
        f"namespace {namespace} has no service account {account} for drivers to run as: create it, and create the job "
        f"again: {commands(namespace, account)}"
    )
