"""Service accounts with exactly the rights of a list, and kubeconfigs that act as them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from integration.objects import Server
from sluice.kube.rights import Right, asks

Rule = tuple[str, str, Mapping[str, list[str]]]
"""An API group, verbs, and resources with the names that are allowed of each; none: all."""
Rules = Mapping[str | None, list[dict[str, Any]]]
"""Rules of roles by namespace; None: of the cluster."""


def rules_of(rights: Iterable[Right], own_namespace: str, watched: tuple[str, ...]) -> Rules:
    rules: dict[str | None, list[dict[str, Any]]] = {}
    for ask in asks(rights, own_namespace, watched):
        rule = {
            "apiGroups": [ask.right.resource.group],
            "resources": [ask.right.plural],
            "verbs": [ask.verb],
            **({"resourceNames": [ask.right.name]} if ask.right.name else {}),
        }
        rules.setdefault(ask.namespace, []).append(rule)
    return rules


@contextmanager
def account_with(kubeconfig: Path, namespace: str, name: str, rules: Rules) -> Iterator[dict[str, Any]]:
    """Yields a kubeconfig of a new account, which is allowed what the rules say, and no more than every account besides."""
    server = Server.of(kubeconfig)
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    server.ask("POST", accounts, {"metadata": {"name": name}})
    who = [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]
    metadata = {"metadata": {"name": f"{namespace}-{name}"}}
    for place, content in rules.items():
        kind = "ClusterRole" if place is None else "Role"
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": f"{namespace}-{name}"}
        server.ask("POST", _roles(place, "roles"), metadata | {"rules": content})
        server.ask("POST", _roles(place, "rolebindings"), metadata | {"roleRef": ref, "subjects": who})
    asked = {"spec": {"expirationSeconds": 3600}}
    granted = server.ask("POST", f"{accounts}/{name}/token", asked)
    assert granted is not None
    content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    content["users"][0]["user"] = {"token": granted["status"]["token"]}
    try:
        yield content
    finally:
        for place in rules:
            for kind in ("rolebindings", "roles"):
                server.ask("DELETE", f"{_roles(place, kind)}/{namespace}-{name}")
        server.ask("DELETE", f"{accounts}/{name}")


@contextmanager
def kubeconfig_with(kubeconfig: Path, namespace: str, folder: Path, *rules: Rule) -> Iterator[Path]:
    """Yields the kubeconfig of an account that may do this in the namespace."""
    allowed = [
        {"apiGroups": [group], "verbs": verbs.split(), "resources": [resource]}
        | ({"resourceNames": names} if names else {})
        for group, verbs, resources in rules
        for resource, names in resources.items()
    ]
    with account_with(kubeconfig, namespace, "of-few-rights", {namespace: allowed}) as content:
        file = folder / "kubeconfig"
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        yield file


def _roles(namespace: str | None, kind: str) -> str:
    api = "/apis/rbac.authorization.k8s.io/v1"
    return f"{api}/cluster{kind}" if namespace is None else f"{api}/namespaces/{namespace}/{kind}"
