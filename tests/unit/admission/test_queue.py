"""The queue says at each moment what `decide` says from scratch, and looks at no more than what a change may have changed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.admission import MOST_NAMED, AdmissionDecision, Holder, Queue, Waiter, decide
from sluice.admission.blockers import MOST_WORKED_OUT
from sluice.admission.reference_decision import stays
from sluice.admission.shapes import Shapes
from sluice.api.job import DeltaWriteJobSpec, Yield
from sluice.conflicts import Conflict, Level, conflict_at_rest, conflict_between
from sluice.conflicts.places import places_of
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, TableKey, key_of_path, oss

BEGAN = datetime(2026, 11, 19, tzinfo=UTC)
LINKING = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}
COLUMNS = Table.of({"id": "bigint", "v": "string", "day": "int"}, ["day"])
KNOWN = TableFacts(columns=COLUMNS, dialect=oss("4.4.0"), log_store=LogStore.SAFE)

APPEND = "INSERT INTO {t} VALUES (1, 'v', 1)"
DELETE = "DELETE FROM {t} WHERE day = 1 AND id = 1"
DELETE_2 = "DELETE FROM {t} WHERE day = 2 AND id = 1"
OPTIMIZE = "OPTIMIZE {t} WHERE day = 1"
MERGE = "MERGE INTO {t} t USING delta.`/new` s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v"
TEMPLATES = (APPEND, DELETE, DELETE_2, OPTIMIZE, MERGE)


def on(table: str, sql: str) -> JobFootprint:
    facts = {} if "." in table else {key_of_path(table): KNOWN}
    spelled = table if "." in table else f"delta.`{table}`"
    return footprint_of(DeltaWriteJobSpec(sql=sql.replace("{t}", spelled)), LINKING, facts=facts)


def footprints() -> list[JobFootprint]:
    return [
        *(on("/a", sql) for sql in TEMPLATES),
        *(on("/b", sql) for sql in (APPEND, DELETE)),
        *(on("s3://lake/c", sql) for sql in (APPEND, DELETE)),
        on("sales.orders", "DELETE FROM {t}"),
        on("eu.sales.orders", "DELETE FROM {t}"),
        on("dbfs:/mnt/a", "DELETE FROM {t}"),
        on("/a", "INSERT INTO {t} VALUES (1, 'v', 1); DELETE FROM delta.`/b`"),
        on("/new", "VACUUM {t} RETAIN 0 HOURS"),
    ]


def stream(source: str, table: str, options: dict[str, str] | None = None) -> JobFootprint:
    given = {
        "source": {"format": "delta", "path": source, "options": options or {}},
        "table": {"path": table},
        "checkpoint": f"/checkpoints{table}",
        "trigger": {"processingTime": "1 second"},
    }
    facts = {key_of_path(path): KNOWN for path in (source, table)}
    return footprint_of(DeltaWriteJobSpec.model_validate({"stream": given}), LINKING, facts=facts)


POOL = [*footprints(), *footprints()]
STREAMS = [
    stream("/a", "/copy"),
    stream("/b", "/copy"),
    stream("/a", "/skips", {"skipChangeCommits": "true"}),
]


NO_RISK: frozenset[TableKey] = frozenset()
AGES = timedelta(seconds=4)
SLASH_A, SLASH_B = key_of_path("/a"), key_of_path("/b")


def waiter(
    uid: str,
    footprint: JobFootprint,
    priority: int = 0,
    seconds: int = 0,
    accepts: frozenset[TableKey] = frozenset(),
    *,
    for_ever: Yield | None = None,
) -> Waiter:
    at = BEGAN + timedelta(seconds=seconds)
    return Waiter(uid, f"etl/{uid}", footprint, priority, at, at + AGES, accepts=accepts, for_ever=for_ever)


def holder(
    uid: str,
    footprint: JobFootprint,
    was: JobFootprint | None = None,
    *,
    at_rest: bool = False,
    for_ever: Yield | None = None,
) -> Holder:
    """`was`: it may do anything where that one stood."""
    places = None if was is None else places_of(was)
    return Holder(uid, f"etl/{uid}", footprint, places=places, at_rest=at_rest, for_ever=for_ever)


def settle(queue: Queue, now: datetime = BEGAN) -> None:
    while queue.judge(now, 3):
        pass


class Told:
    """What the queue was told, for `decide`."""

    def __init__(self) -> None:
        self.queue = Queue()
        self.waiters: dict[str, Waiter] = {}
        self.holders: dict[str, list[Holder]] = {}
        self.limits: dict[TableKey, int] = {}
        self.now = BEGAN

    def limit(self, limits: dict[TableKey, int]) -> None:
        self.queue.limit(limits)
        self.limits = limits

    def wait(self, one: Waiter) -> None:
        self.queue.wait(one)
        self.waiters[one.uid] = one

    def rest(self, uid: str, footprint: JobFootprint) -> None:
        self._hold(uid, [holder(uid, footprint, at_rest=True)])

    def stream(self, uid: str, footprint: JobFootprint, for_ever: Yield, *, is_known: bool = True) -> None:
        """`is_known`: whether anything is known of it but where it stands; such a one makes room for nobody."""
        if is_known:
            self._hold(uid, [holder(uid, footprint, for_ever=for_ever)])
        else:
            self._hold(uid, [holder(uid, footprint, footprint, for_ever=Yield.NEVER)])

    def hold(self, uid: str, *footprints: JobFootprint, was: JobFootprint | None = None) -> None:
        self._hold(uid, [holder(uid, footprint, was) for footprint in footprints])

    def _hold(self, uid: str, held: list[Holder]) -> None:
        self.queue.hold(uid, held)
        if held:
            self.holders[uid] = held
        else:
            self.holders.pop(uid, None)

    def leave(self, uid: str) -> None:
        self.queue.leave(uid)
        self.waiters.pop(uid, None)

    def decided(self) -> list[AdmissionDecision]:
        holders = [one for held in self.holders.values() for one in held]
        return decide(self.waiters.values(), holders, self.now, self.limits)


uids = st.sampled_from([f"j{number}" for number in range(8)])
some = st.sampled_from([*POOL, *STREAMS])
risks = st.sampled_from([frozenset[TableKey](), frozenset([SLASH_A]), frozenset([SLASH_A, SLASH_B])])
yields = st.sampled_from(list(Yield))
ends = st.none() | yields
steps = st.one_of(
    *[st.tuples(st.just("wait"), uids, some, st.integers(-1, 1), st.integers(0, 5), risks, ends)] * 2,
    st.tuples(st.just("limit"), st.dictionaries(st.sampled_from([SLASH_A, SLASH_B]), st.integers(1, 3))),
    st.tuples(st.just("later"), st.integers(1, 4)),
    st.tuples(st.just("hold"), uids, st.lists(some, max_size=2), st.none() | some),
    st.tuples(st.just("rest"), st.sampled_from(["s0", "s1", "s2"]), st.sampled_from(STREAMS)),
    st.tuples(st.just("stream"), st.sampled_from(["s0", "s1", "s2"]), some, yields, st.booleans()),
    st.tuples(st.just("hold"), st.sampled_from(["s0", "s1", "s2"]), st.just([]), st.none()),
    st.tuples(st.just("leave"), uids),
    st.tuples(st.just("grant")),
)


def follow(told: Told, step: tuple[object, ...]) -> None:
    match step:
        case (
            "wait",
            str(uid),
            JobFootprint() as footprint,
            int(priority),
            int(seconds),
            frozenset() as accepts,
            (Yield() | None) as for_ever,
        ):
            told.wait(waiter(uid, footprint, priority, seconds, accepts, for_ever=for_ever))
        case ("rest", str(uid), JobFootprint() as footprint):
            told.rest(uid, footprint)
        case ("stream", str(uid), JobFootprint() as footprint, Yield() as for_ever, bool(is_known)):
            told.stream(uid, footprint, for_ever, is_known=is_known)
        case ("limit", dict(limits)):
            told.limit(limits)
        case ("later", int(seconds)):
            told.now += timedelta(seconds=seconds)
        case ("hold", str(uid), list(held), (JobFootprint() | None) as was):
            told.hold(uid, *held, was=was)
        case ("leave", str(uid)):
            told.leave(uid)
        case _:
            settle(told.queue, told.now)
            while (decision := told.queue.take()) is not None:
                one = decision.waiter
                assert conflicts_with_none(one, told)
                told.queue.hold(one.uid, [one])
                told.holders[one.uid] = [one]
                told.leave(one.uid)


def conflicts_with_none(one: Waiter, told: Told) -> bool:
    """Who holds now, and the oldest of those who have aged, which is a barrier."""
    held = [other for held in told.holders.values() for other in held]
    aged = sorted(other.rank(aged=True) for other in told.waiters.values() if other.has_aged(told.now))
    ahead = [told.waiters[first[-1]] for first in aged[:1] if first < one.rank(aged=one.has_aged(told.now))]
    ahead = [
        first for first in ahead if not any(conflict(first, other) and stays(other, first) for other in held)
    ]
    return not any(conflict(one, other) for other in (*held, *ahead))


def conflict(one: Waiter, other: Holder) -> bool:
    if other.at_rest:
        return conflict_at_rest(other.footprint, one.footprint) is not None
    if other.places is not None:
        return places_of(one.footprint).may_meet(other.places)
    return conflict_between(one.footprint, other.footprint, one.accepts & other.accepts) is not None


def check(told: Told) -> None:
    settle(told.queue, told.now)
    for decision in told.decided():
        uid = decision.waiter.uid
        assert told.queue.explain(uid) == decision


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=25), st.data())
def test_after_any_changes_it_says_what_is_decided_from_scratch(
    taken: list[tuple[object, ...]], data: st.DataObject
) -> None:
    told = Told()
    for step in taken:
        follow(told, step)
        if data.draw(st.booleans()):
            check(told)
    check(told)
    assert len(told.queue) == len(told.waiters)


@settings(max_examples=100, deadline=None)
@given(st.lists(steps, max_size=25))
def test_each_is_told_once_whenever_it_has_come_to_go_or_to_wait(taken: list[tuple[object, ...]]) -> None:
    """Who goes by what it is told, and not by asking, knows as much."""
    told = Told()
    may_go: set[str] = set()
    blocked: set[str] = set()
    for step in taken:
        if step[0] != "grant":
            follow(told, step)
        settle(told.queue, told.now)
        for decision in iter(told.queue.take_blocked, None):
            blocked.add(decision.waiter.uid)
            may_go.discard(decision.waiter.uid)
        for decision in iter(told.queue.take, None):
            may_go.add(decision.waiter.uid)
            blocked.discard(decision.waiter.uid)
        there = set(told.waiters)
        now = {decision.waiter.uid for decision in told.decided() if decision.granted}
        assert may_go & there == now
        assert blocked & there == there - now
        assert told.queue.take() is None
        assert told.queue.take_blocked() is None
        may_go &= there
        blocked &= there


LONG_AFTER = BEGAN + timedelta(days=1)
"""All have aged."""


def hot(number: int, now: datetime, templates: tuple[str, ...] = TEMPLATES) -> tuple[Queue, list[Waiter]]:
    """One table that all of them write."""
    shared = [on("/a", sql) for sql in templates]
    waiters = [waiter(f"w{n:04}", shared[n % len(shared)], seconds=n) for n in range(number)]
    queue = Queue()
    for one in waiters:
        queue.wait(one)
    settle(queue, now)
    return queue, waiters


def granted(queue: Queue, *, most: int = 1_000) -> list[Waiter]:
    """Those who went, and hold now."""
    found = list[Waiter]()
    while len(found) < most and (decision := queue.take()) is not None:
        one = decision.waiter
        queue.hold(one.uid, [one])
        queue.leave(one.uid)
        found.append(one)
    return found


@pytest.mark.parametrize("now", [BEGAN, LONG_AFTER])
def test_of_one_table_with_many_waiters_of_few_templates_the_first_of_each_is_judged_and_compared_by_template(
    now: datetime,
) -> None:
    queue, waiters = hot(1_000, now)
    can_go = sum(queue.explain(one.uid).granted for one in waiters)
    assert queue.judged <= can_go + (1_000 if now > BEGAN else 0) + 2 * len(TEMPLATES)
    assert queue.compared <= len(waiters) * len(TEMPLATES)
    assert queue.worked_out <= len(TEMPLATES) ** 2


@pytest.mark.parametrize("now", [BEGAN, LONG_AFTER])
def test_a_release_judges_the_first_of_each_shape_whose_reason_to_wait_it_was(now: datetime) -> None:
    queue, waiters = hot(1_000, now, (DELETE, OPTIMIZE))
    first, second = waiters[:2]
    assert granted(queue) == [first]
    settle(queue, now)
    judged, compared = queue.judged, queue.compared
    queue.hold(first.uid, [])
    settle(queue, now)
    assert granted(queue) == [second]
    assert queue.judged <= judged + 3
    assert queue.compared <= compared + 6


def test_what_happens_on_other_tables_judges_nobody() -> None:
    queue, _ = hot(100, BEGAN)
    before = queue.judged
    for n in range(50):
        queue.wait(waiter(f"a{n}", on(f"/other/{n}", DELETE)))
    settle(queue)
    assert queue.judged == before + 50
    assert queue.worked_out <= len(TEMPLATES) ** 2


@pytest.mark.parametrize("now", [BEGAN, LONG_AFTER])
def test_jobs_by_unbound_names_are_judged_when_what_they_stand_behind_goes_only(now: datetime) -> None:
    queue = Queue()
    for n in range(200):
        queue.wait(waiter(f"t{n:04}", on(f"/table/{n}", DELETE), seconds=2 * n))
        queue.wait(waiter(f"n{n:04}", on(f"sales.orders_{n}", "DELETE FROM {t}"), seconds=2 * n + 1))
    settle(queue, now)
    arrivals, worked_out = queue.judged, queue.worked_out
    assert arrivals <= 2 * 400
    assert worked_out <= 2 * arrivals
    first, *_ = granted(queue)
    queue.hold(first.uid, [])
    settle(queue, now)
    assert queue.judged <= arrivals + 3


def test_equal_footprints_share_a_shape_and_those_that_differ_in_what_equality_leaves_out_do_not() -> None:
    shapes = Shapes()
    one, same = on("/a", DELETE), on("/a", DELETE)
    assert shapes.of(one, NO_RISK) is shapes.of(same, NO_RISK)
    bound = replace(one.tables[0].table, bound=frozenset({"sales.orders"}))
    unlike = [
        replace(one, tables=(replace(one.tables[0], table=bound),)),
        replace(one, tables=(replace(one.tables[0], facts=None),)),
        replace(one, ids_of_sources={key_of_path("/new"): "7d1f"}),
        on("/a", DELETE_2),
    ]
    kept = [shapes.of(footprint, NO_RISK) for footprint in (one, *unlike)]
    assert len(set(kept)) == len(kept)
    assert all(one == footprint for footprint in unlike[:3])


def test_what_is_known_of_shapes_goes_with_them() -> None:
    shapes = Shapes()
    stays = shapes.of(on("/a", DELETE), NO_RISK)
    for n in range(100):
        passing = shapes.of(on(f"/a/day={n}", DELETE), NO_RISK)
        assert shapes.conflict(stays, passing)
        assert shapes.conflict(passing, stays)
        del passing
    assert shapes.worked_out == 100
    assert (len(shapes), shapes.kept) == (1, 0)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> JobFootprint:
    """It cannot be compared."""
    footprint = on("/a", "DELETE FROM {t} WHERE day = 13")

    def fails(
        one: JobFootprint, other: JobFootprint, accepted: frozenset[TableKey] = NO_RISK
    ) -> Conflict | None:
        if footprint in (one, other):
            raise RecursionError("too deep")
        return conflict_between(one, other, accepted)

    monkeypatch.setattr("sluice.admission.shapes.conflict_between", fails)
    return footprint


def test_who_cannot_be_judged_is_in_nobodys_way_and_is_judged_again_when_what_it_failed_at_is_gone(
    broken: JobFootprint,
) -> None:
    queue = Queue()
    queue.hold("h", [holder("h", on("/a", DELETE_2))])
    queue.wait(waiter("w", broken, seconds=1))
    queue.wait(waiter("x", on("/a", DELETE), seconds=2))
    settle(queue)
    decisions = {decision.waiter.uid: decision for decision in iter(queue.take, None)}
    assert isinstance(decisions["w"].failure, RecursionError)
    assert not queue.explain("w").granted
    assert decisions["x"].granted
    queue.leave("x")
    queue.hold("h", [])
    settle(queue)
    assert [(one.waiter.uid, one.granted) for one in iter(queue.take, None)] == [("w", True)]


def test_nobody_goes_beside_a_holder_that_cannot_be_compared(broken: JobFootprint) -> None:
    queue = Queue()
    queue.hold("h", [holder("h", broken)])
    queue.wait(waiter("w", on("/a", DELETE)))
    settle(queue)
    assert isinstance(next(iter(queue.take, None)).failure, RecursionError)
    queue.hold("h", [])
    settle(queue)
    assert next(iter(queue.take, None)).granted


def test_nobody_goes_beside_a_holder_of_which_no_table_is_known() -> None:
    queue = Queue()
    queue.wait(waiter("w", on("/a", DELETE)))
    settle(queue)
    queue.hold("h", [holder("h", JobFootprint(tables=()))])
    settle(queue)
    assert not queue.explain("w").granted


def test_who_may_go_and_could_not_is_given_again_when_it_is_offered() -> None:
    queue = Queue()
    queue.wait(waiter("w", on("/a", DELETE)))
    settle(queue)
    assert len(list(iter(queue.take, None))) == 1
    assert list(iter(queue.take, None)) == []
    queue.offer("w")
    assert len(list(iter(queue.take, None))) == 1


def test_a_judge_stops_after_as_many_as_it_was_told() -> None:
    queue = Queue()
    for n in range(10):
        queue.wait(waiter(f"w{n}", on(f"/a/{n}", DELETE), seconds=n))
    assert queue.judge(BEGAN, 4)
    assert queue.judged == 4
    while queue.judge(BEGAN, 6):
        assert queue.judged <= 10
    assert queue.judged <= 13


def test_where_very_many_shapes_are_met_the_count_of_those_in_the_way_says_at_least() -> None:
    queue = Queue()
    for n in range(MOST_WORKED_OUT + 50):
        held = on("/a", f"DELETE FROM {{t}} WHERE day < {n + 1} AND id = 1")
        queue.hold(f"h{n:03}", [holder(f"h{n:03}", held)])
    queue.wait(waiter("z", on("/a", "DELETE FROM {t}")))
    settle(queue)
    decision = queue.explain("z")
    assert decision.at_least
    assert len(decision.blocked_by) == MOST_NAMED < decision.count


def test_those_it_runs_beside_at_a_risk_are_told_and_no_others() -> None:
    queue, on_a = Queue(), frozenset({SLASH_A})
    delete, other = on("/a", DELETE), on("/a", "DELETE FROM {t} WHERE day = 1 AND id = 2")
    queue.hold("risky", [replace(holder("risky", delete), accepts=on_a)])
    queue.hold("apart", [replace(holder("apart", on("/a", DELETE_2)), accepts=on_a)])
    queue.wait(waiter("w", other, accepts=on_a))
    settle(queue)
    assert queue.explain("w").granted
    (risk,) = queue.risks("w")
    assert (risk.by.uid, risk.conflict.verdict.level) == ("risky", Level.MAY)
    queue.wait(waiter("strict", other))
    settle(queue)
    assert queue.risks("strict") == ()
    assert not queue.explain("strict").granted


SOURCE_DELETE, SOURCE_SET = on("/a", DELETE), on("/a", "ALTER TABLE {t} SET TBLPROPERTIES ('k' = 'v')")
READER = STREAMS[0]


def test_a_stream_at_rest_keeps_away_what_would_break_it_for_good_and_nothing_else() -> None:
    told = Told()
    told.rest("s", READER)
    told.wait(waiter("breaks", SOURCE_DELETE))
    told.wait(waiter("sets", SOURCE_SET))
    told.wait(waiter("writes", on("/copy", "DELETE FROM {t}")))
    settle(told.queue)
    assert [one.waiter.uid for one in iter(told.queue.take, None)] == ["sets", "writes"]
    (named,) = told.queue.explain("breaks").blocked_by
    assert (named.by.uid, named.conflict.verdict.rule) == ("s", "streamed-rows")


def test_who_waits_for_a_stream_at_rest_does_not_keep_that_stream_from_going_on() -> None:
    told = Told()
    told.wait(waiter("breaks", SOURCE_DELETE))
    told.hold("h", READER)
    settle(told.queue, BEGAN + AGES)  # it has aged, and is a barrier
    told.rest("s", READER)
    told.hold("h")
    told.wait(waiter("s", READER, seconds=1))
    settle(told.queue, BEGAN + AGES)
    assert [one.waiter.uid for one in iter(told.queue.take, None)] == ["s"]


@pytest.mark.parametrize("yields", list(Yield))
@pytest.mark.parametrize("waits_for_ever", [False, True])
def test_who_waits_for_a_stream_that_makes_it_no_room_stops_nobody_else_from_going(
    yields: Yield, *, waits_for_ever: bool
) -> None:
    """It writes the stream's table and another one, on which a third would wait for it, and so for ever."""
    told = Told()
    both = footprint_of(
        DeltaWriteJobSpec(sql="DELETE FROM delta.`/copy` WHERE id = 1; DELETE FROM delta.`/b` WHERE id = 1"),
        LINKING,
    )
    told.stream("s", READER, yields)
    told.wait(waiter("both", both, for_ever=Yield.NEVER if waits_for_ever else None))
    told.now = BEGAN + AGES + timedelta(seconds=1)
    told.wait(waiter("after", on("/b", DELETE), seconds=1))
    check(told)
    is_stuck = waits_for_ever or yields is not Yield.AGED
    assert [one.waiter.uid for one in iter(told.queue.take, None)] == (["after"] if is_stuck else [])
    told.queue.leave("after")
    told.leave("after")
    told.hold("s")
    told.hold("h", READER)  # somebody with an end has the table
    told.wait(waiter("later", on("/b", DELETE), seconds=1))
    check(told)
    assert told.queue.take() is None, "it is a barrier again"
    told.hold("h")
    check(told)
    assert [one.waiter.uid for one in iter(told.queue.take, None)] == ["both"]


