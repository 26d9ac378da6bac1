"""A Kubernetes API server asked directly: where tests look many times a second, a process for each look costs too much."""

import http.client
import json
import select
import socket
import ssl
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import yaml

from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

Connect = Callable[[], http.client.HTTPConnection]

REQUEST_SECONDS = 110.0
WATCH_SECONDS = 100
BUSY_PAUSE = 0.5
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
KINDS = {
    "configmap": ("api/v1", "configmaps"),
    "deltatablepolicy": ("apis/sluice.dev/v1alpha1", "deltatablepolicies"),
    "deltawritejob": ("apis/sluice.dev/v1alpha1", "deltawritejobs"),
    "event": ("api/v1", "events"),
    "deployment": ("apis/apps/v1", "deployments"),
    "lease": ("apis/coordination.k8s.io/v1", "leases"),
    "pod": ("api/v1", "pods"),
    "secret": ("api/v1", "secrets"),
    "serviceaccount": ("api/v1", "serviceaccounts"),
    "sparkapplication": ("apis/sparkoperator.k8s.io/v1beta2", "sparkapplications"),
}


class RefusedRequestError(AssertionError):
    """The API server's own words, with what was asked."""

    def __init__(self, asked: str, status: int, answer: str) -> None:
        super().__init__(f"{asked}: {status}: {answer[:2000]}")
        self.status = status


class NoSuchObjectError(AssertionError):
    """What was to be changed is not there."""


class _Open:
    """An open connection, which is closed when no thread has it any more."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()

    def is_closed(self) -> bool:
        """Whether the server has closed it: nothing else would be there to be read between two requests."""
        poll = select.poll()
        poll.register(self.connection.sock, select.POLLIN)
        return bool(poll.poll(0))


class _Kept(threading.local):
    """A thread's connection: to open one costs the API server three times as much as to answer."""

    open: _Open | None = None


