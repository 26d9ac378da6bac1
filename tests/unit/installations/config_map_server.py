"""An API server that has one ConfigMap."""

from typing import Any

from sluice.api.base import Json
from sluice.kube.client import ConflictError, NotFoundError


class Server:
    """Has one ConfigMap, and takes it only under the version that it has."""

    def __init__(self) -> None:
        self.body: Json | None = None
        self.writes = 0

    async def get(self, *_: Any) -> Json:
        if self.body is None:
            raise NotFoundError(404, "NotFound", "not there")
        return self.body

    async def create(self, _: Any, __: str, body: Json) -> Json:
        if self.body is not None:
            raise ConflictError(409, "AlreadyExists", "it is there")
        return self._taken(body)

    async def replace(self, _: Any, __: str, ___: str, body: Json) -> Json:
        if self.body is None:
            raise NotFoundError(404, "NotFound", "not there")
        if body["metadata"]["resourceVersion"] != self.body["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "it was changed")
        return self._taken(body)

    def _taken(self, body: Json) -> Json:
        self.writes += 1
        self.body = body | {"metadata": body["metadata"] | {"resourceVersion": str(self.writes)}}
        return self.body
