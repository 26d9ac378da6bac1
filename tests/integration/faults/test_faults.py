"""Faults at each kind of request that the operator makes, one round of jobs after another. What the servers have carried out
decides: no double grant, no lost job, no orphan, no lease without a holder."""

from itertools import count
from random import Random

from integration.faults.conftest import SEED
from integration.faults.installation import Installation
from integration.faults.matrix import PlannedRound, every_kind, rounds_of
from integration.faults.misfortunes import Misfortune
from integration.faults.rounds import QUIET, Tally, play

A_TAKEOVER = PlannedRound(misfortune=Misfortune.LEADER_KILLED)
SAMPLE = 8
"""Rounds of a usual run."""


def test_jobs_end_as_they_should_whatever_befalls_the_operators_requests(
    installation: Installation,
) -> None:
    numbers, tally = count(1), Tally()
    usual = play(installation, next(numbers), QUIET, tally).passed
    takeover = play(installation, next(numbers), A_TAKEOVER, tally).passed
    chance = Random(SEED)  # noqa: S311 - not a secret
    faults = every_kind(usual, takeover)
    for planned in list(rounds_of(faults, usual, chance))[:SAMPLE]:
        play(installation, next(numbers), planned, tally)
    print(f"seed {SEED}: {tally}")
