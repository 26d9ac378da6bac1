"""What set-up asks of an API server, over HTTP: it needs no kubectl, which takes minutes to compile."""

import http
import http.client
import json
import re
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devenv.errors import DevError
from devenv.processes import wait_until

Json = dict[str, Any]
"""As in sluice.api.base, which cannot be imported here: set-up runs before there is any environment, with Python's own library."""

REQUEST_SECONDS = 30.0
SERVED_SECONDS = 300.0
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFAULT_NAMESPACE = "/api/v1/namespaces/default"
MANAGER = "sluice-dev"
APPLY = "application/apply-patch+yaml"
_NOT_YET = (http.HTTPStatus.NOT_FOUND, http.HTTPStatus.TOO_MANY_REQUESTS)
# YAML that we generated ourselves: block style, two spaces.
_NAME = re.compile(r"^metadata:\n(?:  .*\n)*?  name: (\S+)$", re.MULTILINE)


Call = Callable[[str, str, str | None], Json]
"""(method, path, body) to the object that the API server answers with; a body is one for server-side apply."""


class RefusedError(DevError):
    """The API server answered with an error."""

    def __init__(self, method: str, path: str, status: int, answer: bytes) -> None:
        super().__init__(f"The API server refused {method} {path} with {status}: {_told(answer)}")
        self.status = status


@dataclass(frozen=True)
class ApiServer:
    """An API server on this machine, known by its certificate, and the administrator's token for it."""

    port: int
    certificate: Path
    token: str

    def ready(self) -> bool:
        if not self.certificate.exists():
            return False
        try:
            return self._ask("GET", "/readyz", None)[0] == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False

    def call(self, method: str, path: str, body: str | None = None) -> Json:
        try:
            status, answer = self._ask(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            raise DevError(
                f"The API server on port {self.port} didn't answer {method} {path}: {error}"
            ) from error
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise RefusedError(method, path, status, answer)
        content: Json = json.loads(answer)
        return content

    def _ask(self, method: str, path: str, body: str | None) -> tuple[int, bytes]:
        connection = http.client.HTTPSConnection(
            "127.0.0.1",
            self.port,
            timeout=REQUEST_SECONDS,
            context=ssl.create_default_context(cafile=str(self.certificate)),
        )
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            headers["Content-Type"] = APPLY
        try:
            connection.request(method, path, None if body is None else body.encode(), headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


def apply(call: Call, path: str, manifest: str) -> Json:
    """Server-side apply of YAML or JSON; what others had set otherwise is set as the manifest says."""
    return call("PATCH", f"{path}?fieldManager={MANAGER}&force=true", manifest)


def install_crds(call: Call, files: Sequence[Path]) -> None:
    """Applies them and waits until the API server serves them."""
    paths = []
    for file in files:
        manifest = file.read_text(encoding="utf-8")
        found = _NAME.search(manifest)
        if found is None:
            raise DevError(f"The CRD {file} has no metadata.name: write it anew with ./dev generate.")
        paths.append(f"{DEFINITIONS}/{found[1]}")
        apply(call, paths[-1], manifest)
    for path in paths:
        _wait_until_served(call, path)


def create_default_account(call: Call) -> None:
    """The account that pods run as, where no controller makes it.

    The API server makes the namespace, but only some time after it has become ready.
    """
    apply(call, DEFAULT_NAMESPACE, _manifest("Namespace", "default"))
    apply(call, f"{DEFAULT_NAMESPACE}/serviceaccounts/default", _manifest("ServiceAccount", "default"))


def _wait_until_served(call: Call, path: str) -> None:
    if not wait_until(lambda: _served(call, call("GET", path, None)), SERVED_SECONDS):
        conditions = json.dumps(call("GET", path, None).get("status", {}).get("conditions"))
        raise DevError(f"The API server doesn't serve {path} after {SERVED_SECONDS:.0f} s: {conditions}")


def _served(call: Call, definition: Json) -> bool:
    """Established says that it will be: the API server begins a moment later, and says until then to come back."""
    conditions = (definition.get("status") or {}).get("conditions") or []  # null before anybody looked at it
    if not any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
        return False
    spec = definition["spec"]
    versions = [version["name"] for version in spec["versions"] if version["served"]]
    try:
        for version in versions:
            call("GET", f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1", None)
    except RefusedError as refusal:
        if refusal.status not in _NOT_YET:
            raise
        return False
    return True


def _told(answer: bytes) -> str:
    """The API server says what is wrong in a Status object; a proxy in between may say it in plain text."""
    text = answer.decode("utf-8", errors="replace")[:2000]
    try:
        return str(json.loads(text).get("message") or text)
    except (ValueError, AttributeError):
        return text


def _manifest(kind: str, name: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}})