def test_who_waits_for_a_stream_of_which_only_its_places_are_known_stops_nobody_else_from_going() -> None:
    told = Told()
    told.stream("s", READER, Yield.NEVER, is_known=False)
    told.wait(waiter("first", on("/copy", DELETE + "; DELETE FROM delta.`/b`")))
    told.now = BEGAN + AGES + timedelta(seconds=1)
    told.wait(waiter("after", on("/b", DELETE), seconds=1))
    check(told)
    assert [one.waiter.uid for one in iter(told.queue.take, None)] == ["after"]


def test_a_stream_that_makes_room_no_more_has_barriers_before_it_stop_nobody_any_longer() -> None:
    told = Told()
    told.stream("s", READER, Yield.AGED)
    told.wait(waiter("first", on("/copy", DELETE)))
    told.now = BEGAN + AGES + timedelta(seconds=1)
    check(told)
    for yields in (Yield.NEVER, Yield.AGED, Yield.METADATA):
        told.stream("s", READER, yields)
        check(told)
        assert told.queue.explain("first").blocked_by


def test_a_stream_at_rest_takes_no_place_of_those_who_write() -> None:
    told = Told()
    told.limit({key_of_path("/copy"): 1})
    told.rest("s", READER)
    told.wait(waiter("writes", on("/copy", APPEND)))
    settle(told.queue)
    assert [one.waiter.uid for one in iter(told.queue.take, None)] == ["writes"]


