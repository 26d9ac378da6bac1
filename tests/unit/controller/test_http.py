"""Probes are answered by a thread of their own."""

import asyncio
import re
from concurrent.futures import Future, ThreadPoolExecutor
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from sluice.controller.process import http
from sluice.controller.process.health import STUCK_AFTER, Health, Pulse
from sluice.controller.process.http import served
from sluice.controller.process.metrics import Metrics

ANSWERS_WITHIN = 60.0


def health(main: Pulse) -> Health:
    return Health(
        asks_the_lease=lambda: True,
        leads=lambda: False,
        has_listed=lambda: False,
        lease=Pulse(),
        main=main,
        loop=Pulse(),
        watchers=(),
        missing=list,
    )


def get(port: str, path: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=ANSWERS_WITHIN) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def test_probes_are_answered_truly_while_the_main_event_loop_stands_still(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_METRICS_SECONDS", 0.1)
    caplog.set_level("INFO")
    time = 0.0
    main = Pulse(lambda: time)
    with ThreadPoolExecutor() as asking:
        async with served("127.0.0.1:0", health(main), Metrics()):
            found = re.search(r"on port (\d+)", caplog.text)
            assert found is not None

            def ask(path: str) -> tuple[int, str]:
                answer: Future[tuple[int, str]] = asking.submit(get, found[1], path)
                return answer.result(ANSWERS_WITHIN)  # this loop stands still meanwhile

            main.beat()
            assert ask("/healthz") == ask("/readyz") == (200, "ok\n")
            time = STUCK_AFTER + 1
            still = 503, f"the main event loop has not turned for {time:.0f} s\n"
            assert ask("/healthz") == ask("/readyz") == still
            assert ask("/metrics") == (503, "the operator's main event loop has not answered for 0.1 s\n")


async def test_metrics_are_read_on_the_main_event_loop(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with ThreadPoolExecutor() as asking:
        async with served("127.0.0.1:0", health(Pulse()), Metrics()):
            found = re.search(r"on port (\d+)", caplog.text)
            assert found is not None
            answer = await asyncio.wrap_future(asking.submit(get, found[1], "/metrics"))
    assert answer[0] == 200
    assert "sluice_turn_seconds_count" in answer[1]
