"""Requests to an API server: what is sent, what is sent again, and what becomes of answers that nobody expects."""

import asyncio
import gc
import json
import threading

import pytest
from kubernetes.aio.client import Configuration

from sluice.api.base import Json
from sluice.kube import client
from sluice.kube.client import ApiError, Kube
from sluice.kube.connection import Connection
from sluice.kube.rate_limit import RateLimit
from sluice.kube.resources import JOBS, KUBEFLOW_APPLICATIONS, LEASES, POLICIES
from unit.kube.served import Served, served, told

BUSY = told({"message": "too many requests"}, 429, Retry_After="1")
AWAY = told({"message": "not now"}, 503, Retry_After="1")
DONE = told({"metadata": {"name": "a"}}, 201)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds: list[float] = []

    class Sleepless:
        def __getattr__(self, name: str) -> object:
            return getattr(asyncio, name)

        @staticmethod
        async def sleep(pause: float) -> None:
            seconds.append(pause)

    monkeypatch.setattr(client, "asyncio", Sleepless())
    return seconds


async def watched(api: Served, seen: list[str]) -> None:
    async for event in api.kube.watch(JOBS, "etl", "1"):
        seen.append(event["type"])  # noqa: PERF401 - what came before an error counts


async def test_a_body_is_sent_without_blanks_and_with_the_credentials() -> None:
    async with served(DONE) as api:
        assert await api.kube.create(JOBS, "etl", {"spec": {"sql": "é"}}) == {"metadata": {"name": "a"}}
    [asked] = api.asked
    assert (asked.method, asked.path) == ("POST", "/apis/sluice.dev/v1alpha1/namespaces/etl/deltawritejobs")
    assert asked.body == b'{"spec":{"sql":"\\u00e9"}}'
    assert asked.headers["Authorization"] == "Bearer secret"
    assert asked.headers["Content-Type"] == "application/json"
    assert api.counted == [("create", "deltawritejobs", 201)]


