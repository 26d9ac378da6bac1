"""The LogStore for S3 makes a commit once and whole, whatever becomes of requests and replies.

Against versitygw, through a proxy that breaks them; not against Amazon's S3 itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from devenv.s3_server import Account, S3Server
from integration.runner.s3.conftest import Log
from integration.runner.s3.drivers import Driver, Store, hadoop_settings, is_conflict, lines_in
from integration.runner.s3.proxy import (
    Fault,
    Late,
    Request,
    S3Proxy,
    Send,
    Together,
    answer,
    answer_after,
    double,
    lose_reply,
    lose_request,
)

MINE, THEIRS = ["mine", "and more of mine"], ["theirs"]
UNKNOWN = "dev.sluice.delta.UnknownOutcomeException"
UNSAFE = "dev.sluice.delta.UnsafeStoreException"


def test_a_commit_is_written_once_and_the_second_writer_is_told(store: Store, log: Log) -> None:
    assert store.write(log.commit(0), MINE) is None
    assert is_conflict(store.write(log.commit(0), THEIRS))
    assert store.read(log.commit(0)) == MINE == lines_in(log.folder, 0)
    assert store.list_from(log.commit(0)) == log.names() == ["00000000000000000000.json"]


def test_a_table_is_the_same_under_s3_and_s3a(store: Store, log: Log) -> None:
    assert store.write(log.commit(0).replace("s3a:", "s3:"), MINE) is None
    assert is_conflict(store.write(log.commit(0), THEIRS))
    assert lines_in(log.folder, 0) == MINE


def test_what_delta_overwrites_is_overwritten(store: Store, log: Log) -> None:
    last = f"{log.table}/_delta_log/_last_checkpoint"
    assert store.write(last, ["1"], overwrite=True) is None
    assert store.write(last, ["2"], overwrite=True) is None
    assert store.read(last) == ["2"]


@pytest.mark.parametrize(
    ("fault", "times"),
    [
        (lose_reply, 1),
        (lose_reply, 2),
        (lose_request, 2),
        (double, 1),
        (answer(503, "SlowDown"), 3),
        (answer(500, "InternalError"), 2),
        (answer(409, "ConditionalRequestConflict"), 3),
        (answer_after(500, "InternalError"), 1),
        (answer_after(503, "SlowDown"), 1),
        (answer_after(409, "ConditionalRequestConflict"), 1),
        (answer_after(412, "PreconditionFailed"), 1),
    ],
    ids=lambda value: getattr(value, "__qualname__", str(value)),
)
@pytest.mark.parametrize("contended", [False, True], ids=["alone", "beside another"])
def test_a_broken_request_ends_as_it_would_have_without_the_break(  # noqa: PLR0917 - fixtures
    store: Store, log: Log, proxy: S3Proxy, fault: Fault, times: int, contended: bool
) -> None:
    if contended:
        assert store.write(log.commit(0), THEIRS) is None
    rule = proxy.on("PUT", log.key(0), fault, times)
    refused = store.write(log.commit(0), MINE)
    assert rule.met >= 1
    assert is_conflict(refused) is contended
    assert lines_in(log.folder, 0) == (THEIRS if contended else MINE)
    assert log.names() == ["00000000000000000000.json"]


def in_capitals(request: Request, send: Send) -> bytes:
    """As proxies written in Go spell headers."""
    return (
        send(request)
        .replace(b"x-amz-meta-sluice-commit", b"X-Amz-Meta-Sluice-Commit")
        .replace(b"X-Amz-Meta-sluice-commit", b"X-Amz-Meta-Sluice-Commit")
    )


def without_metadata(request: Request, send: Send) -> bytes:
    return re.sub(rb"(?i)x-amz-meta-sluice-commit:[^\r]*\r\n", b"", send(request))


@pytest.mark.parametrize("heads", [in_capitals, without_metadata])
@pytest.mark.parametrize("contended", [False, True], ids=["alone", "beside another"])
def test_a_commit_is_known_again_however_its_metadata_come_back(
    store: Store, log: Log, proxy: S3Proxy, heads: Fault, contended: bool
) -> None:
    """A commit of one's own that is taken for another's would be made a second time."""
    if contended:
        assert store.write(log.commit(0), THEIRS) is None
    head = proxy.on("HEAD", log.key(0), heads)
    proxy.on("PUT", log.key(0), lose_reply, 1)
    refused = store.write(log.commit(0), MINE)
    assert head.met >= 1
    assert is_conflict(refused) is contended
    assert lines_in(log.folder, 0) == (THEIRS if contended else MINE)


def test_a_commit_whose_text_no_encoding_has_is_known_again_by_what_was_written(
    store: Store, log: Log, proxy: S3Proxy
) -> None:
    proxy.on("HEAD", log.key(0), without_metadata)
    proxy.on("PUT", log.key(0), lose_reply, 1)
    assert store.write(log.commit(0), store.half_a_character()) is None
    assert lines_in(log.folder, 0) == ['{"txn":"?"}']


def test_replies_that_are_lost_by_the_third_do_no_harm(store: Store, log: Log, proxy: S3Proxy) -> None:
    count = 0

    def every_third(request: Request, send: Send) -> bytes | None:
        nonlocal count
        count += 1
        reply = send(request)
        return None if count % 3 == 0 else reply

    for method in ("PUT", "HEAD", "GET"):
        proxy.on(method, log.bucket, every_third)
    for version in range(12):
        assert store.write(log.commit(version), [*MINE, str(version)]) is None
        assert is_conflict(store.write(log.commit(version), THEIRS))
    assert [lines_in(log.folder, version) for version in range(12)] == [
        [*MINE, str(version)] for version in range(12)
    ]


def test_a_request_that_arrives_late_writes_over_nothing(store: Store, log: Log, proxy: S3Proxy) -> None:
    late = Late()
    proxy.on("PUT", log.key(0), late, 1)
    assert store.write(log.commit(0), MINE) is None
    assert [reply.split()[1] for reply in late.let_through()] == [b"412"]
    assert lines_in(log.folder, 0) == MINE


def test_a_request_that_arrives_after_anothers_commit_is_refused_and_its_writer_was_told(
    store: Store, log: Log, proxy: S3Proxy
) -> None:
    late = Late()

    def others_come_first(request: Request, send: Send) -> None:
        late(request, send)
        if len(late.held) == 1:
            proxy.quiet()
            assert store.write(log.commit(0), THEIRS) is None

    proxy.on("PUT", log.key(0), others_come_first, 1)
    assert is_conflict(store.write(log.commit(0), MINE))
    assert [reply.split()[1] for reply in late.let_through()] == [b"412"]
    assert lines_in(log.folder, 0) == THEIRS


@pytest.mark.parametrize("is_there", [False, True], ids=["and nothing is there", "and it is there"])
def test_where_the_store_answers_nothing_the_writer_says_that_it_does_not_know(
    store: Store, log: Log, proxy: S3Proxy, is_there: bool
) -> None:
    assert store.try_out(log.table) is None
    proxy.on("PUT", log.key(0), answer_after(503, "SlowDown") if is_there else answer(503, "SlowDown"))
    proxy.on("HEAD", log.key(0), answer(503, "SlowDown"))
    refused = store.write(log.commit(0), MINE)
    assert refused is not None
    assert refused.java_class == UNKNOWN
    assert log.commit(0) in refused.message
    assert "Look into the table's log" in refused.message
    assert log.names() == (["00000000000000000000.json"] if is_there else [])


def test_two_commits_of_one_version_at_the_same_moment(store: Store, log: Log, proxy: S3Proxy) -> None:
    """Of one driver here, whose locks don't count for this store; of several in test_races.py."""
    for version in range(10):
        proxy.on("PUT", log.key(version), Together(2), 2)
        with ThreadPoolExecutor(2) as threads:
            writing = [threads.submit(store.write, log.commit(version), [tag]) for tag in ("one", "two")]
            refused = [one.result(120) for one in writing]
        winners = [tag for tag, reason in zip(("one", "two"), refused, strict=True) if reason is None]
        assert lines_in(log.folder, version) == winners
        assert len(winners) == 1
        assert all(reason.is_conflict for reason in refused if reason is not None)


