"""A ConfigMap that several may write; each writes it only if it is still as it was read."""

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.api.base import Json
from sluice.kube.client import Kube, NotFoundError
from sluice.kube.resources import CONFIG_MAPS


@dataclass(frozen=True)
class Read:
    """The ConfigMap as it was when it was read; without a version if there was none."""

    body: Json

    @property
    def data(self) -> dict[str, str]:
        return self.body.get("data") or {}

    @property
    def is_new(self) -> bool:
        return "resourceVersion" not in self.body["metadata"]

    @property
    def is_immutable(self) -> bool:
        return bool(self.body.get("immutable"))


class ConfigMap:
    def __init__(self, kube: Kube, namespace: str, name: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self._name = name

    def __str__(self) -> str:
        return f"ConfigMap {self._namespace}/{self._name}"

    async def read(self) -> Read:
        try:
            return Read(await self._kube.get(CONFIG_MAPS, self._namespace, self._name))
        except NotFoundError:
            metadata = {"name": self._name, "namespace": self._namespace}
            return Read({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

    async def write(
        self, read: Read, data: dict[str, str], *, annotations: Mapping[str, str] | None = None
    ) -> Read:
        """Writes it, and returns it as it is then; fails with ConflictError if it is no longer as it was read. `annotations`: to be
        added to its own."""
        metadata = read.body["metadata"]
        told = (metadata.get("annotations") or {}) | dict(annotations or {})
        body = read.body | {"data": data, "metadata": metadata | ({"annotations": told} if told else {})}
        if read.is_new:
            return Read(await self._kube.create(CONFIG_MAPS, self._namespace, body))
        return Read(await self._kube.replace(CONFIG_MAPS, self._namespace, self._name, body))