@dataclass(frozen=True)
class Server:
    """Requests, which share a connection, and find a server that was started anew."""

    connect: Connect
    token: str | None = None
    _kept: _Kept = field(default_factory=_Kept, repr=False, compare=False)

    @staticmethod
    def of(kubeconfig: Path) -> "Server":
        return Server._told_by(kubeconfig.read_text(encoding="utf-8"))

    @staticmethod
    @lru_cache(maxsize=8)
    def _told_by(text: str) -> "Server":
        content = yaml.safe_load(text)
        cluster = content["clusters"][0]["cluster"]
        authority = b64decode(cluster["certificate-authority-data"]).decode("ascii")
        context = ssl.create_default_context(cadata=authority)
        address = urlsplit(cluster["server"])
        return Server(
            lambda: http.client.HTTPSConnection(
                address.hostname or "", address.port, timeout=REQUEST_SECONDS, context=context
            ),
            content["users"][0]["user"]["token"],
        )

    @staticmethod
    def behind(proxy: Path) -> "Server":
        """Returns the server behind the Unix socket of a proxy that adds the credentials."""
        return Server(lambda: _UnixConnection(proxy))

    def ask(
        self, method: str, path: str, body: object = None, *, content: str = "application/json"
    ) -> Json | None:
        """None where there is no such object; asked again where the server says that it is not ready for it yet."""
        status, answer = eventually(
            lambda: _unless_busy(self._ask(method, path, body, content)),
            f"the API server is ready for {method} {path}",
            pause=BUSY_PAUSE,
        )
        if status == http.client.NOT_FOUND:
            return None
        if status >= http.client.BAD_REQUEST:
            raise RefusedRequestError(f"{method} {path}", status, answer)
        found: Json = json.loads(answer)
        return found

    def _ask(self, method: str, path: str, body: object, content: str) -> tuple[int, str]:
        kept, self._kept.open = self._kept.open, None
        if kept is not None and not kept.is_closed():
            try:
                return self._ask_on(kept, method, path, body, content)
            except TimeoutError:
                raise
            except (http.client.HTTPException, OSError):
                # The server has closed it since: a read is asked again, a change may have been made.
                if method != "GET":
                    raise
        return self._ask_on(_Open(self.connect()), method, path, body, content)

    def _ask_on(self, kept: _Open, method: str, path: str, body: object, content: str) -> tuple[int, str]:
        response = self._send(kept.connection, method, path, body, content)
        answer = response.status, response.read().decode("utf-8")
        self._kept.open = None if response.will_close else kept
        return answer

    def events(self, path: str) -> Iterator[Json]:
        """Yields the events of a watch until it ends: the path's query bounds it."""
        with closing(self.connect()) as connection:
            response = self._send(connection, "GET", path, None, "application/json")
            if response.status >= http.client.BAD_REQUEST:
                raise RefusedRequestError(f"GET {path}", response.status, response.read().decode("utf-8"))
            for line in response:
                yield json.loads(line)

    def _send(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: object, content: str
    ) -> http.client.HTTPResponse:
        headers = {"Content-Type": content, "Accept": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection.getresponse()


def _unless_busy(answered: tuple[int, str]) -> tuple[int, str] | None:
    """It refuses without having done anything, such as while a new resource's storage is being made."""
    return None if answered[0] == http.client.TOO_MANY_REQUESTS else answered


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=REQUEST_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


@dataclass(frozen=True)
class Objects:
    """The objects of one namespace."""

    server: Server
    namespace: str

    def create_namespace(self) -> None:
        """Creates the namespace and waits for the account that pods are created with."""
        self.server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        eventually(
            lambda: self.get("serviceaccount", "default"),
            f"namespace {self.namespace} has a default service account",
        )

    def leave_namespace(self) -> None:
        """Ends the claims of operators that were killed in it: a later test may be given the port of the Redis that they had.

        The namespace stays, because the API server ends with the run. Deleting one costs six times as much as making it, and the
        namespace controller tries again every few seconds where a pod or a finalizer keeps it, which filled a tenth of a core.
        """
        beside = Objects(self.server, names.CLAIMS_NAMESPACE)
        claims = (beside.get("configmap", names.CLAIMS) or {}).get("data") or {}
        own = {key: None for key in claims if key.startswith(f"{self.namespace}.")}
        if own:
            beside.patch("configmap", names.CLAIMS, {"data": own})

    def delete_namespace(self) -> None:
        self.server.ask("DELETE", f"/api/v1/namespaces/{self.namespace}")

    def create(self, kind: str, body: Json, *, dry_run: bool = False) -> Json:
        path = self._path(kind) + ("?dryRun=All" if dry_run else "")
        created = self.server.ask("POST", path, body)
        assert created is not None, f"the API server serves no {kind} in namespace {self.namespace}"
        return created

    def get(self, kind: str, name: str) -> Json | None:
        return self.server.ask("GET", self._path(kind, name))

    def every(self, kind: str, **query: str) -> list[Json]:
        return list(self._listed(kind, **query)["items"])

    def version(self) -> str:
        """Returns the present version of all that is stored, where a history may begin."""
        return str(self._listed("configmap", limit="1")["metadata"]["resourceVersion"])

    def history(self, kind: str, since: str) -> list[Json]:
        """What became of the objects of this kind after that version, states they have left included.

        Up to the last change of those that are there now; each event has a type and an object.
        """
        latest = max((_version(found) for found in self.every(kind)), default=0)
        events: list[Json] = []
        if latest <= int(since):
            return events
        for event in self.changes(kind, since, WATCH_SECONDS):
            events.append(event)
            if _version(event["object"]) >= latest:
                return events
        raise AssertionError(f"a watch of {kind} did not come to version {latest} in {WATCH_SECONDS} s")

    def changes(self, kind: str, since: str, seconds: int) -> Iterator[Json]:
        """Yields what becomes of the objects of this kind after that version, for so many seconds."""
        query = urlencode({"watch": "1", "resourceVersion": since, "timeoutSeconds": seconds})
        for event in self.server.events(f"{self._path(kind)}?{query}"):
            if event["type"] == "ERROR":
                raise RefusedRequestError(f"watch {kind} since {since}", event["object"]["code"], str(event))
            yield event

    def patch(self, kind: str, name: str, body: object, *, content: str = MERGE, sub: str = "") -> None:
        path = self._path(kind, name) + (f"/{sub}" if sub else "")
        done = self.server.ask("PATCH", path, body, content=content)
        self._must_have_been(done, kind, name, "patched")

    def delete(self, kind: str, name: str, *, grace_seconds: int | None = None) -> None:
        options = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        body = {"propagationPolicy": "Background", **options}
        done = self.server.ask("DELETE", self._path(kind, name), body)
        self._must_have_been(done, kind, name, "deleted")

    def _must_have_been(self, done: Json | None, kind: str, name: str, what: str) -> None:
        if done is None:
            raise NoSuchObjectError(f"{kind} {name} is not in namespace {self.namespace} to be {what}")

    def _listed(self, kind: str, **query: str) -> Json:
        listed = self.server.ask("GET", f"{self._path(kind)}?{urlencode(query)}")
        assert listed is not None, f"the API server serves no {kind} in namespace {self.namespace}"
        return listed

    def _path(self, kind: str, name: str = "") -> str:
        group, plural = KINDS[kind]
        path = f"/{group}/namespaces/{self.namespace}/{plural}"
        return f"{path}/{quote(name, safe='')}" if name else path


def _version(body: Json) -> int:
    return int(body["metadata"]["resourceVersion"])