BIG = [f"{number:0100}" for number in range(70_000)]
"""7 MB: more than one part of 5 MB, which is the least that S3 takes."""


@pytest.mark.parametrize("contended", [False, True], ids=["alone", "beside another"])
def test_a_commit_in_parts_is_whole_or_not_there(
    one_driver: Driver, log: Log, proxy: S3Proxy, contended: bool
) -> None:
    parts = {"fs.s3a.multipart.size": "5M", "fs.s3a.multipart.threshold": "5M"}
    store = one_driver.store({**hadoop_settings(proxy.endpoint), **parts})
    if contended:
        assert store.write(log.commit(0), THEIRS) is None
    rule = proxy.on("POST", log.key(0) + r"\?uploadId", lose_reply, 1)
    refused = store.write(log.commit(0), BIG)
    assert rule.met == 1, "it was not sent in parts"
    assert is_conflict(refused) is contended
    assert lines_in(log.folder, 0) == (THEIRS if contended else BIG)


def test_a_store_that_writes_over_what_is_there_is_refused_before_anything_is_committed(
    store: Store, log: Log, proxy: S3Proxy
) -> None:
    def ignores_the_condition(request: Request, send: Send) -> bytes:
        for file in log.folder.glob(".sluice-conditional-writes"):
            file.unlink()
        return send(request)

    proxy.on("PUT", log.bucket, ignores_the_condition)
    for refused in (store.try_out(log.table), store.write(log.commit(0), MINE)):
        assert refused is not None
        assert refused.java_class == UNSAFE
        assert log.table in refused.message
        assert "conditional writes" in refused.message
    assert log.names() == []


