"""A stream is asked to stop by an annotation on its own pod, and stops between two batches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, cast

import pytest

from sluice_runner.cluster import Cluster, NoClusterError, RequestError
from sluice_runner.secrets_in_text import Mask
from sluice_runner.stop_requests import Boundary, NoMoreBatches, PodWatch, Stop

REASON = '{"since":"2026-11-19T10:00:00Z","why":"sales/alter waits for it"}'


class Played:
    application = "daily-1"

    def __init__(self, *answers: dict[str, Any] | RequestError) -> None:
        self.answers = list(answers)
        self.asked = 0

    def request(self, method: str, path: str) -> dict[str, Any]:
        assert (method, path) == ("GET", "/api/v1/namespaces/sales/pods/daily-1-driver?resourceVersion=0")
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, RequestError):
            raise answer
        return answer


ASKED = {"metadata": {"annotations": {"sluice.dev/stop": REASON}}}
UNASKED: dict[str, Any] = {"metadata": {}}


def watch(stop: Stop, server: Played) -> PodWatch:
    return PodWatch(
        stop, "sales", Mask(["hunter2-4711"]), lambda: cast("Cluster", server), 0.01, pause_if_refused=0.02
    )


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_request_that_is_there_already_is_known_before_the_stream_starts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stop = Stop()
    watch(stop, Played(ASKED)).start()
    assert stop.is_asked()
    assert REASON in capsys.readouterr().out


def test_a_request_is_seen_while_the_stream_runs_and_also_after_the_server_was_away() -> None:
    stop, server = (
        Stop(),
        Played(UNASKED, RequestError("no answer"), RequestError("503", 503), UNASKED, ASKED),
    )
    watch(stop, server).start()
    assert stop.is_asked(within=30)
    assert server.asked == 5


def test_what_the_annotation_says_is_not_what_counts() -> None:
    stop = Stop()
    watch(stop, Played({"metadata": {"annotations": {"sluice.dev/stop": "", "other": "x"}}})).start()
    assert stop.is_asked()


@pytest.mark.parametrize("code", [403, 404])
def test_who_may_not_ask_says_so_once_and_asks_again_later(
    code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = RequestError(f"{code} hunter2-4711 may not", code)
    stop, server = Stop(), Played(UNASKED, refused, refused, refused, UNASKED, UNASKED, ASKED)
    watch(stop, server).start()
    assert stop.is_asked(within=30)
    assert server.asked == 7
    told = capsys.readouterr()
    assert told.err.count("nobody can ask this stream to stop") == 1
    assert (
        f"{code} *** may not: let the driver's service account get and patch pods in namespace sales"
        in told.err
    )
    assert told.out.count("this stream can be asked to stop between two batches again") == 1


def test_that_requests_go_on_failing_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """As where the driver's token has ended, and nobody has put another one there."""
    expired = [RequestError("401 hunter2-4711 Unauthorized", 401)] * 70
    stop, server = Stop(), Played(*expired[:59], UNASKED, *expired, UNASKED, UNASKED, ASKED)
    watch(stop, server).start()
    assert stop.is_asked(within=30)
    told = capsys.readouterr()
    assert told.err.count("nobody can ask this stream to stop") == 1
    assert "60 requests in a row have failed, the last one with: 401 *** Unauthorized. " in told.err
    assert told.out.count("this stream can be asked to stop between two batches again") == 1


def test_who_may_not_ask_from_the_beginning_asks_again_as_well() -> None:
    stop, server = Stop(), Played(RequestError("403 may not", 403), ASKED)
    watch(stop, server).start()
    assert stop.is_asked(within=30)


def test_a_driver_outside_of_a_cluster_says_that_nobody_can_ask_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def none() -> Cluster:
        raise NoClusterError("KUBERNETES_SERVICE_HOST is not set")

    PodWatch(Stop(), "sales", Mask([]), none).start()
    assert (
        "nobody can ask this stream to stop between two batches: KUBERNETES_SERVICE_HOST"
        in capsys.readouterr().err
    )


def test_it_is_not_asked_any_more_once_the_stream_has_ended() -> None:
    server = Played(UNASKED)
    one = watch(Stop(), server)
    one.start()
    eventually(lambda: server.asked > 1)
    one.end()
    eventually(lambda: not any(thread.name == "stop" for thread in threading.enumerate()))


def test_a_boundary_waits_for_the_batch_under_way_and_lets_no_other_begin() -> None:
    boundary, inside, go_on = Boundary(), threading.Event(), threading.Event()
    ended: list[bool] = []

    def batch() -> None:
        with boundary.inside():
            inside.set()
            go_on.wait(30)
            ended.append(True)

    thread = threading.Thread(target=batch)
    thread.start()
    assert inside.wait(30)
    assert not boundary.close(0.05)
    go_on.set()
    assert boundary.close(30)
    assert ended == [True]
    thread.join(30)
    with pytest.raises(NoMoreBatches), boundary.inside():
        pytest.fail("a batch has begun")
    assert boundary.close(0)
