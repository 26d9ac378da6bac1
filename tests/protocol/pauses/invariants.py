"""What must hold of a stream that makes room, told by what really runs."""

from itertools import combinations

from protocol.pauses.state import STREAM, Driver, State, named

NO_DOUBLE_GRANT = "no double grant"
UNDER_ITS_LEASE = "a stream commits only under its lease"
EACH_BATCH_ONCE = "each batch takes effect once"
NO_BATCH_BROKEN_OFF = "a pause breaks no batch off"
ONE_CHECKPOINT = "one driver has a checkpoint at a time"
NOT_UNASKED = "no stream pauses unasked"
LETS_IT_GO = "a pause lets whom it is for go"
HAS_ITS_TURN = "a stream has its turn between two pauses"
HAS_TIME = "who begins within a pause has a quarter of it"


def violated(s: State) -> tuple[str, str] | None:
    if s.broken is not None:
        return s.broken
    alive = [one for one in s.drivers if one.alive]
    for one, other in combinations(alive, 2):
        if _has_the_checkpoint(s, one) and _has_the_checkpoint(s, other):
            return ONE_CHECKPOINT, f"{named(one.who)} and {named(other.who)} run on it together"
        if _conflict(s, one.who, other.who):
            return NO_DOUBLE_GRANT, f"the drivers of {named(one.who)} and {named(other.who)} can both write"
    for lease, rival in combinations(s.leases, 2):
        if _conflict(s, lease.who, rival.who):
            return NO_DOUBLE_GRANT, f"{named(lease.who)} and {named(rival.who)} hold leases together"
    if s.stream.phase != "running" and any(_has_the_checkpoint(s, one) for one in alive):
        return ONE_CHECKPOINT, "another job has the checkpoint of a stream that has not ended"
    return None


def _conflict(s: State, one: int, other: int) -> bool:
    return one != other and not any(who != STREAM and s.waiters[who].copy for who in (one, other))


def _has_the_checkpoint(s: State, driver: Driver) -> bool:
    return driver.who == STREAM or s.waiters[driver.who].copy


def unfinished(s: State, batches: int) -> str | None:
    for who, waiter in enumerate(s.waiters):
        if waiter.phase not in ("ended", "refused", "gone"):
            return f"{named(who)} is {waiter.phase}"
    driver = s.driver(STREAM, s.stream.attempt)
    if s.stream.phase != "running" or driver is None or not driver.alive:
        return f"the stream is {s.stream.phase}"
    return None if s.noted == batches else f"the stream has done {s.noted} of {batches} batches"
