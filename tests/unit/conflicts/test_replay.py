"""What real Delta did, replayed: the oracle must never let a pair run together that Delta aborts.

The truth is recorded by tests/contract; here no Spark is needed.
"""

from collections import Counter
from typing import Any

import pytest

from contract.harness import truth
from sluice.conflicts import Level, conflict_between, pair_of
from sluice.conflicts.places import places_of
from sluice.offline.batch import jobs_of
from sluice.offline.given_facts import UnusableError
from unit.conflicts.replayed import asked, directions, jobs, pairs, trios

_FEW = 200
"""Below so many pairs a share says nothing."""


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_no_pair_that_delta_aborted_is_never(version: str) -> None:
    aborted = [found for found in directions(version) if found[1] != "ok"]
    assert len(aborted) > 1000
    missed = [
        f"{name}: {outcome}, but the oracle says never ({verdict.rule})"
        for name, outcome, verdict in aborted
        if verdict.level is Level.NEVER
    ]
    assert not missed, "\n".join(missed)


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_a_conflict_that_is_foretold_comes_with_its_class(version: str) -> None:
    foretold = [found for found in directions(version) if found[2].level is Level.WILL]
    assert len(foretold) > 50
    wrong = [
        f"{name}: {outcome}, but the oracle says {verdict.exception} will come ({verdict.rule})"
        for name, outcome, verdict in foretold
        if outcome != verdict.exception
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_a_change_of_the_protocol_that_aborted_was_told_as_one(version: str) -> None:
    aborted = [found for found in directions(version) if found[1] == "ProtocolChangedException"]
    assert len(aborted) > 25
    wrong = [
        f"{name}: {outcome}, but the oracle speaks of {verdict.exception} ({verdict.rule})"
        for name, outcome, verdict in aborted
        if verdict.exception != outcome
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_no_pair_that_delta_aborted_after_a_third_job_was_let_run_beside_it(version: str) -> None:
    aborted = [
        (row["id"], first, second, before)
        for row, first, second, before in trios(version)
        if any(row["raced"][end] and row["outcomes"][end]["outcome"] != "ok" for end in row["outcomes"])
    ]
    assert aborted
    for name, first, second, before in aborted:
        assert pair_of(first, second).together, f"{name}: the two wait for each other without the third"
        beside = (pair_of(first, before).together, pair_of(second, before).together)
        assert not all(beside), f"{name}: all three may run together"


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_what_is_recorded_as_refused_is_refused(version: str) -> None:
    refused = [row for row in truth.rows(version) if row["refused"]]
    assert refused
    for row in refused:
        with pytest.raises(UnusableError):
            jobs_of(asked(row))


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_hardly_any_pair_waits_needlessly(version: str) -> None:
    """Counts the pairs that passed in both orders, with files in every partition that they speak of. Rows that are there
    because they are easily misread are left out: they are no sample of what people write."""
    passed = [
        (row, pair)
        for row, pair in pairs(version)
        if row["populated"] and all(row["raced"].values()) and _passed(row)
        if not row["id"].startswith("misread/")
    ]
    opaque = Counter(name for row, _ in passed for name in row["opaque"])
    seen = [(row, pair) for row, pair in passed if not row["opaque"]]
    needless = [(row, pair) for row, pair in seen if not pair.together]
    causes = Counter(
        verdict.rule
        for _, pair in needless
        for verdict in (pair.first_loses, pair.second_loses)
        if verdict.level is not Level.NEVER
    )
    said = "\n".join(
        [
            f"{len(needless)} of {len(seen)} wait needlessly; by rule {dict(causes)}; left out as opaque {dict(opaque)}",
            *(row["id"] for row, _ in needless),
        ]
    )
    print(said)
    assert len(seen) > _FEW, said
    assert len(needless) < 0.03 * len(seen), said


def _passed(row: dict[str, Any]) -> bool:
    return all(row["outcomes"][direction]["outcome"] == "ok" for direction in ("firstLoses", "secondLoses"))


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_recorded_pairs_with_a_conflict_look_where_the_other_stands(version: str) -> None:
    pairs = [(first, second) for _, first, second in jobs(version)]
    pairs += [(first, second) for _, first, second, _ in trios(version)]
    conflicting = [pair for pair in pairs if conflict_between(*pair) is not None]
    assert conflicting
    for first, second in conflicting:
        assert places_of(first).may_meet(places_of(second))