def test_behind_a_holder_stand_the_first_of_each_shape_that_have_aged_or_do_what_counts() -> None:
    told = Told()
    told.hold("s", READER)
    deletes, sets = on("/a", DELETE), SOURCE_SET
    for number, footprint in enumerate((deletes, deletes, deletes, sets, sets, sets)):
        told.wait(waiter(f"w{number}", footprint, seconds=number))

    def behind(most: int) -> set[str]:
        found = told.queue.first_behind("s", most, lambda one: one.changes_metadata)
        return {rank[-1] for rank in found}

    settle(told.queue)
    assert behind(2) == {"w3", "w4"}
    settle(told.queue, BEGAN + AGES + timedelta(seconds=1))
    assert behind(9) == {"w0", "w1", "w3", "w4", "w5"}


@pytest.mark.parametrize("yields", list(Yield))
def test_who_waits_for_a_place_that_streams_never_leave_stops_nobody_else_from_going(yields: Yield) -> None:
    """None of them is in its way but for the number of those that write."""
    told = Told()
    told.limit({SLASH_A: 2})
    for uid in ("s", "t"):
        told.stream(uid, on("/a", APPEND), yields)
    told.wait(waiter("both", on("/a", APPEND + "; DELETE FROM delta.`/b`")))
    told.now = BEGAN + AGES + timedelta(seconds=1)
    told.wait(waiter("after", on("/b", DELETE), seconds=1))
    check(told)
    assert [one.waiter.uid for one in iter(told.queue.take, None)] == (
        [] if yields is Yield.AGED else ["after"]
    )
    told.queue.leave("after")
    told.leave("after")
    told.hold("t", on("/a", APPEND))  # somebody with an end has a place
    told.wait(waiter("later", on("/b", DELETE), seconds=1))
    check(told)
    assert told.queue.take() is None, "it is a barrier again"
    told.stream("t", on("/a", APPEND), yields)
    told.limit({SLASH_A: 3})
    check(told)
    assert [one.waiter.uid for one in iter(told.queue.take, None)] == ["both"]


