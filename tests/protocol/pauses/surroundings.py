"""Everything that is not the operator: drivers, their deaths, users, and the end of a pause."""

from collections.abc import Iterator

from protocol.pauses.invariants import EACH_BATCH_ONCE, HAS_ITS_TURN, NO_BATCH_BROKEN_OFF, UNDER_ITS_LEASE
from protocol.pauses.state import (
    ENOUGH,
    STREAM,
    Driver,
    Setting,
    State,
    named,
    spend,
    with_driver,
    with_waiter,
)
from protocol.search import Step


class Surroundings:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.design = setting.design

    def steps(self, s: State) -> Iterator[Step]:
        for driver in s.drivers:
            if driver.alive:
                yield from self._stream(s, driver) if driver.who == STREAM else self._other(s, driver)
        for who, waiter in enumerate(s.waiters):
            gives_way_still = s.left < ENOUGH and who in s.stream.asked
            if waiter.phase == "backing off" and not gives_way_still:
                yield Step("clock", f"{named(who)} queues again", _phase(s, who, "waiting"))
            if waiter.phase == "waiting" and s.budget.deletions:
                after = _phase(spend(s, "deletions"), who, "gone")
                yield Step("user", f"deletes {named(who)}", after, fault=True)
        lasts = any(one.at in ("slow", "hung") and one.who in s.stream.asked for one in s.drivers)
        if s.stream.phase == "paused" and lasts and not s.over and self.design.pause_bounded:
            what = (
                "is in the last quarter of its pause"
                if s.left == ENOUGH
                else "has paused for as long as it may"
            )
            yield Step("clock", f"the stream {what}", s._replace(left=s.left - 1))

    def _stream(self, s: State, driver: Driver) -> Iterator[Step]:
        who = f"driver {driver.attempt} of the stream"
        if driver.told and (driver.at == "between" or not self.design.stop_at_boundary):
            yield Step(who, "is asked to stop, and ends", self._stopped(s, driver))
        if driver.at == "between" and s.noted < self.setting.batches:
            yield Step(who, f"begins batch {s.noted + 1}", with_driver(s, driver._replace(at="inside")))
        elif driver.at == "between" and not driver.turn:
            yield Step(who, "finds nothing to do", with_driver(s, driver._replace(turn=True)))
        elif driver.at == "inside":
            yield Step(who, f"commits batch {s.noted + 1}", self._committed(s, driver))
        elif driver.at == "noting":
            after = with_driver(s, driver._replace(at="between", turn=True))._replace(noted=s.noted + 1)
            yield Step(who, f"notes in its checkpoint that batch {s.noted + 1} is done", after)
        if s.budget.deaths:
            after = with_driver(spend(s, "deaths"), driver._replace(at="terminated", said="Failed"))
            yield Step(who, "dies", after, fault=True)

    def _stopped(self, s: State, driver: Driver) -> State:
        after = with_driver(s, driver._replace(at="terminated", said="Paused"))
        if driver.at != "between":
            return after._replace(broken=(NO_BATCH_BROKEN_OFF, f"batch {s.noted + 1} was {driver.at}"))
        if not driver.turn:
            return after._replace(broken=(HAS_ITS_TURN, f"attempt {driver.attempt} has come to nothing"))
        return after

    def _committed(self, s: State, driver: Driver) -> State:
        batch = s.noted + 1
        after = with_driver(s, driver._replace(at="noting"))
        if (driver.who, driver.attempt) not in {lease[:2] for lease in s.leases}:
            what = f"attempt {driver.attempt} commits batch {batch} and holds no lease"
            return after._replace(broken=(UNDER_ITS_LEASE, what))
        if batch <= s.known and not self.design.batch_ids:
            return after._replace(broken=(EACH_BATCH_ONCE, f"batch {batch} is committed once more"))
        return after._replace(known=max(batch, s.known))

    def _other(self, s: State, driver: Driver) -> Iterator[Step]:
        who = f"driver of {named(driver.who)}"
        if driver.at in ("running", "slow"):
            yield Step(who, "commits and ends", _ended(s, driver, "Succeeded"))
        if driver.ending:
            yield Step("kubelet", f"stops the {who}", _ended(s, driver, "PauseExceeded"))
        if s.budget.failures and driver.at == "running":
            yield Step(who, "dies", _ended(spend(s, "failures"), driver, "Failed"), fault=True)
        for fault, at, what in (("hangs", "hung", "hangs"), ("slow", "slow", "is slow")):
            if getattr(s.budget, fault) and driver.at == "running" and driver.who in s.stream.asked:
                after = with_driver(spend(s, fault), driver._replace(at=at))
                yield Step(who, what, after, fault=True)


def _ended(s: State, driver: Driver, said: str) -> State:
    return with_driver(s, driver._replace(at="terminated", said=said))


def _phase(s: State, who: int, phase: str) -> State:
    return with_waiter(s, who, s.waiters[who]._replace(phase=phase))
