"""Whoever reads one namespace learns nothing of the jobs in another, unless both are shared."""

from datetime import UTC, datetime

import pytest

from sluice.admission import AdmissionDecision, Blocking, Holder, Waiter
from sluice.api.job import DeltaWriteJobSpec, WhenBlocked, Yield
from sluice.api.job_status import AttemptException, ConflictingCommit
from sluice.conflicts import Conflict, Level, Verdict, conflict_between
from sluice.conflicts.advice_texts import PAUSE_STREAM
from sluice.footprint import footprint_of
from sluice.footprint.model import JobFootprint
from sluice.lifecycle.job.blocked_status import outcome_of_waiting
from sluice.lifecycle.job.visible_blockers import ANOTHER, VisibleBlockers
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path, oss
from unit.lifecycle.streaming import spec

NOTHING = JobFootprint(())
CONFLICT = Conflict(
    key_of_path("/lake/orders"), Verdict(Level.MAY, "added-files", "Delete may add files that Delete reads")
)
SECRET = "acquisition-of-acme"
QUEUED = datetime(2026, 11, 19, 10, tzinfo=UTC)


def decision(*others: Holder) -> AdmissionDecision:
    waiter = Waiter("w", "etl/w", NOTHING, 0, QUEUED, QUEUED)
    return AdmissionDecision(
        waiter, tuple(Blocking(one, CONFLICT, holds=True) for one in others), count=len(others)
    )


@pytest.mark.parametrize(
    ("shared", "job", "called"),
    [
        ((), "etl/h", "etl/h"),
        ((), "web/h", ANOTHER),
        ((), "SparkApplication etl/h-1", "SparkApplication etl/h-1"),
        ((), "SparkApplication web/h-1", ANOTHER),
        ((), "the job with the uid 1c5e", ANOTHER),
        (("web",), "web/h", ANOTHER),
        (("etl",), "web/h", ANOTHER),
        (("etl", "web"), "web/h", "web/h"),
        (("etl", "web"), "ml/h", ANOTHER),
        (("*",), "web/h", "web/h"),
    ],
)
def test_a_job_is_named_in_its_own_namespace_and_where_both_are_shared(
    shared: tuple[str, ...], job: str, called: str
) -> None:
    assert VisibleBlockers.of(shared).called(job, "etl") == called


@pytest.mark.parametrize(
    "other",
    [
        Holder("uid-of-it", f"web/{SECRET}", NOTHING),
        Waiter("uid-of-it", f"web/{SECRET}", NOTHING, 0, QUEUED, QUEUED),
    ],
)
def test_nothing_of_who_is_in_the_way_gets_into_the_status_but_that_there_is_somebody(other: Holder) -> None:
    told = VisibleBlockers().as_told(decision(other))
    _, _, message = outcome_of_waiting(WhenBlocked.WAIT, None, told, 0.0)
    assert message.startswith("waits for a job in another namespace, which runs on file:/lake/orders (")
    for text in (message, repr(told.blocked_by)):
        assert SECRET not in text
        assert "uid-of-it" not in text


def test_advice_on_who_is_in_the_way_was_tried_and_names_the_job_and_its_statement() -> None:
    """The rule itself advises nothing; that the waiting job reads all of the table is what its author can change."""
    orders = TableFacts(
        columns=Table.of({"id": "int", "date": "date"}, ["date"]),
        dialect=oss("4.4.0"),
        log_store=LogStore.SAFE,
    )
    merge = (
        "MERGE INTO delta.`/lake/orders` t USING delta.`/lake/s` s ON t.id = s.id WHEN MATCHED THEN DELETE"
    )
    running, waiting, everywhere = (
        footprint_of(DeltaWriteJobSpec(sql=sql), {}, facts={key_of_path("/lake/orders"): orders})
        for sql in (
            "DELETE FROM delta.`/lake/orders` WHERE date = DATE '2026-11-19' AND id = 2",
            merge,
            "DELETE FROM delta.`/lake/orders` WHERE id = 1",
        )
    )

    def told_to(waits: JobFootprint) -> tuple[str, str | None]:
        found = conflict_between(waits, running)
        assert found is not None
        one = Blocking(Holder("h", "etl/h", running), found, holds=True)
        told = VisibleBlockers().as_told(
            AdmissionDecision(Waiter("w", "etl/w", waits, 0, QUEUED, QUEUED), (one,), count=1)
        )
        _, _, message = outcome_of_waiting(WhenBlocked.WAIT, None, told, 0.0)
        return message, told.blocked_by[0].conflict.verdict.advice

    _, advice = told_to(waiting)
    assert advice is not None
    assert advice.startswith("etl/w, MERGE: if ON matches rows of some partitions alone, name them")
    assert "etl/h" not in advice
    message, advice = told_to(everywhere)
    assert message.startswith("waits for etl/h, which runs on file:/lake/orders (")
    assert advice is None, "a DELETE with one more condition would leave rows"


