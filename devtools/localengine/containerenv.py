"""Resolves a container's environment as a kubelet does: plain values, references to Secrets, ConfigMaps and the pod's fields."""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Callable
from typing import Literal

from sluice.api.base import Json

Source = Literal["secrets", "configmaps"]
Fetch = Callable[[Source, str], Awaitable[Json | None]]

_EXPANSION = re.compile(r"\$(\$|\(([-._a-zA-Z][-._a-zA-Z0-9]*)\))")
_FIELDS = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "metadata.uid": ("metadata", "uid"),
    "spec.nodeName": ("spec", "nodeName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
}
_MAPPED_FIELD = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class CreateContainerConfigError(Exception):
    """The environment can't be made now; the kubelet shows this as the container's reason to wait."""


async def resolve(pod: Json, container: Json, fetch: Fetch) -> dict[str, str]:
    environment: dict[str, str] = {}
    for source in container.get("envFrom") or []:
        environment.update(await _all_of(source, fetch))
    for variable in container.get("env") or []:
        if "valueFrom" in variable:
            value = await _referenced(pod, variable["valueFrom"], fetch)
        else:
            value = expanded(variable.get("value") or "", environment)
        if value is not None:
            environment[variable["name"]] = value
    return environment


def expanded(text: str, environment: dict[str, str]) -> str:
    """`$(NAME)` becomes the value of a variable defined before, `$$` a dollar sign; what isn't defined stays as it is."""

    def replacement(match: re.Match[str]) -> str:
        if match[1] == "$":
            return "$"
        return environment.get(match[2], match[0])

    return _EXPANSION.sub(replacement, text)


async def _all_of(source: Json, fetch: Fetch) -> dict[str, str]:
    prefix = source.get("prefix", "")
    for key, kind in (("secretRef", "secrets"), ("configMapRef", "configmaps")):
        if key in source:
            values = await _values(kind, source[key], fetch)  # type: ignore[arg-type]
            return {prefix + name: value for name, value in values.items()}
    raise CreateContainerConfigError(f"envFrom {sorted(source)} is not supported by the local engine")


async def _referenced(pod: Json, reference: Json, fetch: Fetch) -> str | None:
    if "fieldRef" in reference:
        return _field(pod, reference["fieldRef"]["fieldPath"])
    for key, kind in (("secretKeyRef", "secrets"), ("configMapKeyRef", "configmaps")):
        if key in reference:
            wanted = reference[key]
            values = await _values(kind, wanted, fetch)  # type: ignore[arg-type]
            if wanted["key"] not in values and not wanted.get("optional"):
                raise CreateContainerConfigError(
                    f"couldn't find key {wanted['key']} in {kind[:-1]} {pod['metadata']['namespace']}/{wanted['name']}"
                )
            return values.get(wanted["key"])
    raise CreateContainerConfigError(f"valueFrom {sorted(reference)} is not supported by the local engine")


async def _values(kind: Source, reference: Json, fetch: Fetch) -> dict[str, str]:
    found = await fetch(kind, reference["name"])
    if found is None:
        if reference.get("optional"):
            return {}
        raise CreateContainerConfigError(f'{kind[:-1]} "{reference["name"]}" not found')
    data: dict[str, str] = found.get("data") or {}
    if kind == "configmaps":
        return data
    return {name: base64.b64decode(value).decode() for name, value in data.items()}


def _field(pod: Json, path: str) -> str:
    if path in _FIELDS:
        part, name = _FIELDS[path]
        return str(pod[part].get(name, ""))
    if match := _MAPPED_FIELD.fullmatch(path):
        return str((pod["metadata"].get(match[1]) or {}).get(match[2], ""))
    if path in ("status.podIP", "status.hostIP"):
        return "127.0.0.1"
    raise CreateContainerConfigError(f"fieldRef {path} is not supported by the local engine")