@pytest.mark.parametrize("by_bucket", [False, True], ids=["", "parts are for this bucket alone"])
def test_a_store_that_keeps_the_condition_of_whole_objects_alone_gets_no_commit_in_parts(
    one_driver: Driver, log: Log, proxy: S3Proxy, by_bucket: bool
) -> None:
    parts = "multipart.uploads.enabled"
    only_here = {f"fs.s3a.{parts}": "false", f"fs.s3a.bucket.{log.bucket}.{parts}": "true"}
    store = one_driver.store({**hadoop_settings(proxy.endpoint), **(only_here if by_bucket else {})})

    def ignores_the_condition(request: Request, send: Send) -> bytes:
        for file in log.folder.glob(".sluice-conditional-writes"):
            file.unlink()
        return send(request)

    proxy.on("POST", log.bucket + r".*\?uploadId", ignores_the_condition)
    assert store.write(log.commit(0), MINE) is None
    refused = store.write(log.commit(1), BIG)
    assert refused is not None
    assert refused.java_class == UNSAFE
    assert "in parts" in refused.message
    assert log.names() == ["00000000000000000000.json"]


def test_a_store_that_is_busy_when_it_is_tried_is_not_taken_for_an_unsafe_one(
    store: Store, log: Log, proxy: S3Proxy
) -> None:
    assert store.write(log.commit(0), MINE) is None
    fresh = log.table.replace("s3a:", "s3:")
    proxy.on("PUT", r"\.sluice-conditional-writes", answer(409, "ConditionalRequestConflict"), 1)
    assert store.try_out(fresh) is None


def test_a_store_that_answers_something_else_to_a_condition_is_refused(
    store: Store, log: Log, proxy: S3Proxy
) -> None:
    assert store.try_out(log.table) is None
    other = Log(log.bucket, log.folder)
    proxy.on("PUT", r"\.sluice-conditional-writes", answer(501, "NotImplemented"))
    fresh = store.try_out(other.table.replace("s3a:", "s3:"))
    assert fresh is not None
    assert fresh.java_class == UNSAFE
    assert "501" in fresh.message


def test_whether_a_store_is_safe_is_tried_once_a_driver_and_bucket(
    store: Store, log: Log, proxy: S3Proxy
) -> None:
    assert store.write(log.commit(0), MINE) is None
    assert store.write(log.commit(1), MINE) is None
    asked = [line for line in proxy.seen if line.startswith("PUT") and "sluice-conditional-writes" in line]
    assert len(asked) == 2
    assert [file.name for file in log.folder.glob(".*")] == [".sluice-conditional-writes"]


def test_a_table_below_a_folder_of_that_name_is_refused_as_it_would_not_be_seen(
    store: Store, log: Log
) -> None:
    magic = log.commit(0).replace("/orders/", "/__magic_job-1/orders/")
    refused = store.write(magic, MINE)
    assert refused is not None
    assert "__magic" in refused.message


def test_a_hadoop_without_conditional_writes_is_refused(
    one_driver: Driver, log: Log, server: S3Server
) -> None:
    off = {"fs.s3a.create.conditional.enabled": "false"}
    store = one_driver.store({**hadoop_settings(server.endpoint), **off})
    refused = store.write(log.commit(0), MINE)
    assert refused is not None
    assert refused.java_class == UNSAFE
    assert "3.4.2" in refused.message


def _wrong_key(endpoint: str) -> Mapping[str, str]:
    return hadoop_settings(endpoint, Account(secret_key="another"))


def _wrong_region(endpoint: str) -> Mapping[str, str]:
    return hadoop_settings(endpoint, region="eu-west-7")


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        (_wrong_key, "java.nio.file.AccessDeniedException"),
        (_wrong_region, "org.apache.hadoop.fs.s3a.AWSBadRequestException"),
    ],
)
def test_a_driver_that_the_store_refuses_is_told_so_and_has_written_nothing(
    one_driver: Driver,
    server: S3Server,
    log: Log,
    settings: Callable[[str], Mapping[str, str]],
    cause: str,
) -> None:
    refused = one_driver.store(settings(server.endpoint)).write(log.commit(0), MINE)
    assert refused is not None
    assert cause in refused.causes
    assert log.table in refused.message
    assert log.names() == []


def test_a_clock_that_is_wrong_is_named(store: Store, log: Log, proxy: S3Proxy) -> None:
    proxy.on("PUT", log.bucket, answer(403, "RequestTimeTooSkewed"))
    refused = store.write(log.commit(0), MINE)
    assert refused is not None
    assert "java.nio.file.AccessDeniedException" in refused.causes
    assert "RequestTimeTooSkewed" in refused.message
    assert log.names() == []


def test_a_bucket_that_is_not_there_is_named(store: Store, log: Log) -> None:
    refused = store.write(log.commit(0).replace(log.bucket, "nobodys-bucket"), MINE)
    assert refused is not None
    assert "nobodys-bucket" in refused.message
    assert "NoSuchBucket" in refused.message
