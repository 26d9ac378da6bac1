"""Faults at each kind of request that the operator makes, one round of jobs after another. What the servers have carried out
decides: no double grant, no lost job, no orphan, no lease without a holder; and the model of leases has to know the way."""

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random

import pytest

from integration.faults.conftest import SEED
from integration.faults.installation import Installation
from integration.faults.matrix import PlannedRound, every_kind, rounds_of
from integration.faults.misfortunes import Misfortune
from integration.faults.rounds import QUIET, Tally, play
from long_parts import parts, seed_of

A_TAKEOVER = PlannedRound(misfortune=Misfortune.LEADER_KILLED)
QUICK = (Misfortune.API_SERVER_RESTARTS, Misfortune.REDIS_FORGETS, Misfortune.FINALIZERS_STRIPPED)
SAMPLE = 4
"""Rounds of a usual run."""
PARTS, FAULTS_OF_A_PART = 40, 250
"""Together ten thousand faults."""


@pytest.mark.timeout(600)
def test_jobs_end_as_they_should_whatever_befalls_the_operators_requests(
    installation: Installation,
) -> None:
    tally = Tally()
    for _ in islice(_played(installation, tally, QUICK, Random(SEED)), SAMPLE):  # noqa: S311 - not a secret
        pass
    print(f"seed {SEED}: {tally}")
    assert tally.faults.total() > SAMPLE, "hardly anything befell them"
    assert tally.replayed[True], "nothing was replayed"


@pytest.mark.long(minutes=10)
@pytest.mark.timeout(3600)
@parts(PARTS)
def test_ten_thousand_faults_do_no_harm(
    installation: Installation, part: int, record_property: Callable[[str, object], None]
) -> None:
    seed, tally = seed_of(part), Tally()
    for _ in _played(installation, tally, (*Misfortune, None), Random(seed)):  # noqa: S311 - not a secret
        if tally.faults.total() >= FAULTS_OF_A_PART:
            break
    print(tally)
    record_property("faults", tally.faults.total())


def _played(
    installation: Installation, tally: Tally, misfortunes: tuple[Misfortune | None, ...], chance: Random
) -> Iterator[None]:
    """Every kind of fault, again and again, each time at other requests."""
    usual = play(installation, QUIET, tally).passed
    takeover = play(installation, A_TAKEOVER, tally).passed
    while True:
        for planned in rounds_of(every_kind(usual, takeover), usual, misfortunes, chance):
            play(installation, planned, tally)
            yield
