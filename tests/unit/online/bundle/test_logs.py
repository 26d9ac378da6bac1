"""The end of a log that may be of any length."""

from collections.abc import AsyncIterator, Mapping

import pytest

from sluice.online.bundle import logs
from sluice.online.bundle.logs import LogEnd, end_of_log, lines_about


class Node:
    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    async def log(self, namespace: str, pod: str, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        assert (namespace, pod, query["container"]) == ("etl", "driver", "main")
        for piece in self.pieces:
            yield piece


async def end(*pieces: bytes) -> LogEnd:
    return await end_of_log(Node(*pieces), "etl", "driver", "main")  # type: ignore[arg-type]  # a node of the test's own


async def test_a_log_that_is_short_is_there_as_it_is() -> None:
    assert await end(b"one\n", b"two \xff\n") == LogEnd("one\ntwo \\xff\n", "")
    assert await end() == LogEnd("", "")


async def test_of_a_long_one_its_last_whole_lines_are_there_and_how_much_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logs, "MOST_BYTES", 12)
    for pieces in ([b"password=one\ntwo\n", b"three\n"], [b"password=one\ntwo\nthree\n"]):
        assert await end(*pieces) == LogEnd("two\nthree\n", "its end: 13 bytes before it are left out")


def test_lines_about_a_job_are_those_that_name_it() -> None:
    text = "a etl/nightly\nb\nc nightly-0123abcd-1\n"
    assert lines_about(text, {"etl/nightly", "nightly-0123abcd-1"}) == "a etl/nightly\nc nightly-0123abcd-1\n"