@pytest.mark.parametrize("ends_itself", [True, False], ids=["a stream with an end", "a stream without one"])
@pytest.mark.parametrize(
    ("stream", "waiter", "is_told"),
    [
        (Yield.NEVER, None, True),
        (Yield.METADATA, None, False),
        (Yield.AGED, None, False),
        (Yield.NEVER, Yield.NEVER, False),
        (Yield.METADATA, Yield.NEVER, False),
    ],
)
def test_a_stream_is_advised_to_pause_where_it_does_not_yet_and_would(
    stream: Yield, waiter: Yield | None, *, is_told: bool, ends_itself: bool
) -> None:
    source = TableFacts(columns=Table.of({"id": "int"}), dialect=oss("4.4.0"), log_store=LogStore.SAFE)
    given = {key_of_path(path): source for path in ("/lake/raw", "/lake/orders")}
    streaming, altering = (
        footprint_of(DeltaWriteJobSpec.model_validate(one), {}, facts=given, sources=given)
        for one in (spec(), {"sql": "ALTER TABLE delta.`/lake/raw` ADD COLUMNS (note STRING)"})
    )
    found = conflict_between(altering, streaming)
    assert found is not None
    for_ever = None if ends_itself else stream
    one = Blocking(Holder("h", "etl/h", streaming, for_ever=for_ever, yields=stream), found, holds=True)
    waits = Waiter("w", "etl/w", altering, 0, QUEUED, QUEUED, for_ever=waiter)
    told = VisibleBlockers().as_told(AdmissionDecision(waits, (one,), count=1))
    advice = told.blocked_by[0].conflict.verdict.advice
    assert advice == (f"etl/h: {PAUSE_STREAM}" if is_told else None)


def test_neighbours_of_its_own_namespace_stay_named_and_all_stay_counted() -> None:
    own, other = Holder("h", "etl/h", NOTHING), Holder("o", "web/o", NOTHING)
    told = VisibleBlockers().as_told(decision(own, other))
    assert [(one.by.uid, one.by.job) for one in told.blocked_by] == [("h", "etl/h"), ("", ANOTHER)]
    assert told.count == 2


ENTRY = (
    'Conflicting commit: {"operation":"MERGE","userMetadata":"{\\"sluice\\":{\\"job\\":\\"web/'
    + SECRET
    + '\\",\\"uid\\":\\"uid-of-it\\",\\"runKey\\":\\"'
    + SECRET
    + '\\"}}"}\nRefer to the docs'
)


@pytest.mark.parametrize(("foreign", "is_quoted"), [(True, True), (None, False), (False, False)])
def test_an_entry_of_the_log_is_quoted_where_it_is_known_that_no_job_made_it(
    foreign: bool | None, is_quoted: bool
) -> None:
    won = ConflictingCommit(version=5, foreign=foreign)
    lost = AttemptException(class_="ConcurrentAppendException", message=ENTRY, conflicting_commit=won)
    told = VisibleBlockers().exception(lost, "etl")
    assert told is not None
    assert (SECRET in told.message) is is_quoted
    assert VisibleBlockers.of(["*"]).exception(lost, "etl") == lost


def test_who_won_a_race_is_not_named_either_not_even_in_deltas_own_words() -> None:
    won = ConflictingCommit(version=5, operation="MERGE", job=f"web/{SECRET}", foreign=False)
    lost = AttemptException(
        class_="ConcurrentAppendException",
        message=f"Files were added.\n{ENTRY}",
        conflicting_commit=won,
    )
    told = VisibleBlockers().exception(lost, "etl")
    assert told is not None
    assert SECRET not in told.model_dump_json()
    assert "uid-of-it" not in told.message
    assert told.message.startswith("Files were added.\nConflicting commit: left out here")
    assert told.conflicting_commit == won.model_copy(update={"job": ANOTHER})
    assert VisibleBlockers.of(["*"]).exception(lost, "etl") == lost
    assert VisibleBlockers().exception(lost, "web") == lost


def test_an_entry_of_the_log_is_left_out_where_nothing_at_all_is_known_of_who_won() -> None:
    """As of a hook that failed after the commit because it lost a race itself: the entry stands in the cause's message."""
    lost = AttemptException(
        class_="DeltaRuntimeException",
        error_class="DELTA_POST_COMMIT_HOOK_FAILED",
        message=f"The hook failed\ncaused by ConcurrentAppendException: {ENTRY}",
    )
    told = VisibleBlockers().exception(lost, "etl")
    assert told is not None
    assert SECRET not in told.message
    assert "uid-of-it" not in told.message


@pytest.mark.parametrize(
    "theirs",
    [
        f"INSERT INTO delta.`/a` SELECT * FROM raw.`{SECRET}`",
        f"DELETE FROM delta.`/a` WHERE region = '{SECRET}' AND id = 1",
    ],
    ids=["a table that it reads", "a partition that it names"],
)
def test_nothing_of_another_namespaces_statements_gets_into_the_status(theirs: str) -> None:
    table = key_of_path("/a")
    columns = Table.of({"id": "bigint", "region": "string"}, ["region"])
    facts = {table: TableFacts(columns=columns, dialect=oss("4.4.0"), log_store=LogStore.SAFE)}
    mine, other = (
        footprint_of(DeltaWriteJobSpec(sql=sql), {}, facts=facts) for sql in ("OPTIMIZE delta.`/a`", theirs)
    )
    conflict = conflict_between(mine, other)
    assert conflict is not None
    (told,) = VisibleBlockers().named((Blocking(Holder("h", "web/h", other), conflict, holds=True),), "etl")
    verdict = told.conflict.verdict
    for text in (verdict.reason, verdict.advice, verdict.overlap):
        assert SECRET not in (text or "")
