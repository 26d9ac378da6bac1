"""How a stream is asked to stop between two batches: by an annotation on the driver's own pod, and a lock around each batch.

The annotation's presence is the request; what it says is for people. A driver that can't ask for its pod goes on without, says
so, and tries again: a stream runs for months, and a right may be given, or an API server begin anew, while it does.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import quote

from sluice_runner.cluster import Cluster, NoClusterError, RequestError

ANNOTATION = "sluice.dev/stop"
PAUSE = 1.0
"""Seconds between two requests."""
_PAUSE_IF_REFUSED = 30.0
_REFUSED = (403, 404)
_TOLD_AFTER = 60
"""Requests in a row that have failed otherwise: an API server may begin anew, or a token come late, without a word."""
_LONGEST_TOLD = 512


class NoMoreBatches(Exception):  # noqa: N818 - no failure: it keeps Spark from taking the batch for done
    """The stream stops: the next attempt begins this batch, with the same rows."""


class Boundary:
    """The place between two batches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_closed = False
        self.has_refused = False
        """Whether a batch was kept from beginning, which ends the query by an exception."""

    @contextmanager
    def inside(self) -> Iterator[None]:
        """A batch is in here, unless the boundary was closed before it."""
        with self._lock:
            if self._is_closed:
                self.has_refused = True
                raise NoMoreBatches("the stream stops before this batch")
            yield

    def close(self, seconds: float) -> bool:
        """Lets no other batch begin, once the one under way has ended; false if that takes longer."""
        if not self._lock.acquire(timeout=seconds):
            return False
        self._is_closed = True
        self._lock.release()
        return True


class Stop:
    """Whether the stream was asked to stop, once and for all of this attempt."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def ask(self) -> None:
        self._asked.set()

    def is_asked(self, within: float = 0) -> bool:
        return self._asked.wait(within)


class PodWatch:
    """Looks for the annotation: once before the stream starts, and then in a thread of its own."""

    def __init__(
        self,
        stop: Stop,
        namespace: str,
        mask: Callable[[str], str],
        cluster: Callable[[], Cluster] = Cluster.of_pod,
        pause: float = PAUSE,
        *,
        pause_if_refused: float = _PAUSE_IF_REFUSED,
    ) -> None:
        self._stop = stop
        self._namespace = namespace
        self._mask = mask
        self._cluster = cluster
        self._pause = pause
        self._pause_if_refused = pause_if_refused
        self._is_refused = False
        self._unanswered = 0
        self._ends = threading.Event()

    def start(self) -> None:
        try:
            cluster = self._cluster()
        except NoClusterError as error:
            self._complain(str(error))
            return
        pause = self._ask(cluster)
        if pause is not None:
            threading.Thread(target=self._watch, args=(cluster, pause), name="stop", daemon=True).start()

    def end(self) -> None:
        """Doesn't wait for a request that is under way: the thread ends with the process."""
        self._ends.set()

    def _watch(self, cluster: Cluster, pause: float) -> None:
        while not self._ends.wait(pause):
            asks_again = self._ask(cluster)
            if asks_again is None:
                return
            pause = asks_again

    def _ask(self, cluster: Cluster) -> float | None:
        """Asks once. The seconds until it is worth asking again; None: the stream was asked to stop."""
        namespace, pod = (quote(name, safe="") for name in (self._namespace, f"{cluster.application}-driver"))
        try:
            # Of any age: the API server answers this from its cache.
            found = cluster.request("GET", f"/api/v1/namespaces/{namespace}/pods/{pod}?resourceVersion=0")
        except RequestError as error:
            return self._unheard(error) if error.code not in _REFUSED else self._after_refusal(error)
        if self._is_refused or self._unanswered >= _TOLD_AFTER:
            sys.stdout.write("sluice: this stream can be asked to stop between two batches again\n")
        self._is_refused, self._unanswered = False, 0
        asked = ((found.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION)
        if asked is None:
            return self._pause
        sys.stdout.write(
            f"sluice: asked to stop after the batch under way: {self._mask(str(asked))[:_LONGEST_TOLD]}\n"
        )
        sys.stdout.flush()
        self._stop.ask()
        return None

    def _unheard(self, error: RequestError) -> float:
        self._unanswered += 1
        if self._unanswered == _TOLD_AFTER:
            self._complain(
                f"{_TOLD_AFTER} requests in a row have failed, the last one with: {self._mask(str(error))}. The driver goes on "
                "asking: look at the API server, and at the token of the driver's service account"
            )
        return self._pause

    def _after_refusal(self, error: RequestError) -> float:
        if not self._is_refused:
            self._is_refused = True
            self._complain(
                f"{self._mask(str(error))}: let the driver's service account get and patch pods in namespace {self._namespace}"
            )
        return self._pause_if_refused

    def _complain(self, why: str) -> None:
        sys.stderr.write(f"sluice: nobody can ask this stream to stop between two batches: {why}\n")
