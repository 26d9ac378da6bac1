"""The API server through its own API: fast enough for hundreds of manifests, and with the causes apart."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubernetes import client

from sluice.api import names

PLURALS = {names.JOB_KIND: names.JOB_PLURAL, names.POLICY_KIND: names.POLICY_PLURAL}


@dataclass(frozen=True)
class Refusal:
    """The API server's answer to a manifest that it doesn't take."""

    code: int
    message: str
    causes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Server:
    """What a test asks of the API server, always with strict validation as kubectl does."""

    resources: client.CustomObjectsApi
    namespace: str

    def try_to_create(self, manifest: dict[str, Any]) -> dict[str, Any] | Refusal:
        """What would be stored, without storing it."""
        return self.create(manifest, dry_run="All")

    def create(self, manifest: dict[str, Any], *, dry_run: str | None = None) -> dict[str, Any] | Refusal:
        return _answer(
            lambda: self.resources.create_namespaced_custom_object(
                names.GROUP,
                names.VERSION,
                self.namespace,
                PLURALS[manifest["kind"]],
                manifest,
                field_validation="Strict",
                dry_run=dry_run,
            )
        )

    def patch(self, name: str, patch: dict[str, Any], *, status: bool = False) -> dict[str, Any] | Refusal:
        """Merges into a job; a patch of the spec is only tried."""
        method = "patch_namespaced_custom_object" + ("_status" if status else "")
        options = {} if status else {"dry_run": "All", "field_validation": "Strict"}
        return _answer(
            lambda: getattr(self.resources, method)(
                names.GROUP, names.VERSION, self.namespace, names.JOB_PLURAL, name, patch, **options
            )
        )


def _answer(call: Callable[[], object]) -> dict[str, Any] | Refusal:
    try:
        answer = call()
    except client.ApiException as error:
        if error.body is None:
            raise
        status = json.loads(error.body)
        causes = tuple(
            (cause.get("field", ""), cause["message"])
            for cause in (status.get("details") or {}).get("causes", [])
        )
        return Refusal(error.status, status["message"], causes)
    assert isinstance(answer, dict), answer
    return answer
