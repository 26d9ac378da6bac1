"""For whom a stream pauses: only where that lets somebody go, never for ever, and never two streams for each other."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.admission import AdmissionDecision, Holder, Queue, Waiter
from sluice.api.job import DeltaWriteJobSpec, Yield
from sluice.api.job_status import Attempt, Outcome, PauseReason, Phase, StreamPause, WaitsForPause
from sluice.api.reasons import Reason
from sluice.footprint import JobFootprint, footprint_of
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.streams.pauses import (
    RunningStream,
    after_a_stop,
    asked,
    gives_way,
    had_its_turn,
    may_be_paused_for,
    seconds_left,
    to_ask,
    turn_of,
)
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path, oss
from unit.controller.bodies import job_body
from unit.lifecycle.streaming import NOW, PROFILES, attempt, progress, spec, stream

LINKING = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}
KNOWN = TableFacts(columns=Table.of({"id": "bigint"}, []), dialect=oss("4.4.0"), log_store=LogStore.SAFE)
ALTER, OPTIMIZE = "ALTER TABLE {t} SET TBLPROPERTIES ('k' = 'v')", "OPTIMIZE {t}"
DELETE = "DELETE FROM {t} WHERE id = 1"
AGE = timedelta(minutes=2)
PAUSE = StreamPause(reason=PauseReason.YIELDS, for_=(WaitsForPause(job="etl/w", uid="uid-w"),), since=NOW)


def work(sql: str, table: str = "/orders") -> JobFootprint:
    spelled = DeltaWriteJobSpec(sql=sql.replace("{t}", f"delta.`{table}`"))
    return footprint_of(spelled, LINKING, facts={key_of_path(table): KNOWN})


def merging(table: str = "/orders", source: str = "/raw") -> JobFootprint:
    given = {
        "source": {"format": "delta", "path": source},
        "sql": f"MERGE INTO delta.`{table}` t USING batch s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
        "checkpoint": f"/checkpoints{table}",
        "trigger": {"processingTime": "1 second"},
    }
    facts = {key_of_path(path): KNOWN for path in (table, source)}
    return footprint_of(DeltaWriteJobSpec.model_validate({"stream": given}), LINKING, facts=facts)


def waiter(sql: str, uid: str = "w", table: str = "/orders") -> Waiter:
    return Waiter(uid, f"etl/{uid}", work(sql, table), 0, NOW, NOW + AGE)


def running(uid: str = "s", yields: Yield = Yield.AGED, **changed: Any) -> RunningStream:
    return replace(RunningStream(uid, yields, merging(), had_its_turn=True), **changed)


def decided(one: Waiter, *holders: Holder) -> AdmissionDecision:
    queue = Queue()
    for holder in holders:
        queue.hold(holder.uid, [holder])
    queue.wait(one)
    while queue.judge(NOW):
        pass
    return queue.explain(one.uid, 64)


def ask(
    one: Waiter, *streams: RunningStream, beside: tuple[Holder, ...] = (), now: datetime = NOW
) -> set[str]:
    holders = [Holder(stream.uid, f"etl/{stream.uid}", stream.footprint) for stream in streams]
    decision = decided(one, *holders, *beside)
    return set(to_ask(one, decision, {stream.uid: stream for stream in streams}, now))


def test_it_pauses_for_a_change_of_metadata_at_once_and_for_anything_else_once_that_has_aged() -> None:
    assert ask(waiter(ALTER), running()) == {"s"}
    assert ask(waiter(ALTER), running(yields=Yield.METADATA)) == {"s"}
    assert ask(waiter(OPTIMIZE), running()) == set()
    assert ask(waiter(OPTIMIZE), running(), now=NOW + AGE) == {"s"}
    assert ask(waiter(OPTIMIZE), running(yields=Yield.METADATA), now=NOW + AGE) == set()
    assert ask(waiter(ALTER), running(yields=Yield.NEVER), now=NOW + AGE) == set()


def test_nobody_is_asked_where_anything_else_is_in_the_way() -> None:
    other = Holder("h", "etl/h", work(DELETE))
    assert ask(waiter(ALTER), running(), beside=(other,)) == set()


def test_all_streams_in_the_way_are_asked_or_none() -> None:
    one, other = running("s1"), running("s2", footprint=merging(source="/raw2"))
    assert ask(waiter(ALTER), one, other) == {"s1", "s2"}
    assert ask(waiter(ALTER), one, replace(other, had_its_turn=False)) == set()
    assert ask(waiter(ALTER), one, replace(other, yields=Yield.NEVER)) == set()
    already = asked(None, [WaitsForPause(job="etl/w", uid="w")], NOW)
    assert ask(waiter(ALTER), one, replace(other, pause=already)) == {"s1"}


def test_no_other_stream_pauses_in_vain_for_who_waits_for_one_that_does_not_stop() -> None:
    for_it = asked(None, [WaitsForPause(job="etl/w", uid="w")], NOW)
    one, other = running("s1", pause=for_it), running("s2", footprint=merging(source="/raw2"))
    assert ask(waiter(ALTER), one, other, now=NOW + timedelta(seconds=59)) == {"s2"}
    assert ask(waiter(ALTER), one, other, now=NOW + timedelta(seconds=60)) == set()
    assert ask(waiter(ALTER), other, now=NOW + timedelta(hours=1)) == {"s2"}, "once that one has stopped"


def test_what_would_break_the_stream_for_good_is_never_let_go_by_a_pause() -> None:
    reader = running(footprint=merging("/copy", "/orders"))
    assert ask(waiter(DELETE), reader, now=NOW + AGE) == set()
    assert ask(waiter(ALTER), reader) == {"s"}


def test_a_later_one_goes_in_the_same_pause_behind_the_one_it_is_for() -> None:
    already = asked(None, [WaitsForPause(job="etl/first", uid="first")], NOW)
    first = replace(waiter(ALTER, "first"), aged_at=NOW)
    second = waiter("ALTER TABLE {t} ADD COLUMNS (more INT)", "second")
    queue, one = Queue(), running(pause=already)
    queue.hold("s", [Holder("s", "etl/s", one.footprint)])
    for each in (first, second):
        queue.wait(each)
    while queue.judge(NOW):
        pass
    assert to_ask(second, queue.explain("second", 64), {"s": one}, NOW) == ("s",)
    assert to_ask(first, queue.explain("first", 64), {"s": one}, NOW) == ()


INSERT = "INSERT INTO {t} VALUES (1)"


def appending(uid: str) -> JobFootprint:
    given = spec(table={"path": "/orders"}, source={"format": "delta", "path": f"/raw-{uid}"})
    given["stream"]["checkpoint"] = f"/checkpoints/{uid}"
    facts = {key_of_path(path): KNOWN for path in ("/orders", f"/raw-{uid}")}
    return footprint_of(DeltaWriteJobSpec.model_validate(given), LINKING, facts=facts)


def ask_for_a_place(
    *streams: RunningStream, before: tuple[Waiter, ...] = (), beside: tuple[Holder, ...] = ()
) -> set[str]:
    """Who is asked for an aged job with which nobody conflicts, where its table has no place left."""
    holders = [*(Holder(one.uid, f"etl/{one.uid}", one.footprint) for one in streams), *beside]
    queue, one = Queue(), replace(waiter(INSERT), aged_at=NOW)
    queue.limit({key_of_path("/orders"): len(holders)})
    for holder in holders:
        queue.hold(holder.uid, [holder])
    for other in (*before, one):
        queue.wait(other)
    while queue.judge(NOW):
        pass
    assert queue.is_in_the_way(holders[0].uid)
    behind = queue.first_behind(holders[0].uid, 2, counts=lambda footprint: footprint.changes_metadata)
    assert "w" in [rank[-1] for rank in behind]
    found = to_ask(one, queue.explain("w", 64), {stream.uid: stream for stream in streams}, NOW)
    for uid in found:
        queue.hold(uid, [])
    while found and queue.judge(NOW):
        pass
    assert not found or queue.take() is not None
    return set(found)


def test_where_a_table_has_no_place_left_one_stream_is_enough() -> None:
    one, other = (running(uid, footprint=appending(uid)) for uid in ("s1", "s2"))
    assert ask_for_a_place(one) == {"s1"}
    assert ask_for_a_place(one, other) == {"s1"}
    assert ask_for_a_place(replace(one, yields=Yield.METADATA), other) == {"s2"}
    assert ask_for_a_place(replace(one, had_its_turn=False), other) == {"s2"}
    assert ask_for_a_place(replace(one, yields=Yield.NEVER)) == set()
    assert ask_for_a_place(one, beside=(Holder("h", "etl/h", work(INSERT)),)) == {"s1"}


def test_one_that_stops_is_enough_for_the_first_that_waits_for_a_place() -> None:
    already = asked(None, [WaitsForPause(job="etl/w", uid="w")], NOW)
    one, other = (running(uid, footprint=appending(uid)) for uid in ("s1", "s2"))
    assert ask_for_a_place(one, replace(other, pause=already)) == set()
    first = replace(waiter(INSERT, "first"), aged_at=NOW, queued_at=NOW - AGE)
    assert ask_for_a_place(one, before=(first,)) == set()


@pytest.mark.parametrize(
    ("told", "ran", "had"),
    [
        ({"batches": 1}, 0, True),
        ({"idleSince": "2026-11-19T10:00:00Z"}, 0, True),
        ({"batches": 0}, 59, False),
        ({"batches": 0}, 60, True),
    ],
)
def test_it_has_had_its_turn_after_a_batch_or_a_minute_or_when_nothing_is_left(
    told: Any, ran: int, had: bool
) -> None:
    assert had_its_turn(progress(**told), NOW, NOW + timedelta(seconds=ran)) is had
    assert not had_its_turn(None, None, NOW)


@pytest.mark.parametrize(
    ("ran", "told", "turn"),
    [
        (10, None, 60),
        (90, None, 180),
        (90, {"attempt": 1}, 180),
        (7200, None, 3600),
        (90, {"attempt": 1, "batches": 1}, 60),
        (90, {"attempt": 1, "idleSince": "2026-11-19T10:00:30Z"}, 60),
        (90, {"attempt": 2, "batch": 7, "batchAt": "2026-11-19T10:00:30Z"}, 60),
        (90, {"attempt": 2, "batch": 7, "batchAt": "2026-11-19T09:59:59Z"}, 180),
    ],
)
def test_one_that_paused_before_any_batch_ended_has_twice_as_long_the_next_time(
    ran: int, told: Any, turn: int
) -> None:
    before = attempt(
        outcome=Outcome.PAUSED, started_at=NOW, ended_at=NOW + timedelta(seconds=ran), pause=PAUSE
    )
    second = attempt(2, started_at=NOW + timedelta(hours=3))
    status = {"stream": {"batches": 0, **told}} if told is not None else {}
    assert turn_of(stream(before, second, status=status), second) == timedelta(seconds=turn)
    failed = before.model_copy(update={"outcome": Outcome.FAILED})
    assert turn_of(stream(failed, second), second) == timedelta(seconds=60)
    assert turn_of(stream(second), second) == timedelta(seconds=60)


def test_however_long_it_takes_to_begin_a_batch_one_ends_though_others_wait_all_the_time() -> None:
    needs, began, number, attempts = timedelta(minutes=7), NOW, 1, list[Attempt]()
    while True:
        running_now = attempt(number, started_at=began)
        turn = turn_of(stream(*attempts, running_now), running_now)
        if turn > needs:
            break
        ended = running_now.model_copy(
            update={"outcome": Outcome.PAUSED, "ended_at": began + turn, "pause": PAUSE}
        )
        attempts, began, number = [ended], began + turn + timedelta(minutes=1), number + 1
    assert number == 4


def test_no_stream_pauses_for_another_that_never_ends_nor_for_who_does_not_wait() -> None:
    def job(**given: Any) -> JobView:
        return JobView(job_body("w", **given), PROFILES, NOW)

    assert may_be_paused_for(job(sql="OPTIMIZE delta.`/a`"))
    assert may_be_paused_for(job(**spec({"availableNow": True})))
    assert not may_be_paused_for(job(**spec()))
    assert not may_be_paused_for(job(sql="OPTIMIZE delta.`/a`", admission={"whenBlocked": "Skip"}))


def test_a_stop_for_others_is_a_pause_with_an_end_and_any_other_queues_at_once() -> None:
    ended = attempt(outcome=Outcome.PAUSED, ended_at=NOW, pause=PAUSE)
    change = after_a_stop(stream(ended), ended, NOW)
    assert (change.phase, change.reason) == (Phase.PAUSED, Reason.YIELDED)
    assert change.pause is not None
    assert change.pause.until == NOW + timedelta(minutes=15)
    for pause in (None, StreamPause(reason=PauseReason.SPEC_CHANGED, since=NOW)):
        by_itself = ended.model_copy(update={"pause": pause})
        change = after_a_stop(stream(by_itself), by_itself, NOW)
        assert (change.phase, change.reason, change.pause) == (Phase.PENDING, Reason.RESTARTING, None)
        assert change.message.endswith("to go on as its spec says now")
    understood = StreamPause(reason=PauseReason.UNDERSTOOD_OTHERWISE, since=NOW)
    change = after_a_stop(stream(ended), ended.model_copy(update={"pause": understood}), NOW)
    assert change.message.endswith("to go on once it is admitted for what it touches now")


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_pause_counts_from_when_others_can_begin_whatever_the_clock_of_a_node_says(hours: int) -> None:
    ended = attempt(outcome=Outcome.PAUSED, ended_at=NOW + timedelta(hours=hours), pause=PAUSE)
    change = after_a_stop(stream(ended), ended, NOW)
    assert change.pause is not None
    assert change.pause.until == NOW + timedelta(minutes=15)


def test_nobody_gives_way_to_a_stream_that_is_being_deleted_or_has_not_stopped() -> None:
    one, waits = paused(NOW), job_in("Waiting")
    assert gives_way(waits, [one], NOW) is not None
    deleted = one.body["metadata"] | {"deletionTimestamp": "2026-11-19T10:00:00Z"}
    assert gives_way(waits, [JobView(one.body | {"metadata": deleted}, PROFILES, NOW)], NOW) is None
    pause = one.body["status"]["pause"]
    for other in (
        stream(status={"phase": "Paused", "pause": pause}),
        stream(attempt(), status={"pause": pause}),
    ):
        assert other.status.pause is not None
        assert gives_way(waits, [other], NOW) is None


def paused(until: datetime, since: datetime = NOW, **spelled: str) -> JobView:
    pause = PAUSE.model_copy(update={"until": until}).model_dump(mode="json", by_alias=True)
    ended = attempt(outcome=Outcome.PAUSED, ended_at=NOW, pause=PAUSE)
    found = stream(ended, status={"phase": "Paused", "since": since.isoformat(), "pause": pause})
    found.body["spec"]["stream"] |= spelled
    return JobView(found.body, PROFILES, NOW)


def job_in(phase: str | None, **metadata: Any) -> JobView:
    body = job_body("w", sql="OPTIMIZE delta.`/a`") | ({"status": {"phase": phase}} if phase else {})
    return JobView(body | {"metadata": body["metadata"] | metadata}, PROFILES, NOW)


phases = st.one_of(st.none(), st.sampled_from([phase.value for phase in Phase]))


@settings(max_examples=200, deadline=None)
@given(phases, st.integers(-100, 1000), st.booleans(), st.booleans())
def test_a_stream_pauses_as_long_as_somebody_needs_it_and_never_past_its_end(
    phase: str | None, seconds: int, is_there: bool, has_begun: bool
) -> None:
    until, ends = NOW + timedelta(seconds=seconds), NOW + timedelta(seconds=min(seconds, 900))
    one, other = paused(until), job_in(phase)
    if has_begun and phase not in ("Succeeded", "Failed", "Skipped"):
        begun = attempt().model_dump(mode="json", by_alias=True, exclude_none=True)
        other = JobView(other.body | {"status": {"phase": phase, "attempts": [begun]}}, PROFILES, NOW)
    left = seconds_left(one, {"uid-w": other} if is_there else {}, NOW)
    assert 0 <= left <= max(0, min(seconds, 900))
    is_over = phase in ("Succeeded", "Failed", "Skipped")
    needs_none = is_over or (phase in ("Suspended", "BackingOff") and not has_begun)
    assert (left > 0) == (is_there and not needs_none and seconds > 0)
    found = gives_way(other, [one], NOW)
    assert (found is None) == needs_none
    if found is not None:  # it has gone by then, or it is told
        assert found.at == (ends if has_begun else ends - max(timedelta(0), ends - NOW) / 4)


def test_a_job_that_gives_way_because_another_stream_stops_late_is_told_which() -> None:
    """Else batches that take longer than three quarters of a pause would keep it waiting for ever without a reason."""
    late = stream(attempt(pause=PAUSE), status={"phase": "Running"})
    late = JobView(late.body | {"metadata": late.body["metadata"] | {"name": "late"}}, PROFILES, NOW)
    found = gives_way(job_in("Waiting"), [paused(NOW), late], NOW)
    assert found is not None
    said = found.as_told(lambda one: f"({one})").message
    assert said.endswith(
        "; the stream (etl/late) has not stopped yet: make its batches shorter, or that maxPause longer"
    )


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 86_400), st.integers(0, 86_400))
def test_whoever_begins_within_a_pause_has_a_quarter_of_it_at_least(longest: int, begins_after: int) -> None:
    one = paused(NOW + timedelta(seconds=longest), maxPause=f"{longest}s")
    begins = NOW + timedelta(seconds=begins_after)
    waits = gives_way(job_in("Waiting"), [one], begins)
    assert waits is not None
    if waits.at > begins:
        begun = attempt(granted_at=begins).model_dump(mode="json", by_alias=True, exclude_none=True)
        job = JobView(job_in(None).body | {"status": {"attempts": [begun]}}, PROFILES, NOW)
        runs = gives_way(job, [one], begins)
        assert runs is not None
        assert (runs.at - begins).total_seconds() >= longest / 4


def test_a_pause_is_never_longer_than_the_spec_says_whatever_stands_in_the_status() -> None:
    def left(one: JobView) -> float:
        return seconds_left(one, {"uid-w": job_in("Waiting")}, NOW)

    year = timedelta(days=365)
    assert left(paused(NOW + year)) == 900
    assert left(paused(NOW + year, NOW - timedelta(seconds=100))) == 800
    assert left(paused(NOW + year, NOW + year)) == 0
    assert left(paused(NOW + year, NOW + timedelta(seconds=2))) == 902, "the clock of who led before"


def test_a_shorter_pause_counts_at_once_and_a_longer_one_from_the_next_on() -> None:
    until, waits = NOW + timedelta(seconds=900), {"uid-w": job_in("Waiting")}
    assert seconds_left(paused(until, maxPause="1m"), waits, NOW) == 60
    assert seconds_left(paused(until, maxPause="1h"), waits, NOW) == 900
    told = gives_way(waits["uid-w"], [paused(until, maxPause="1m")], NOW)
    assert told is not None
    assert told.at == NOW + timedelta(seconds=45)
    assert "less than a quarter of its spec.stream.maxPause (60 s) is left" in told.message
    told = gives_way(waits["uid-w"], [paused(until, maxPause="24h")], NOW)
    assert told is not None
    assert told.at == NOW + timedelta(seconds=675), "a quarter of the pause that there is"


uids = st.sampled_from(["s1", "s2", "s3"])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(uids, st.sampled_from(list(Yield)), st.booleans(), st.booleans()),
        max_size=3,
        unique_by=lambda one: one[0],
    ),
    st.sampled_from([ALTER, OPTIMIZE, DELETE]),
    st.booleans(),
    st.booleans(),
)
def test_whoever_is_asked_for_can_go_once_all_that_were_asked_have_stopped(
    given_streams: list[tuple[str, Yield, bool, bool]], sql: str, has_aged: bool, is_other: bool
) -> None:
    streams = [
        RunningStream(uid, yields, merging(source=f"/raw-{uid}"), had, PAUSE if pauses else None)
        for uid, yields, had, pauses in given_streams
    ]
    beside = (Holder("h", "etl/h", work(DELETE)),) if is_other else ()
    one = waiter(sql)
    found = ask(one, *streams, beside=beside, now=NOW + AGE if has_aged else NOW)
    if found:
        stopped = found | {stream.uid for stream in streams if stream.pause is not None}
        left = [Holder(s.uid, f"etl/{s.uid}", s.footprint) for s in streams if s.uid not in stopped]
        assert decided(one, *left, *beside).granted
    for stream_ in streams:
        assert stream_.yields is not Yield.NEVER or not found
