"""The API server as a pod knows it: its address from the environment, its account from the files that Kubernetes mounts.

The image brings no client of Kubernetes, and two kinds of requests need none. Whatever fails here is told and changes nothing
of the run.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

APPLICATION = "SLUICE_APPLICATION"
"""The application's name, from the operator."""
ACCOUNT_FOLDER = "SLUICE_SERVICE_ACCOUNT"
_DEFAULT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_SECONDS = 5.0
"""For each request: a driver that is being ended has half a minute for everything."""
_MOST_BYTES = 4 * 1024 * 1024
MERGE = "application/merge-patch+json"


class NoClusterError(Exception):
    """This driver can't ask an API server at all."""


class RequestError(Exception):
    """The API server refused a request, or didn't answer."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Cluster:
    address: str
    folder: Path
    application: str

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
        return cls(f"https://{f'[{host}]' if ':' in host else host}:{port}", folder, application)

    def request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, kind: str = "application/json"
    ) -> dict[str, Any]:
        try:
            request = urllib.request.Request(  # noqa: S310 - the address begins with https
                f"{self.address}{path}",
                data=None if body is None else json.dumps(body).encode(),
                method=method,
                headers={
                    # Read each time: Kubernetes puts a new token there before the old one ends.
                    "Authorization": f"Bearer {(self.folder / 'token').read_text(encoding='ascii').strip()}",
                    "Accept": "application/json",
                    "Content-Type": kind,
                },
            )
            # The cluster is beside the driver, and a proxy for the world outside doesn't know it.
            opener = urllib.request.build_opener(
                urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self._trust())
            )
            with opener.open(request, timeout=_SECONDS) as answer:
                found = json.loads(answer.read(_MOST_BYTES))
        except urllib.error.HTTPError as error:
            raise RequestError(f"{error.code} {_message(error)}", error.code) from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            # ValueError: an answer, or a token, that is none. HTTPException: an answer that was broken off.
            raise RequestError(f"{self.address} does not answer: {error}") from error
        return found if isinstance(found, dict) else {}

    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "ca.crt"))


def _message(error: urllib.error.HTTPError) -> str:
    """The API server's own words."""
    try:
        told = json.loads(error.read(64 * 1024))
    except (OSError, ValueError, http.client.HTTPException):
        told = None
    return str(told["message"]) if isinstance(told, dict) and "message" in told else str(error.reason)
