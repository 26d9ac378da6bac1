"""The two operators. Whoever leads decides on one thing and sends it; a former leader may still send what it had decided on."""

from collections.abc import Iterator

from protocol.pauses.invariants import HAS_TIME, LETS_IT_GO, NOT_UNASKED
from protocol.pauses.state import (
    ENOUGH,
    STREAM,
    Driver,
    Hand,
    Lease,
    Operator,
    Setting,
    State,
    named,
    spend,
    with_driver,
    with_hand,
    with_waiter,
)
from protocol.search import Step

NAMES = ("operator A", "operator B")


class Operators:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.design = setting.design

    def steps(self, s: State) -> Iterator[Step]:
        for at, operator in enumerate(s.operators):
            if operator.hand is not None:
                what = f"sends '{_told(operator.hand)}'"
                after = self._landed(with_hand(s, at, None), operator.hand)
                yield Step(NAMES[at], what, after, fault=at != s.leader)
            elif at == s.leader:
                for doing, who in self._to_do(s):
                    waiter = None if who == STREAM else s.waiters[who]
                    leases = self._to_release(s, who) if doing == "release" else s.leases
                    hand = Hand(at, doing, who, s.stream, waiter, leases)
                    yield Step(NAMES[at], f"decides '{_told(hand)}'", with_hand(s, at, hand))
        if s.budget.takeovers:
            yield Step(NAMES[1 - s.leader], "takes over, and rebuilds", self._taken_over(s), fault=True)

    def _taken_over(self, s: State) -> State:
        """Its leases are those of all attempts that are open."""
        who = 1 - s.leader
        after = spend(s, "takeovers")._replace(leader=who, leases=self._evident(s))
        operator = Operator(s.epoch + 1)
        return after._replace(operators=tuple(operator if at == who else s.operators[at] for at in (0, 1)))

    def _evident(self, s: State) -> frozenset[Lease]:
        known = {(lease.who, lease.attempt): lease for lease in s.leases}
        open_ = [(who, s.attempt_of(who)) for who in range(STREAM, len(s.waiters)) if s.runs(who)]
        return frozenset(known.get(one, Lease(*one, token=0)) for one in open_)

    # What the leader finds to do

    def _to_do(self, s: State) -> Iterator[tuple[str, int]]:
        stream = s.stream
        driver = s.driver(STREAM, stream.attempt)
        if stream.phase == "running" and driver is not None:
            yield from self._with_a_running_stream(s, driver)
        elif stream.phase != "running" and not self._in_the_way(s, STREAM) and not self._pauses(s):
            yield "grant", STREAM
        for who, waiter in enumerate(s.waiters):
            if waiter.phase == "waiting" and waiter.copy and self._has_the_checkpoint(s):
                yield "refuse", who
            elif waiter.phase == "waiting" and self._gives_way(s, who):
                yield "give way", who
            elif waiter.phase == "waiting" and not self._in_the_way(s, who):
                yield "grant", who
            elif waiter.phase == "running":
                yield from self._with_one_that_runs(s, who)
        for who in sorted({lease.who for lease in s.leases}):
            if self._to_release(s, who):
                yield "release", who

    def _gives_way(self, s: State, who: int) -> bool:
        return who in s.stream.asked and (s.over or (s.left < ENOUGH and self.design.begins_in_time))

    def _with_a_running_stream(self, s: State, driver: Driver) -> Iterator[tuple[str, int]]:
        if not driver.alive:
            yield "outcome", STREAM
            return
        if not self.design.pause_written_first and not driver.told and self._can_be_asked(s, driver):
            for who in self._who_waits_for_it(s):
                yield "tell", who
            return
        if self._can_be_asked(s, driver):
            for who in self._who_waits_for_it(s):
                if who not in s.stream.asked:
                    yield "ask", who
        if s.stream.asked and not driver.told and self.design.stop_written_again:
            yield "tell", STREAM

    def _can_be_asked(self, s: State, driver: Driver) -> bool:
        return bool(s.stream.asked) or driver.turn or not self.design.turn_first

    @staticmethod
    def _who_waits_for_it(s: State) -> list[int]:
        """A job that can go when the stream has stopped, at once or after another one for whom it pauses, too."""
        running = any(one.phase == "running" and not one.copy for one in s.waiters)
        waiting = [who for who, one in enumerate(s.waiters) if one.phase == "waiting" and not one.copy]
        return [] if running else waiting

    def _with_one_that_runs(self, s: State, who: int) -> Iterator[tuple[str, int]]:
        driver = s.driver(who, s.waiters[who].attempt)
        if driver is not None and not driver.alive:
            yield "outcome", who
        elif driver is not None and s.over and who in s.stream.asked and not driver.ending:
            yield "end", who

    def _in_the_way(self, s: State, who: int) -> bool:
        """What it held itself goes first."""
        is_copy = who != STREAM and s.waiters[who].copy
        return any(
            one.who == who or not (is_copy or (one.who != STREAM and s.waiters[one.who].copy))
            for one in s.leases
        )

    def _pauses(self, s: State) -> bool:
        """Whether the stream still waits for those for whom it has stopped."""
        if s.stream.phase != "paused" or s.over or not self.design.resume_waits:
            return False
        return any(s.waiters[who].phase in ("waiting", "running") for who in s.stream.asked)

    def _to_release(self, s: State, who: int) -> frozenset[Lease]:
        return frozenset(one for one in s.leases if one.who == who and self._is_to_be_released(s, one))

    def _is_to_be_released(self, s: State, lease: Lease) -> bool:
        if not s.runs(lease.who) or s.attempt_of(lease.who) != lease.attempt:
            return True
        driver = s.driver(lease.who, lease.attempt)
        if not self.design.paused_outcome_first and driver is not None and not driver.alive:
            return True
        return lease.who == STREAM and bool(s.stream.asked) and not self.design.pause_proved

    def _has_the_checkpoint(self, s: State) -> bool:
        """Whether the stream has its checkpoint: as long as its job is there, and not only as long as it holds a lease."""
        return self.design.checkpoint_stays or any(one.who == STREAM for one in s.leases)

    # What becomes of what is sent

    def _landed(self, s: State, hand: Hand) -> State:
        kept_out = s.operators[hand.by].epoch < s.epoch
        to_redis = hand.doing in ("grant", "release")
        if kept_out and (self.design.epoch_compared if to_redis else self._judged(hand)):
            return s
        after: State = getattr(self, f"_{hand.doing.replace(' ', '_')}")(s, hand)
        return after

    def _judged(self, hand: Hand) -> bool:
        return self.design.stop_carries_epoch if hand.doing == "tell" else self.design.policy_on_status

    def _ask(self, s: State, hand: Hand) -> State:
        if s.stream != hand.stream:
            return s
        after = s._replace(stream=s.stream._replace(asked=s.stream.asked | {hand.who}))
        return after if self.design.stop_written_again else with_hand(after, hand.by, _tell(after, hand))

    def _tell(self, s: State, hand: Hand) -> State:
        attempt = hand.stream.attempt if self.design.stop_under_uid else s.stream.attempt
        driver = s.driver(STREAM, attempt)
        if driver is None or not driver.alive:
            return s
        after = with_driver(s, driver._replace(told=True))
        if hand.who == STREAM:
            return after
        ask = hand._replace(doing="ask")  # the other way round
        return with_hand(after, hand.by, ask)

    def _outcome(self, s: State, hand: Hand) -> State:
        who = hand.who
        driver = s.driver(who, (hand.stream if hand.waiter is None else hand.waiter).attempt)
        if driver is None or (s.stream if who == STREAM else s.waiters[who]) != (hand.waiter or hand.stream):
            return s
        if who != STREAM:
            phase = "backing off" if driver.said == "Failed" else "ended"
            return with_waiter(s, who, s.waiters[who]._replace(phase=phase))
        if driver.said == "Paused" and not s.stream.asked:
            return s._replace(broken=(NOT_UNASKED, f"attempt {driver.attempt} stopped, and nobody asked"))
        if driver.said == "Paused":
            return s._replace(stream=s.stream._replace(phase="paused"))
        return s._replace(stream=s.stream._replace(phase="waiting", asked=frozenset()))

    def _grant(self, s: State, hand: Hand) -> State:
        who = hand.who
        if s.leases != hand.leases and self.design.version_compared:
            return s
        now = s.stream if who == STREAM else s.waiters[who]
        if now != (hand.waiter or hand.stream) and self.design.intent_precondition:
            return s
        if who == STREAM and not s.over and any(self._is_kept_waiting(s, one) for one in s.stream.asked):
            return s._replace(broken=(LETS_IT_GO, "the stream goes on, and who it paused for still waits"))
        number = now.attempt
        number += 0 if who == STREAM and not self.design.resume_is_an_attempt else 1
        lease = Lease(who, number, s.tokens + 1)
        s = s._replace(leases=s.leases | {lease}, tokens=lease.token)
        if who == STREAM:
            stream = s.stream._replace(phase="running", attempt=number, asked=frozenset())
            s = s._replace(stream=stream, left=ENOUGH)
        elif s.left < ENOUGH and who in s.stream.asked:
            return s._replace(broken=(HAS_TIME, f"{named(who)} begins in the last quarter"))
        else:
            s = with_waiter(s, who, s.waiters[who]._replace(phase="running", attempt=number))
        if s.driver(who, number) is not None:
            return s  # its name is taken: by itself, as it seems
        return with_driver(s, Driver(who, number, at="between" if who == STREAM else "running"))

    @staticmethod
    def _is_kept_waiting(s: State, who: int) -> bool:
        """One that had its chance may come back at any moment, also right after it was decided that the stream may go."""
        waiter = s.waiters[who]
        return waiter.phase == "waiting" and waiter.attempt == 0 and not waiter.gave_way

    def _refuse(self, s: State, hand: Hand) -> State:
        if s.waiters[hand.who] != hand.waiter:
            return s
        return with_waiter(s, hand.who, s.waiters[hand.who]._replace(phase="refused"))

    def _end(self, s: State, hand: Hand) -> State:
        """Has the run ended of one for whom the stream has paused for long enough."""
        assert hand.waiter is not None
        driver = s.driver(hand.who, hand.waiter.attempt)
        return s if driver is None else with_driver(s, driver._replace(ending=True))

    def _give_way(self, s: State, hand: Hand) -> State:
        if s.waiters[hand.who] != hand.waiter:
            return s
        return with_waiter(s, hand.who, s.waiters[hand.who]._replace(phase="backing off", gave_way=True))

    def _release(self, s: State, hand: Hand) -> State:
        return s._replace(leases=s.leases - hand.leases)


def _tell(s: State, hand: Hand) -> Hand:
    return Hand(hand.by, "tell", STREAM, s.stream, None, hand.leases)


def _told(hand: Hand) -> str:
    return {
        "ask": f"the stream is to pause for {named(hand.who)}",
        "tell": "the stream's driver is to stop",
        "outcome": f"{named(hand.who)} has ended its attempt",
        "grant": f"{named(hand.who)} may go",
        "refuse": f"{named(hand.who)} may not have the checkpoint",
        "end": f"the run of {named(hand.who)} gives way",
        "give way": f"{named(hand.who)} gives way, and queues again later",
        "release": f"the lease of {named(hand.who)} is free",
    }[hand.doing]
