"""Two leaders, a Redis that forgets and a wire that loses and repeats, in every order that chance brings, against a model of what
must hold.

A Redis that went back to an earlier epoch serves the leader of that epoch again, who was replaced since. It does no harm: its
grants go with the next rebuild, and a leader that is no more writes nothing to Kubernetes.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ConstantBackoff
from redis.exceptions import ConnectionError as NoConnectionError

from integration.leases.faulty_wire import Fault, FaultyWire
from integration.leases.redis_process import RedisProcess
from long_parts import parts, seed_of
from sluice.leases import Epochs, ForgottenError, Grant, Lease, LeaseStore, RefusedError
from sluice.leases.store import TakenError

TABLES = st.lists(st.sampled_from(["file:/a", "file:/b", "s3://c"]), min_size=1, max_size=2, unique=True)
UIDS = st.sampled_from(["u1", "u2", "u3", "u4"])
HASHES = st.sampled_from(["h1", "h2"])
RUNS = st.sampled_from([None, None, "etl/r1", "etl/r2"])
LEADERS = st.sampled_from([0, 1])
RETRIES = 2
"""As many as the operator's client makes."""
FAULTS: st.SearchStrategy[list[Fault]] = st.just([]) | st.lists(
    st.sampled_from(Fault), min_size=1, max_size=RETRIES + 2
)
SEVERAL = st.lists(st.tuples(UIDS, TABLES, RUNS), min_size=2, unique_by=lambda one: one[0])
SEQUENCES = 100
PARTS, SEQUENCES_OF_A_PART = 8, 250
"""Together two thousand."""


