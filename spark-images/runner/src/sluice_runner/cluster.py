"""The API server as a pod knows it: its address from the environment, its account from the files that Kubernetes mounts.

The image brings no client of Kubernetes, and two kinds of requests need none. Whatever fails here is told and changes nothing
of the run. The connection is kept: a stream asks once a second for months, and a handshake costs the API server more than the
answer.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

APPLICATION = "SLUICE_APPLICATION"
"""The application's name, from the operator."""
ACCOUNT_FOLDER = "SLUICE_SERVICE_ACCOUNT"
_DEFAULT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_SECONDS = 5.0
"""For each request: a driver that is being ended has half a minute for everything."""
_MOST_BYTES = 4 * 1024 * 1024
_NO_SUCCESS = 300
MERGE = "application/merge-patch+json"


class NoClusterError(Exception):
    """This driver can't ask an API server at all."""


class RequestError(Exception):
    """The API server refused a request, or didn't answer."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class _Request:
    method: str
    path: str
    content: bytes | None
    headers: Mapping[str, str]


class _Kept:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connection: http.client.HTTPSConnection | None = None

    def __del__(self) -> None:
        if self.connection is not None:
            self.connection.close()


@dataclass(frozen=True)
class Cluster:
    host: str
    port: str
    folder: Path
    application: str
    _kept: _Kept = field(default_factory=_Kept, repr=False, compare=False)

    @classmethod
    def of_pod(cls, environment: Mapping[str, str] = os.environ) -> Cluster:
        """Raises `NoClusterError` where something is missing."""
        host, port = (environment.get(f"KUBERNETES_SERVICE_{what}") for what in ("HOST", "PORT"))
        application = environment.get(APPLICATION)
        if not application:
            raise NoClusterError(
                f"{APPLICATION} is not set, so that the driver does not know its application: "
                "it needs an operator of its own version"
            )
        if not host or not port:
            raise NoClusterError("KUBERNETES_SERVICE_HOST is not set: the driver does not run in a cluster")
        folder = Path(environment.get(ACCOUNT_FOLDER, _DEFAULT_FOLDER))
        if not (folder / "token").exists():
            raise NoClusterError(
                f"{folder}/token is not there: the driver's pod needs its service account's token "
                "(automountServiceAccountToken)"
            )
        return cls(host, port, folder, application)

    @property
    def address(self) -> str:
        return f"https://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, kind: str = "application/json"
    ) -> dict[str, Any]:
        """One at a time, whichever thread asks."""
        try:
            headers = {
                # Read each time: Kubernetes puts a new token there before the old one ends.
                "Authorization": f"Bearer {(self.folder / 'token').read_text(encoding='ascii').strip()}",
                "Accept": "application/json",
                "Content-Type": kind,
            }
            content = None if body is None else json.dumps(body).encode()
            with self._kept.lock:
                status, reason, text = self._exchange(_Request(method, path, content, headers))
            if status >= _NO_SUCCESS:
                raise RequestError(f"{status} {_message(text) or reason}", status)
            found = json.loads(text)
        except (OSError, ValueError, http.client.HTTPException) as error:
            # ValueError: an answer, or a token, that is none. HTTPException: an answer that was broken off.
            raise RequestError(f"{self.address} does not answer: {error}") from error
        return found if isinstance(found, dict) else {}

    def _exchange(self, request: _Request) -> tuple[int, str, bytes]:
        """A server closes a connection that was kept for long when it likes: then once more by another one. Should both arrive, the
        second finds what the first has done."""
        kept, self._kept.connection = self._kept.connection, None
        if kept is not None:
            try:
                return self._answer(kept, request)
            except (ConnectionError, ssl.SSLEOFError, http.client.BadStatusLine):
                pass
        return self._answer(self._opened(), request)

    def _answer(self, connection: http.client.HTTPSConnection, request: _Request) -> tuple[int, str, bytes]:
        """Keeps the connection only after a whole answer: whatever breaks in between, the next answer would be of this request."""
        is_whole = False
        try:
            connection.request(request.method, request.path, request.content, dict(request.headers))
            with connection.getresponse() as answer:
                text = _read(answer)
                is_whole = answer.isclosed() and not answer.will_close
        finally:
            if is_whole:
                self._kept.connection = connection
            else:
                connection.close()
        return answer.status, answer.reason, text

    def _opened(self) -> http.client.HTTPSConnection:
        """No proxy: the cluster is beside the driver, and one for the world outside doesn't know it."""
        return http.client.HTTPSConnection(self.host, int(self.port), timeout=_SECONDS, context=self._trust())

    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "ca.crt"))


def _read(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read(_MOST_BYTES)
    except (OSError, http.client.HTTPException):
        if answer.status < _NO_SUCCESS:
            raise
        return b""  # refused it has, whatever it was about to say


def _message(text: bytes) -> str | None:
    """The API server's own words."""
    try:
        told = json.loads(text)
    except ValueError:
        return None
    return str(told["message"]) if isinstance(told, dict) and "message" in told else None
