"""Facts from a table on S3, with credentials from the environment; and what is said when S3 does not give them."""

import asyncio
import time
from datetime import UTC, datetime
from functools import partial

import pytest

from devenv.s3_server import S3Server
from integration.tables.store_proxy import (
    DROPPED,
    HANGS,
    Answer,
    Fault,
    Request,
    StoreProxy,
    passes,
    s3_error,
)
from sluice.controller.readers.store_threads import StoreThreads
from sluice.controller.readers.table_processes import TableProcesses
from sluice.controller.readers.table_reader import PATIENCE
from sluice.tables import TableFacts, TableKey, key_of_path, table_access
from sluice.tables.address import LogUnreadableError
from sluice.tables.log import RunQuestion
from sluice.tables.open_tables import OpenTables
from unit.tables.lake import commit, orders

ORDERS = "s3://lake/orders"


def facts(path: str = ORDERS) -> TableFacts:
    return OpenTables().facts(key_of_path(path))


def why_unread(path: str = ORDERS) -> str:
    found = facts(path)
    assert found.unread is not None
    assert found.exists
    assert path in found.unread
    return found.unread


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("path", [ORDERS, "s3a://lake/orders", "s3a://lake//orders/"])
def test_a_table_is_read_with_the_credentials_of_the_environment(path: str) -> None:
    found = facts(path)
    assert found.unread is None
    assert [column.name for column in found.columns.partition_columns] == ["date"]


@pytest.mark.usefixtures("signed_in")
def test_a_table_is_absent_where_its_bucket_can_be_read() -> None:
    found = facts("s3://lake/nothing-here")
    assert not found.exists
    assert found.unread is None


WRONG = {
    "the secret": ({"AWS_SECRET_ACCESS_KEY": "wrong"}, "CredentialsRefused", "restarted"),
    "the key": ({"AWS_ACCESS_KEY_ID": "nobody"}, "CredentialsRefused", "restarted"),
    "plain http": ({"AWS_ALLOW_HTTP": "false"}, "PlainHttp", "AWS_ALLOW_HTTP=true"),
    "an empty endpoint": (
        {"AWS_ENDPOINT_URL_S3": ""},
        "NoStore",
        "AWS_ENDPOINT_URL_S3 is set, and empty: remove it",
    ),
}