async def test_while_a_page_is_parsed_nobody_looks_for_cycles_among_all_that_is_known() -> None:
    collections: list[int] = []

    def collects(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            collections.append(info["generation"])

    fields: Json = {f"f:{number}": {"f:inner": {}} for number in range(50)}
    items = [{"metadata": {"name": f"n-{number}", "managedFields": [fields]}} for number in range(500)]
    async with served(told({"metadata": {}, "items": items})) as api:
        gc.collect()
        gc.callbacks.append(collects)
        try:
            listed = await api.kube.list(JOBS, "etl")
        finally:
            gc.callbacks.remove(collects)
    assert listed["items"] == items
    assert len(collections) < 10
    assert gc.isenabled()


async def test_no_request_needs_a_thread() -> None:
    """aiohttp asks the environment for proxies and a netrc in threads, if it is told to heed it."""
    before = set(threading.enumerate())
    async with served(DONE) as api:
        for _ in range(3):
            await api.kube.get(JOBS, "etl", "a")
        assert set(threading.enumerate()) == before


async def test_the_proxy_that_the_environment_names_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[bytes] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async with await asyncio.start_server(note, "127.0.0.1", 0) as proxy:
        host, port = proxy.sockets[0].getsockname()
        monkeypatch.setenv("https_proxy", f"http://me:secret@{host}:{port}")
        monkeypatch.setenv("no_proxy", "other.example")
        kube = Kube(Connection(Configuration(host="https://kubernetes.example:6443")))
        with pytest.raises(ApiError, match="no answer from the API server"):
            await kube.get(JOBS, "etl", "a")
        await kube.close()
    assert heads[0].startswith(b"CONNECT kubernetes.example:6443 ")
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0" in heads[0]


async def test_a_server_that_the_environment_wants_no_proxy_for_is_asked_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    async with served(DONE) as api:
        await api.kube.get(JOBS, "etl", "a")
    assert len(api.asked) == 1


@pytest.mark.parametrize("method", ["get", "create", "delete"])
async def test_what_a_busy_server_did_not_begin_is_sent_again_after_as_long_as_it_says(
    method: str, slept: list[float]
) -> None:
    async with served(told({}, 429, Retry_After="7"), BUSY, DONE) as api:
        if method == "get":
            await api.kube.get(JOBS, "etl", "a")
        elif method == "create":
            await api.kube.create(JOBS, "etl", {"metadata": {"name": "a"}})
        else:
            await api.kube.delete(JOBS, "etl", "a")
    assert slept == [7.0, 1.0]
    assert [code for _, _, code in api.counted] == [429, 429, 201]
    assert len({asked.body for asked in api.asked}) == 1


@pytest.mark.parametrize("said", [{}, {"Retry_After": "soon"}, {"Retry_After": "0"}, {"Retry_After": "-1"}])
async def test_a_busy_server_that_does_not_say_how_long_is_asked_again_after_a_pause(
    said: dict[str, str], slept: list[float]
) -> None:
    async with served(told({}, 429, **said), DONE) as api:
        await api.kube.get(JOBS, "etl", "a")
    assert slept == [client.THROTTLED_PAUSE]


async def test_a_server_that_stays_busy_is_told_of_in_the_end(slept: list[float]) -> None:
    async with served(told({"message": "too many requests"}, 429, Retry_After="10")) as api:
        with pytest.raises(ApiError, match="too many requests") as caught:
            await api.kube.create(JOBS, "etl", {})
    assert caught.value.status == 429
    assert not caught.value.is_definite
    assert sum(slept) == client.THROTTLED_SECONDS


async def test_nobody_waits_longer_for_a_busy_server_than_for_all_its_answers(slept: list[float]) -> None:
    async with served(told({}, 429, Retry_After="3600")) as api:
        with pytest.raises(ApiError):
            await api.kube.create(JOBS, "etl", {})
    assert slept == []


async def test_an_unavailable_server_is_asked_again_but_not_sent_a_change_again(slept: list[float]) -> None:
    """It, or a proxy before it, may have begun."""
    async with served(AWAY, DONE) as api:
        await api.kube.get(JOBS, "etl", "a")
    assert slept == [1.0]
    async with served(AWAY, DONE) as api:
        with pytest.raises(ApiError, match="not now"):
            await api.kube.create(JOBS, "etl", {})
    assert len(api.asked) == 1


async def test_the_lease_waits_for_no_turn_and_is_not_sent_again(slept: list[float]) -> None:
    used_up = RateLimit(rate=0.001, burst=1)
    used_up.reserve()
    async with served(BUSY, DONE, pace=used_up) as api:
        with pytest.raises(ApiError):
            await api.kube.get(LEASES, "etl", "a")
        await api.kube.get(LEASES, "etl", "a")
    assert slept == []


@pytest.mark.parametrize("text", ["<html>", "[" * 100_000, ""])
async def test_an_answer_that_is_not_json_is_an_error_that_settles_nothing(text: str) -> None:
    async with served((200, {}, text)) as api:
        with pytest.raises(ApiError, match="is not JSON") as caught:
            await api.kube.get(POLICIES, "etl", "a")
    assert caught.value.status == 0
    assert not caught.value.is_definite


@pytest.mark.parametrize(
    "line",
    [
        "<html>",
        "[" * 100_000,
        "[]",
        "{}",
        '"text"',
        '{"type": "ADDED"}',
        '{"type": "ADDED", "object": null}',
        '{"type": "ADDED", "object": {"metadata": {"resourceVersion": "x", "uid": "u", "name": "n"}}}',
        '{"type": "ADDED", "object": {"metadata": {"resourceVersion": "1"}}}',
        '{"type": "ERROR", "object": null}',
    ],
)
async def test_an_event_that_cannot_be_read_ends_the_watch_with_an_error(line: str) -> None:
    async with served((200, {}, line + "\n")) as api:
        with pytest.raises(ApiError, match="cannot be read"):
            await watched(api, [])


async def test_an_object_that_is_nested_too_deeply_hides_no_other() -> None:
    """Python's parser gives up where the API server doesn't."""
    deep = '{"a]\\"{":[' * 4000 + '{"b": 1}' + "]}" * 4000
    metadata = '{"resourceVersion": "7", "uid": "u", "name": "n"}'
    odd = f'{{"metadata": {metadata}, "spec": {{"deep": {deep}, "after": [{{"c": 2}}]}}}}'
    listed = f'{{"items": [{odd}, {{"metadata": {metadata}}}]}}'
    async with served((200, {}, listed)) as api:
        found = await api.kube.get(POLICIES, "etl", "a")
    first, second = found["items"]
    assert (first["spec"]["after"], second["metadata"]["name"]) == ([{"c": 2}], "n")
    seen: list[str] = []
    async with served((200, {}, f'{{"type": "ADDED", "object": {odd}}}\n')) as api:
        await watched(api, seen)
    assert seen == ["ADDED"]


async def test_a_watch_gives_its_events_and_what_the_server_says_of_a_forgotten_version() -> None:
    body = {"metadata": {"resourceVersion": "7", "uid": "u", "name": "n"}}
    events = [
        {"type": "ADDED", "object": body},
        {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}},
        {"type": "ERROR", "object": {"code": 410, "message": "too old"}},
    ]
    seen: list[str] = []
    async with served((200, {}, "".join(json.dumps(event) + "\n" for event in events))) as api:
        with pytest.raises(client.ExpiredError, match="too old"):
            await watched(api, seen)
    assert seen == ["ADDED", "BOOKMARK"]
    assert "resourceVersion=1" in api.asked[0].path
    assert [verb for verb, _, _ in api.counted] == ["watch"]


async def test_that_a_kind_is_not_served_says_nothing_of_its_objects() -> None:
    """Whoever lets an object go, or looks whether it is left, must not take it for gone."""
    page_not_found: tuple[int, dict[str, str], str] = 404, {}, "404 page not found\n"
    async with served(page_not_found) as api:
        with pytest.raises(client.KindMissingError) as caught:
            await api.kube.get(KUBEFLOW_APPLICATIONS, "etl", "a-1")
    assert not isinstance(caught.value, client.NotFoundError)