def test_a_waiter_behind_a_barrier_of_its_table_stops_no_job_of_its_other_tables() -> None:
    told = Told()
    told.hold("h", on("/b", DELETE))
    told.wait(waiter("barrier", on("/a", DELETE + "; DELETE FROM delta.`/b`")))
    told.wait(waiter("behind", on("/a", DELETE + "; DELETE FROM delta.`/c`"), seconds=1))
    told.now = BEGAN + AGES + timedelta(seconds=3)
    told.wait(waiter("free", on("/c", DELETE), seconds=5))
    check(told)
    assert [one.waiter.uid for one in iter(told.queue.take, None)] == ["free"]


@pytest.mark.parametrize("how", ["they make room no more", "there are fewer places"])
def test_once_no_place_comes_free_any_more_who_waits_for_one_is_no_barrier(how: str) -> None:
    told = Told()
    makes_room = how == "they make room no more"
    told.limit({SLASH_A: 1 if makes_room else 2})
    told.stream("s", on("/a", APPEND), Yield.AGED if makes_room else Yield.NEVER)
    told.hold("h", on("/b", DELETE_2 if makes_room else DELETE))
    told.wait(
        waiter("both", on("/a", APPEND + "; DELETE FROM delta.`/b` WHERE day = 1; DELETE FROM delta.`/c`"))
    )
    told.now = BEGAN + AGES + timedelta(seconds=1)
    told.wait(waiter("after", on("/c", DELETE), seconds=1))
    check(told)
    assert told.queue.take() is None, "it is a barrier"
    if makes_room:
        told.stream("s", on("/a", APPEND), Yield.NEVER)
    else:
        told.limit({SLASH_A: 1})
    check(told)
    assert [one.waiter.uid for one in iter(told.queue.take, None)] == ["after"]


writing = st.sampled_from([on("/a", sql) for sql in (APPEND, DELETE, APPEND + "; DELETE FROM delta.`/b`")])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("limit"), st.dictionaries(st.just(SLASH_A), st.integers(1, 2))),
            st.tuples(st.just("stream"), st.sampled_from(["s0", "s1", "s2"]), writing, yields, st.booleans()),
            st.tuples(st.just("wait"), uids, writing, st.just(0), st.integers(0, 5), st.just(NO_RISK), ends),
            st.tuples(st.just("later"), st.just(4)),
            steps,
        ),
        max_size=25,
    )
)
def test_of_places_that_streams_take_it_says_what_is_decided_from_scratch(
    taken: list[tuple[object, ...]],
) -> None:
    told = Told()
    for step in taken:
        follow(told, step)
        check(told)
