"""Held against real Spark: a row that a region leaves out is one for which Spark doesn't say TRUE, whatever the condition."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from random import Random

import pytest

from contract.harness.tables import Asked
from contract.predicates.answers import Answers, Ask
from contract.predicates.drawn import Drawing
from contract.predicates.rows import TYPES, Row, cast, rows
from sluice.predicates import PredicateError, Region, Session, Table, compiled, disjoint, parse

TABLE = Table.of(TYPES, TYPES)
MOST_IN_PAIRS = 500


@dataclass(frozen=True)
class Setting:
    seed: int
    ansi: bool
    time_zone: str

    @property
    def session(self) -> Session:
        return Session(self.time_zone, ansi=self.ansi)


@pytest.mark.timeout(600)
def test_no_row_is_missed_by_what_was_drawn(
    asked: Asked, delta: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each Spark in its own default mode."""
    setting = Setting(31, delta == "4.4.0", "America/New_York")
    report = _hold_against(asked, delta, setting, count=400)
    with capsys.disabled():
        print(report)


@pytest.mark.long(minutes=6)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "setting",
    [
        Setting(41, True, "America/Sao_Paulo"),
        Setting(42, False, "America/New_York"),
        Setting(43, False, "Asia/Kolkata"),
        Setting(44, True, "UTC"),
    ],
    ids=str,
)
def test_no_row_is_missed_by_all_that_was_drawn(
    asked: Asked, delta: str, setting: Setting, capsys: pytest.CaptureFixture[str]
) -> None:
    report = _hold_against(asked, delta, setting, count=4000)
    with capsys.disabled():
        print(report)


@dataclass(frozen=True, eq=False)
class Claim:
    text: str
    region: Region
    """The partitions in which its rows lie."""
    left_out: str
    """A digit a row: 1 for those of which it can't be TRUE."""


def _hold_against(asked: Asked, delta: str, setting: Setting, *, count: int) -> str:
    random = Random(setting.seed)  # noqa: S311 - generated tests
    made = rows(random, 150)
    drawn = Drawing(random, newer=delta == "4.4.0").conditions(count)
    claims = _claims(drawn, made, setting)
    texts = [row.texts for row in made]
    casts = {name: cast(name) for name in TYPES}
    # With ANSI conditions fail on rows for which nothing is claimed.
    asks = [Ask(claim.text, claim.left_out if setting.ansi else "1" * len(made)) for claim in claims]
    answers = Answers(asked, casts, texts, ansi=setting.ansi, time_zone=setting.time_zone).to(asks)
    taken = {
        claim: frozenset(i for i, truth in said.items() if truth == "true")
        for claim, said in zip(claims, answers, strict=True)
        if not isinstance(said, str)
    }
    wrong = [
        f"{claim.text} is TRUE of {dict(texts[missed[0]])}"
        for claim, true in taken.items()
        if (missed := [i for i in sorted(true) if claim.left_out[i] == "1"])
    ]
    assert wrong == [], "\n".join([f"{len(wrong)} are wrong", *wrong[:40]])
    assert len(taken) > count // 4, "too little of what was drawn is understood, and taken by Spark"
    found = f"\n{setting}: of {count} conditions {len(taken)} answers leave out rows, none of them wrongly"
    return found if setting.ansi else f"{found}; {_pairs_apart(taken)} pairs are apart and share no row"


def _pairs_apart(taken: Mapping[Claim, frozenset[int]]) -> int:
    apart = 0
    some = [claim for claim, true in taken.items() if true][:MOST_IN_PAIRS]
    for one, other in combinations(some, 2):
        if disjoint(one.region, other.region):
            apart += 1
            assert not taken[one] & taken[other], (
                f"told apart, but rows match both:\n{one.text}\n{other.text}"
            )
    return apart


def _claims(conditions: list[str], made: list[Row], setting: Setting) -> list[Claim]:
    """The conditions, and their opposites, that can't be TRUE of some row."""
    found = []
    for condition in conditions:
        for text in (condition, f"NOT ({condition})"):
            try:
                predicate = parse(text, TABLE, session=setting.session)
            except PredicateError:
                continue
            exact = compiled(predicate, stored=False)
            left_out = "".join(
                "01"[not exact.may_hold(row)] for row in (_codes(row, setting.time_zone) for row in made)
            )
            if "1" in left_out:
                found.append(Claim(text, compiled(predicate), left_out))
    return found


def _codes(row: Row, time_zone: str) -> dict[str, int | str | None]:
    return {column.axis: row.code(column.name, time_zone) for column in TABLE.columns}