@pytest.mark.parametrize(("values", "word", "cure"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_in_the_environment_is_said_with_what_to_do(
    signed_in: pytest.MonkeyPatch, values: dict[str, str], word: str, cure: str
) -> None:
    for name, value in values.items():
        signed_in.setenv(name, value)
    for path in (ORDERS, "s3://lake/nothing-here"):
        said = why_unread(path)
        assert f"cannot be read: {word}: " in said
        assert cure in said


def test_a_key_that_is_missing_is_said_with_where_to_get_one(signed_in: pytest.MonkeyPatch) -> None:
    signed_in.delenv("AWS_ACCESS_KEY_ID")
    signed_in.delenv("AWS_SECRET_ACCESS_KEY")
    # In place of the cloud's own metadata service, which tests must not ask.
    signed_in.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:9/nobody")
    assert "cannot be read: " in why_unread()


@pytest.mark.usefixtures("signed_in")
def test_a_bucket_that_is_not_there_is_no_absent_table() -> None:
    said = why_unread("s3://no-such-lake/orders")
    assert "NoBucket: there is no bucket or container no-such-lake" in said


def only_lists(fault: Answer) -> Fault:
    return lambda request: fault if request.lists else None


def only_gets(fault: Answer) -> Fault:
    return lambda request: None if request.lists else fault


DENIED = s3_error(403, "AccessDenied", "Access Denied")
REFUSALS: dict[str, tuple[Fault, str]] = {
    "no right at all": (lambda _: DENIED, "AccessDenied"),
    "no right to list": (only_lists(DENIED), "AccessDenied"),
    "no right to get": (only_gets(DENIED), "AccessDenied"),
    "a clock that is wrong": (lambda _: s3_error(403, "RequestTimeTooSkewed"), "ClockSkewed"),
    "a token that has expired": (lambda _: s3_error(400, "ExpiredToken"), "CredentialsRefused"),
    "a bucket that has just gone": (lambda _: s3_error(404, "NoSuchBucket"), "NoBucket"),
    "another region": (lambda _: s3_error(301, "PermanentRedirect"), "WrongRegion"),
}


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize(("fault", "word"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refusal_is_neither_absence_nor_tried_for_long(store: StoreProxy, fault: Fault, word: str) -> None:
    store.fault = fault
    begun = time.monotonic()
    for path in (ORDERS, "s3://lake/nothing-here"):
        assert f"cannot be read: {word}: " in why_unread(path)
    assert time.monotonic() - begun < 5


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("gone", ["00000000000000000000.json", ".json"])
def test_a_log_whose_commits_vanish_is_not_absent(store: StoreProxy, gone: str) -> None:
    store.fault = lambda request: s3_error(404, "NoSuchKey") if request.target.endswith(gone) else None
    assert "File not found" in why_unread("s3://lake/deep")


PAGE = Answer(
    200, "<html><head><title>Console</title></head><body>Sign in</body></html>", {"Content-Type": "text/html"}
)


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("fault", [lambda _: PAGE, only_lists(PAGE)], ids=["whatever is asked", "a list"])
def test_a_web_page_at_the_endpoint_is_no_store_without_tables(store: StoreProxy, fault: Fault) -> None:
    store.fault = fault
    assert "cannot be read: NoStore: " in why_unread()
    assert "cannot be read: NoStore: " in why_unread("s3://lake/nothing-here")
    store.fault = passes
    assert facts().unread is None


@pytest.mark.usefixtures("signed_in")
def test_a_store_is_asked_once_whether_it_is_one(store: StoreProxy) -> None:
    tables = OpenTables()
    for number in range(3):
        assert not tables.facts(key_of_path(f"s3://lake/nothing-{number}")).exists
    assert unsigned(store) == ["GET"]


def every_third(fault: Answer) -> Fault:
    return lambda request: fault if request.number % 3 == 0 else None


PASSING: dict[str, Fault] = {
    "replies get lost": every_third(DROPPED),
    "the store is busy": every_third(s3_error(503, "SlowDown")),
    "the store stumbles": every_third(s3_error(500, "InternalError")),
}


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_what_passes_is_tried_again(store: StoreProxy, fault: Fault) -> None:
    store.fault = fault
    assert facts("s3://lake/deep").unread is None
    assert not facts("s3://lake/nothing-here").exists


LASTING: dict[str, tuple[Fault, str]] = {
    "busy": (lambda _: s3_error(503, "SlowDown"), "StoreBusy"),
    "broken": (lambda _: s3_error(500, "InternalError"), "StoreFails"),
    "losing replies": (lambda _: DROPPED, "StoreSilent"),
    "hanging": (lambda _: HANGS, "StoreSilent"),
}


@pytest.mark.parametrize(("fault", "word"), LASTING.values(), ids=LASTING.keys())
def test_what_lasts_is_given_up(
    signed_in: pytest.MonkeyPatch, store: StoreProxy, fault: Fault, word: str
) -> None:
    signed_in.setitem(table_access.BOUNDS, "retry_timeout", "1s")
    signed_in.setitem(table_access.BOUNDS, "timeout", "1s")
    store.fault = fault
    begun = time.monotonic()
    assert f"cannot be read: {word}: " in why_unread()
    assert time.monotonic() - begun < 8


def test_a_store_that_is_down_is_given_up(signed_in: pytest.MonkeyPatch) -> None:
    signed_in.setitem(table_access.BOUNDS, "retry_timeout", "1s")
    signed_in.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "StoreSilent: the store does not answer" in why_unread()


def test_retries_end_before_those_who_wait_for_facts_give_up() -> None:
    assert float(table_access.BOUNDS["retry_timeout"].removesuffix("s")) < PATIENCE


@pytest.mark.usefixtures("signed_in")
async def test_a_store_that_hangs_holds_up_no_other_stores_tables(store: StoreProxy, s3: S3Server) -> None:
    """One bucket hangs, the other answers: each has places of its own."""
    folder = s3.bucket("other-lake")
    orders(folder / "orders")
    store.fault = lambda request: HANGS if request.target.startswith("/lake") else None
    threads, read = StoreThreads[TableFacts](), OpenTables().facts
    others = key_of_path("s3://other-lake/orders")
    try:
        silent = [key_of_path(f"s3://lake/t{number}") for number in range(20)]
        hanging = [threads.read(key, ["etl"], partial(read, key)) for key in silent]
        found, _ = await asyncio.wait_for(threads.read(others, ["etl"], partial(read, others)), 5)
        assert found.unread is None
        assert not any(read.done() for read in hanging)
        store.thaw()
        answers = await asyncio.wait_for(asyncio.gather(*hanging), 20)
        assert all(not answer.exists for answer, _ in answers)
    finally:
        threads.close()


def unsigned(store: StoreProxy) -> list[str]:
    return [request.method for request in store.requests if request.region is None]


def test_a_bucket_in_another_region_is_read_there(
    signed_in: pytest.MonkeyPatch, store: StoreProxy, s3: S3Server
) -> None:
    """As Amazon answers; the bucket itself is in the region of the server."""
    signed_in.setenv("AWS_REGION", "eu-central-1")

    def amazon(request: Request) -> Answer | None:
        if request.region == "us-east-1":
            return None
        moved = s3_error(301, "PermanentRedirect")
        return Answer(301, moved.body, {"x-amz-bucket-region": "us-east-1"})

    store.fault = amazon
    tables = OpenTables()
    assert tables.facts(key_of_path(ORDERS)).unread is None
    assert unsigned(store) == ["HEAD"]
    assert tables.facts(key_of_path("s3://lake/deep")).unread is None
    assert not tables.facts(key_of_path("s3://lake/nothing-here")).exists
    assert unsigned(store) == ["HEAD", "GET"]


@pytest.mark.usefixtures("signed_in")
def test_the_commits_of_a_run_are_found_on_s3(store: StoreProxy) -> None:
    begun, reads = datetime.now(UTC), TableProcesses()
    for path in (ORDERS, "s3://lake/nothing-here"):
        assert not reads.commits(RunQuestion(TableKey.parse(path), "uid", 1, begun))
    store.fault = lambda _: DENIED
    with pytest.raises(LogUnreadableError, match=f"{ORDERS} cannot be read: AccessDenied: "):
        reads.commits(RunQuestion(TableKey.parse(ORDERS), "uid", 1, begun))
    reads.close()


@pytest.mark.usefixtures("signed_in")
def test_a_look_at_an_open_table_costs_two_requests_and_three_with_a_commit(
    store: StoreProxy, s3: S3Server
) -> None:
    orders(s3.bucket("lake") / "counted")
    key, tables = key_of_path("s3://lake/counted"), OpenTables()

    def cost() -> int:
        before = len(store.requests)
        assert tables.facts(key).unread is None
        return len(store.requests) - before

    assert cost() == 4
    assert cost() == 2
    commit(s3.bucket("lake") / "counted", 1)
    assert cost() == 3
    assert cost() == 2
