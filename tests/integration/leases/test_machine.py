"""Two leaders and a Redis that forgets, in every order that chance brings, against a model of what must hold.

A Redis that went back to an earlier epoch serves the leader of that epoch again, who was replaced since. It does no harm: its
grants go with the next rebuild, and a leader that is no more writes nothing to Kubernetes.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as NoConnectionError

from integration.leases.redis_process import RedisProcess
from sluice.leases import Epochs, ForgottenError, Grant, Lease, LeaseStore, RefusedError
from sluice.leases.store import TakenError

TABLES = st.lists(st.sampled_from(["file:/a", "file:/b", "s3://c"]), min_size=1, max_size=2, unique=True)
UIDS = st.sampled_from(["u1", "u2", "u3", "u4"])
RUNS = st.sampled_from([None, None, "etl/r1", "etl/r2"])
LEADERS = st.sampled_from([0, 1])


class TheLeaseTable(RuleBasedStateMachine):
    """The model: the latest leader, and what it granted. All else must be refused and change nothing."""

    server: RedisProcess

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.server.service.start()
        self.redis = Redis.from_url(self.server.url, decode_responses=True)
        self.run(self._asked_again(self.redis.flushall))
        self.leaders = [LeaseStore(self.redis, "machine", "cluster/ns/machine") for _ in range(2)]
        self.epoch = 0
        self.leader: int | None = None
        self.held: dict[str, Grant] = {}
        self.tokens: set[int] = set()
        self.serves = 0
        self.saved: tuple[str, int] | None = None
        self.forgot = False

    def run(self, doing: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(doing)

    def teardown(self) -> None:
        self.run(self.redis.aclose())
        # A connection that Redis had broken off is closed in the loop's next round.
        self.run(asyncio.sleep(0))
        self.loop.close()

    @rule(who=LEADERS)
    def takes_over(self, who: int) -> None:
        """A leader takes over: its epoch comes from the Lease object, which never forgets, and what is held from Kubernetes."""
        self.epoch += 1
        self.run(self._asked_again(lambda: self.leaders[who].rebuild(self.epoch, list(self.held.values()))))
        self.leader, self.serves, self.forgot = who, self.epoch, False

    @rule(who=LEADERS, uid=UIDS, tables=TABLES, hash_=st.sampled_from(["h1", "h2"]), run=RUNS)
    def asks_for_a_grant(self, who: int, uid: str, tables: list[str], hash_: str, run: str | None) -> None:
        lease = Lease(uid, 1, f"{hash_} of {run}", f"etl/{uid}", tuple(tables), run=run)
        try:
            grant = self.run(self._asked_again(lambda: self.leaders[who].grant(lease)))
        except RefusedError:
            if not self.is_served_again(who) and not self.forgot:
                assert who == self.leader
                assert uid in self.held
                assert self.held[uid].lease.hash != lease.hash
        except TakenError:
            assert who != self.leader or self.forgot or self.has_the_run_of(lease)
        except ForgottenError:
            assert who != self.leader or self.forgot
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
                self.tokens.add(grant.token)
            else:
                assert (grant.token, grant.lease.hash) == (known.token, known.lease.hash)

    @precondition(lambda self: self.held)
    @rule(who=LEADERS, choice=st.randoms(use_true_random=False))
    def releases(self, who: int, choice: Any) -> None:
        uid = choice.choice(sorted(self.held))
        knows = self.leaders[who].holds(uid, 1)
        try:
            self.run(self._asked_again(lambda: self.leaders[who].release(self.held[uid].lease)))
        except ForgottenError:
            assert who != self.leader or self.forgot
        else:
            if self.is_served_again(who) or (who != self.leader and not knows):
                return  # who knows of no lease asks nobody
            assert who == self.leader
            del self.held[uid]

    def has_the_run_of(self, lease: Lease) -> bool:
        """Whether another holder has it."""
        others = (grant.lease for uid, grant in self.held.items() if uid != lease.uid)
        return lease.run is not None and lease.run in {other.run for other in others}

    def is_served_again(self, who: int) -> bool:
        return who != self.leader and self.forgot and self.leaders[who].epoch == self.serves

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


@pytest.mark.timeout(600)
def test_no_order_of_events_makes_a_double_grant(server: RedisProcess) -> None:
    TheLeaseTable.server = server
    run_state_machine_as_test(
        TheLeaseTable,
        settings=settings(
            max_examples=6,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
