"""What the bench of failovers makes of what Redis' MONITOR says."""

from bench.failover.witness import Handover

LEASES, EPOCH = "sluice:{sluice}:leases", "sluice:{sluice}:epoch"


def line(at: float, *command: str, by: str = "lua") -> bytes:
    words = " ".join(f'"{word}"' for word in command)
    return f"+{at:.6f} [0 {by}] {words}\r\n".encode()


def test_the_steps_of_a_handover_are_told_by_what_scripts_do_in_redis() -> None:
    seen = Handover(began=100.0, former="a", epoch=7, held=frozenset({"uid-1/1"}))
    for one in (
        line(99.0, "SET", EPOCH, "7"),
        line(101.0, "HGETALL", LEASES),
        line(109.0, "HGETALL", LEASES),
        line(110.0, "HSET", LEASES, "uid-1/1", "8 1 request"),
        line(110.1, "SET", EPOCH, "8"),
        line(110.5, "HSET", LEASES, "uid-1/1", "8 1 request and reach"),
        line(110.6, "HSET", LEASES, "uid-9/1", "by hand", by="127.0.0.1:5000"),
        line(111.0, "HSET", LEASES, "uid-2/1", "8 2 request"),
        line(112.0, "HSET", LEASES, "uid-3/2", "8 3 request"),
        line(113.0, "HGETALL", LEASES),
    ):
        seen.hear(one)
    assert (seen.listed, seen.rebuilt) == (109.0, 110.1)
    assert seen.granted == {"uid-2": 111.0, "uid-3": 112.0}
    took = {step: round(seconds, 3) for step, seconds in seen.seconds()}
    assert took == {"all is listed": 9.0, "Redis is rebuilt": 10.1, "the first new grant": 11.0}