class TheLeaseTable(RuleBasedStateMachine):
    """The model: the latest leader, and what it granted. All else must be refused and change nothing. Which rules may come next
    depends on nothing that the wire or Redis did: else a sequence could not be played again."""

    server: RedisProcess

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.server.service.start()
        self.redis = Redis.from_url(self.server.url, decode_responses=True)
        self.run(self._asked_again(self.redis.flushall))
        self.wire = FaultyWire(self.server.port)
        self.run(self.wire.open())
        self.clients = [
            Redis.from_url(
                f"redis://127.0.0.1:{self.wire.port}",
                decode_responses=True,
                retry=Retry(ConstantBackoff(0), RETRIES),
            )
            for _ in range(2)
        ]
        self.leaders = [LeaseStore(client, "machine", "cluster/ns/machine") for client in self.clients]
        self.epoch = 0
        self.leader: int | None = None
        self.held: dict[str, Grant] = {}
        self.tokens: set[int] = set()
        self.serves = 0
        self.saved: tuple[str, int] | None = None
        self.forgot = False
        self.is_as_rebuilt = False
        """Whether the leader has changed nothing since its rebuild."""
        self.refused = False
        """Whether something in the request was refused, so that what came after it in there may be, too."""

    def run(self, doing: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(doing)

    def teardown(self) -> None:
        for client in (*self.clients, self.redis):
            self.run(client.aclose())
        self.run(self.wire.close())
        # A connection that Redis had broken off is closed in the loop's next round.
        self.run(asyncio.sleep(0))
        self.loop.close()

    @rule(who=LEADERS)
    def takes_over(self, who: int) -> None:
        """A leader takes over: its epoch comes from the Lease object, which never forgets, and what is held from Kubernetes."""
        self.epoch += 1
        self.wire.faults = self.wire.faults[:RETRIES]  # else it fails, and is tried in another epoch
        self.run(self._asked_again(lambda: self.leaders[who].rebuild(self.epoch, list(self.held.values()))))
        self.leader, self.serves, self.forgot = who, self.epoch, False
        self.is_as_rebuilt = True

    @rule(who=LEADERS, uid=UIDS, tables=TABLES, hash_=HASHES, run=RUNS, faults=FAULTS)
    def asks_for_a_grant(
        self, *, who: int, uid: str, tables: list[str], hash_: str, run: str | None, faults: list[Fault]
    ) -> None:
        self.wire.faults = list(faults)
        lease = Lease(uid, 1, f"{hash_} of {run}", f"etl/{uid}", tuple(tables), run=run)
        self.heed(who, lease, self.outcomes(lambda: [self.leaders[who].grant(lease)])[0])
        self.refused = False

    @rule(who=LEADERS, chosen=SEVERAL, faults=FAULTS)
    def asks_for_several_at_once(
        self, who: int, chosen: list[tuple[str, list[str], str | None]], faults: list[Fault]
    ) -> None:
        self.wire.faults = list(faults)
        leases = [
            Lease(uid, 1, f"of {run}", f"etl/{uid}", tuple(tables), run=run) for uid, tables, run in chosen
        ]
        outcomes = self.outcomes(lambda: [self.leaders[who].grant(lease) for lease in leases])
        for lease, outcome in zip(leases, outcomes, strict=True):
            self.heed(who, lease, outcome)
        self.refused = False

    def outcomes(self, asking: Callable[[], list[Coroutine[Any, Any, Any]]]) -> list[Any]:
        async def asked() -> list[Any]:
            return await asyncio.gather(*asking(), return_exceptions=True)

        return list(self.run(asked()))

    def heed(self, who: int, lease: Lease, outcome: Grant | BaseException) -> None:
        uid = lease.uid
        try:
            if isinstance(outcome, BaseException):
                raise outcome
            grant = outcome
        except NoConnectionError:
            self.mistrusts(who)
        except RefusedError:
            self.refused = True
            if not self.is_served_again(who) and not self.forgot:
                assert who == self.leader
                assert uid in self.held
                assert self.held[uid].lease.hash != lease.hash
        except TakenError:
            self.refused = True
            assert who != self.leader or self.forgot or self.has_the_run_of(lease)
        except ForgottenError:
            assert who != self.leader or self.forgot or self.refused
        else:
            if self.is_served_again(who):
                return
            assert who == self.leader
            known = self.held.get(uid)
            if known is None:
                assert grant.token not in self.tokens
                assert Epochs.of(grant.token) == self.epoch
                assert not self.has_the_run_of(lease)
                self.held[uid] = grant
                self.is_as_rebuilt = False
                self.tokens.add(grant.token)
            else:
                assert (grant.token, grant.lease.hash) == (known.token, known.lease.hash)

    @rule(who=LEADERS, number=st.integers(0, 3), faults=FAULTS)
    def releases(self, who: int, number: int, faults: list[Fault]) -> None:
        if not self.held:
            return
        self.wire.faults = list(faults)
        uid = sorted(self.held)[number % len(self.held)]
        knows = self.leaders[who].holds(uid, 1)
        try:
            self.run(self.leaders[who].release(self.held[uid].lease))
        except NoConnectionError:
            self.mistrusts(who)
        except ForgottenError:
            assert who != self.leader or self.forgot
        else:
            if self.is_served_again(who) or (who != self.leader and not knows):
                return  # who knows of no lease asks nobody
            assert who == self.leader
            del self.held[uid]
            self.is_as_rebuilt = False

    def has_the_run_of(self, lease: Lease) -> bool:
        """Whether another holder has it."""
        others = (grant.lease for uid, grant in self.held.items() if uid != lease.uid)
        return lease.run is not None and lease.run in {other.run for other in others}

    def is_served_again(self, who: int) -> bool:
        return who != self.leader and self.forgot and self.leaders[who].epoch == self.serves

    def mistrusts(self, who: int) -> None:
        """A leader that knows nothing of what it asked for begins anew; one that leads no more does not."""
        if who == self.leader:
            self.takes_over(who)

    @rule()
    def what_is_late_lands(self) -> None:
        self.run(self.wire.land())
        if self.serves == 0 and self.run(self._asked_again(self.epoch_of_redis)) == str(self.epoch):
            self.serves, self.forgot = self.epoch, not self.is_as_rebuilt

    async def epoch_of_redis(self) -> object:
        return await self.redis.get("sluice:{machine}:epoch")

    @rule()
    def is_emptied(self) -> None:
        self.run(self._asked_again(self.redis.flushall))
        self.serves, self.forgot = 0, True

    @rule()
    def loses_its_scripts(self) -> None:
        self.run(self._asked_again(self.redis.script_flush))

    @rule()
    def saves(self) -> None:
        self.server.save("machine")
        self.saved = ("machine", self.serves)

    @rule()
    def goes_back_in_time(self) -> None:
        name, self.serves = self.saved or (None, 0)
        self.server.restart_from(name)
        self.forgot = True

    @rule(who=LEADERS)
    def is_checked(self, who: int) -> None:
        try:
            self.run(self._asked_again(self.leaders[who].check_memory))
        except ForgottenError:
            assert who != self.leader or self.forgot
        else:
            assert who == self.leader
            assert not self.forgot

    @invariant()
    def holds_what_was_granted(self) -> None:
        if self.leader is None or self.forgot:
            return
        found = self.run(self._asked_again(self.leaders[self.leader].former))
        assert {grant.lease.uid: grant for grant in found.grants} == self.held

    async def _asked_again(self, ask: Any) -> Any:
        """A connection of before a restart is found broken once."""
        try:
            return await ask()
        except NoConnectionError:
            return await ask()


def search(server: RedisProcess, sequences: int, machine: type[TheLeaseTable] = TheLeaseTable) -> None:
    machine.server = server
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=sequences,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.timeout(600)
def test_no_order_of_events_makes_a_double_grant(server: RedisProcess) -> None:
    search(server, SEQUENCES)


@pytest.mark.long(minutes=5)
@pytest.mark.timeout(3600)
@parts(PARTS)
def test_no_order_of_events_makes_a_double_grant_in_thousands(
    server: RedisProcess, part: int, record_property: Callable[[str, object], None]
) -> None:
    @seed(seed_of(part))
    class Seeded(TheLeaseTable):
        pass

    search(server, SEQUENCES_OF_A_PART, Seeded)
    record_property("sequences", SEQUENCES_OF_A_PART)
