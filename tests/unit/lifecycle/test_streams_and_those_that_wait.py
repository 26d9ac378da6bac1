"""Whatever streams run and whoever comes to wait for them: nobody waits for ever who isn't told that a stream makes no room, and
each stream has its turn again."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.admission import Holder, Queue, Waiter
from sluice.api.job import Yield
from sluice.api.job_status import StreamPause, WaitsForPause
from sluice.lifecycle.streams.pauses import TURN, RunningStream, asked, to_ask
from unit.lifecycle.streaming import NOW
from unit.lifecycle.test_pauses import AGE, ALTER, DELETE, INSERT, OPTIMIZE, merging, work

TICK = timedelta(seconds=20)
TICKS = 200
SOURCE, TABLES = "/raw", ("/t0", "/t1", "/t2")
STREAMS = [merging(table, SOURCE) for table in TABLES]
WORK = [work(sql, table) for sql in (ALTER, OPTIMIZE, DELETE, INSERT) for table in (*TABLES, SOURCE)]


@dataclass
class Stream:
    holder: Holder
    yields: Yield
    began: datetime | None = NOW
    """None: it holds nothing."""
    pause: StreamPause | None = None

    def running(self, now: datetime) -> RunningStream:
        assert self.began is not None
        had = now - self.began >= TURN
        return RunningStream(self.holder.uid, self.yields, self.holder.footprint, had, self.pause)


@dataclass
class Jobs:
    """The operator as far as it decides: its queue, and who is asked to pause for whom."""

    streams: dict[str, Stream]
    to_come: list[tuple[int, int, Waiter]]
    """When each comes, in ticks, for how many it runs, and what it does."""
    queue: Queue = field(default_factory=Queue)
    now: datetime = NOW
    ends: dict[str, datetime] = field(default_factory=dict)
    """When those end that run."""
    granted: set[str] = field(default_factory=set)

    def tick(self, number: int) -> None:
        for _, _, one in [each for each in self.to_come if each[0] == number]:
            self.queue.wait(replace(one, queued_at=self.now, aged_at=self.now + AGE))
        for uid in [uid for uid, end in self.ends.items() if end <= self.now]:
            del self.ends[uid]
            self.queue.hold(uid, [])
        for stream in self.streams.values():
            self._stops_or_queues_again(stream)
        self._grant()
        self._ask()
        self.now += TICK

    def _stops_or_queues_again(self, stream: Stream) -> None:
        uid, pause = stream.holder.uid, stream.pause
        if stream.began is not None and pause is not None:
            stream.began = None
            self.queue.hold(uid, [replace(stream.holder, at_rest=True)])
        elif (
            stream.began is None
            and pause is not None
            and not any(self._is_there(one.uid) for one in pause.for_)
        ):
            stream.pause = None
            holder = stream.holder
            self.queue.wait(Waiter(uid, holder.job, holder.footprint, 0, NOW - AGE, NOW))

    def _is_there(self, uid: str) -> bool:
        return uid in self.queue or uid in self.ends

    def _grant(self) -> None:
        while self.queue.judge(self.now):
            pass
        while (decision := self.queue.take()) is not None:
            one = decision.waiter
            assert decision.failure is None
            self.queue.hold(one.uid, [Holder(one.uid, one.job, one.footprint)])
            self.queue.leave(one.uid)
            if one.uid in self.streams:
                self.streams[one.uid].began = self.now
                continue
            self.granted.add(one.uid)
            (runs,) = (runs for _, runs, each in self.to_come if each.uid == one.uid)
            self.ends[one.uid] = self.now + runs * TICK

    def _ask(self) -> None:
        running = {uid: one.running(self.now) for uid, one in self.streams.items() if one.began is not None}
        for uid in self.queue.uids:
            waiter = self.queue.waiter(uid)
            if uid in self.streams or waiter is None:
                continue
            for stream in to_ask(waiter, self.queue.explain(uid, 64), running, self.now):
                told = self.streams[stream]
                told.pause = asked(told.pause, [WaitsForPause(job=waiter.job, uid=uid)], self.now)
                running[stream] = told.running(self.now)
                self.queue.wait(replace(waiter, aged_at=min(waiter.aged_at, told.pause.since)))

    def told_why(self) -> set[str]:
        """Those in whose way is a stream that makes no room for them, or another job of which that is so."""
        found: set[str] = set()
        while True:
            more = {uid for uid in self.queue.uids if uid not in found and self._is_told(uid, found)}
            if not more:
                return found
            found |= more

    def _is_told(self, uid: str, others: set[str]) -> bool:
        decision = self.queue.explain(uid, 64)
        for one in decision.blocked_by:
            stream = self.streams.get(one.by.uid)
            if one.by.uid in others or one.by.at_rest:
                return True
            if stream is not None and stream.began is not None:
                gives = stream.running(self.now).gives_way_to(decision.waiter, self.now)
                if not gives:
                    return True
        return False


def waiter(number: int, footprint: int) -> Waiter:
    return Waiter(f"w{number}", f"etl/w{number}", WORK[footprint], 0, NOW, NOW + AGE)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(list(Yield)), min_size=1, max_size=len(STREAMS)),
    st.lists(
        st.tuples(st.integers(0, 12), st.integers(1, 4), st.integers(0, len(WORK) - 1)),
        min_size=1,
        max_size=7,
    ),
)
def test_each_that_waits_is_granted_or_told_why_and_each_stream_goes_on(
    yields: list[Yield], coming: list[tuple[int, int, int]]
) -> None:
    holders = [Holder(f"s{at}", f"etl/s{at}", STREAMS[at]) for at in range(len(yields))]
    streams = {one.uid: Stream(one, each) for one, each in zip(holders, yields, strict=True)}
    to_come = [(when, runs, waiter(at, what)) for at, (when, runs, what) in enumerate(coming)]
    jobs = Jobs(streams, to_come)
    for one in holders:
        jobs.queue.hold(one.uid, [one])
    for number in range(TICKS):
        jobs.tick(number)
        if number > 12 and not jobs.ends and all(one.pause is None for one in streams.values()):
            waiting = set(jobs.queue.uids)
            if not waiting - jobs.told_why():
                break
    told = jobs.told_why()
    for _, _, one in to_come:
        assert one.uid in jobs.granted | told, f"{one.job} waits for ever, and nobody tells it why"
    for uid, stream in streams.items():
        assert stream.began is not None, f"{uid} never goes on"
