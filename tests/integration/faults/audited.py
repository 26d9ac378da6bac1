"""A control plane whose API server writes an audit log, and the writes that landed, as that log tells."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from devenv.processes import Argument
from devenv.stack import Stack, StackTools
from devenv.toolchain import cache, ensure_stack_tools
from integration.shared_stack import end
from sluice.api import names
from sluice.api.base import Json
from sluice.kube.resources import KUBEFLOW_APPLICATIONS

AUDITED = (
    {"group": names.GROUP, "resources": [names.JOB_PLURAL, f"{names.JOB_PLURAL}/status"]},
    {
        "group": KUBEFLOW_APPLICATIONS.group,
        "resources": [KUBEFLOW_APPLICATIONS.plural, f"{KUBEFLOW_APPLICATIONS.plural}/status"],
    },
    {"group": "", "resources": ["pods", "pods/status", "configmaps"]},
    {"group": "coordination.k8s.io", "resources": ["leases"]},
)
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {
            "level": "RequestResponse",
            "verbs": ["create", "update", "patch", "delete", "deletecollection"],
            "resources": list(AUDITED),
        },
        {"level": "None"},
    ],
}


class AuditedStack(Stack):
    def __init__(self, folder: Path, tools: StackTools) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.audit_log = folder / "audit.jsonl"
        self._policy = folder / "audit-policy.yaml"
        self._policy.write_text(yaml.safe_dump(POLICY), encoding="utf-8")
        super().__init__(folder, tools)

    def _apiserver(self, tools: StackTools) -> list[Argument]:  # type: ignore[override]  # a stack's tools are more
        return [
            *super()._apiserver(tools),
            f"--audit-policy-file={self._policy}",
            f"--audit-log-path={self.audit_log}",
            "--audit-log-maxsize=1000000",
        ]


@contextmanager
def audited_stack(folder: Path) -> Iterator[AuditedStack]:
    stack = AuditedStack(folder, ensure_stack_tools(cache()))
    stack.start()
    try:
        yield stack
    finally:
        end(stack)


@dataclass(frozen=True)
class Landed:
    """A write that the API server carried out, or began to."""

    received: float
    answered: float
    """It landed between the two."""
    user: str
    verb: str
    kind: str
    sub: str
    namespace: str
    name: str
    asked: Any
    body: Json
    """The object as it was after that; empty where the answer doesn't tell."""
    is_sure: bool = True
    """False where the API server broke off, and the write may have landed all the same."""

    @property
    def version(self) -> int | None:
        found = self.metadata.get("resourceVersion")
        return int(found) if found else None

    @property
    def metadata(self) -> Json:
        found = self.body.get("metadata")
        return found if isinstance(found, dict) and self.body.get("kind") != "Status" else {}

    @property
    def of(self) -> str:
        """The object's uid, as far as the answer tells it."""
        details = self.body.get("details")
        told = details.get("uid") if isinstance(details, dict) else None
        return str(self.metadata.get("uid") or told or f"{self.kind}/{self.name}")

    @property
    def is_gone(self) -> bool:
        """Whether nothing bears the name any more."""
        if self.verb == "delete" and not self.metadata:
            return True
        begun, grace = "deletionTimestamp" in self.metadata, self.metadata.get("deletionGracePeriodSeconds")
        return (begun or self.verb == "delete") and not grace and not self.metadata.get("finalizers")


def landed(lines: list[str]) -> list[Landed]:
    """In the order in which they landed, as far as anything tells."""
    writes = [write for line in lines if (write := _write(json.loads(line))) is not None]
    return sorted(writes, key=lambda write: write.answered)


def _write(event: Json) -> Landed | None:
    ref, code = event.get("objectRef") or {}, (event.get("responseStatus") or {}).get("code", 0)
    is_sure = 200 <= code < 300
    if not (is_sure or code >= 500) or "dryRun" in event["requestURI"]:
        return None
    return Landed(
        received=_seconds(event["requestReceivedTimestamp"]),
        answered=_seconds(event["stageTimestamp"]),
        user=event["user"]["username"],
        verb=event["verb"],
        kind=ref.get("resource", ""),
        sub=ref.get("subresource", ""),
        namespace=ref.get("namespace", ""),
        name=ref.get("name", "") or _name_in(event),
        asked=event.get("requestObject"),
        body=(event.get("responseObject") or {}) if is_sure else {},
        is_sure=is_sure,
    )


def _name_in(event: Json) -> str:
    return str(((event.get("responseObject") or {}).get("metadata") or {}).get("name", ""))


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
