"""The queue says at each moment what `decide` says from scratch, and looks at no more than what a change may have changed."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.admission import Decision, Holder, Queue, Waiter, decide
from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import conflict_between
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path, oss

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


POOL = [*footprints(), *footprints()]


def waiter(uid: str, footprint: JobFootprint, priority: int = 0, seconds: int = 0) -> Waiter:
    return Waiter(uid, f"etl/{uid}", footprint, priority, BEGAN + timedelta(seconds=seconds))


def holder(uid: str, footprint: JobFootprint) -> Holder:
    return Holder(uid, f"etl/{uid}", footprint)


def settle(queue: Queue) -> None:
    while queue.judge(3):
        pass


class Told:
    """What the queue was told, for `decide`."""

    def __init__(self) -> None:
        self.queue = Queue()
        self.waiters: dict[str, Waiter] = {}
        self.holders: dict[str, list[Holder]] = {}

    def wait(self, one: Waiter) -> None:
        self.queue.wait(one)
        self.waiters[one.uid] = one

    def hold(self, uid: str, *footprints: JobFootprint) -> None:
        held = [holder(uid, footprint) for footprint in footprints]
        self.queue.hold(uid, held)
        if held:
            self.holders[uid] = held
        else:
            self.holders.pop(uid, None)

    def leave(self, uid: str) -> None:
        self.queue.leave(uid)
        self.waiters.pop(uid, None)

    def decided(self) -> list[Decision]:
        return decide(self.waiters.values(), [one for held in self.holders.values() for one in held])


uids = st.sampled_from([f"j{number}" for number in range(8)])
some = st.sampled_from(POOL)
steps = st.one_of(
    st.tuples(st.just("wait"), uids, some, st.integers(-1, 1), st.integers(0, 3)),
    st.tuples(st.just("wait"), uids, some, st.integers(-1, 1), st.integers(0, 3)),
    st.tuples(st.just("hold"), uids, st.lists(some, max_size=2)),
    st.tuples(st.just("leave"), uids),
    st.tuples(st.just("grant")),
)


def follow(told: Told, step: tuple[object, ...]) -> None:
    match step:
        case ("wait", str(uid), JobFootprint() as footprint, int(priority), int(seconds)):
            told.wait(waiter(uid, footprint, priority, seconds))
        case ("hold", str(uid), list(held)):
            told.hold(uid, *held)
        case ("leave", str(uid)):
            told.leave(uid)
        case _:
            while (decision := told.queue.take()) is not None:
                one = decision.waiter
                assert conflicts_with_none(one, told)
                told.hold(one.uid, one.footprint)
                told.leave(one.uid)


def conflicts_with_none(one: Waiter, told: Told) -> bool:
    """Who holds now, and who waits ahead."""
    held = [other for held in told.holders.values() for other in held]
    ahead = [other for other in told.waiters.values() if other.rank < one.rank]
    return not any(conflict_between(one.footprint, other.footprint) for other in (*held, *ahead))


def check(told: Told) -> None:
    settle(told.queue)
    for decision in told.decided():
        uid = decision.waiter.uid
        assert told.queue.may_go(uid) is decision.granted
        assert told.queue.explain(uid) == decision


@settings(max_examples=300, deadline=None)
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
        settle(told.queue)
        for decision in told.queue.newly_blocked():
            blocked.add(decision.waiter.uid)
            may_go.discard(decision.waiter.uid)
        for decision in told.queue.ready():
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
