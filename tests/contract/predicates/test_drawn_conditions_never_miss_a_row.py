"""Held against real Spark: a row that a region leaves out is one for which Spark doesn't say TRUE, whatever the condition."""

from dataclasses import dataclass
from random import Random

import pytest

from contract.harness.tables import Asked
from contract.predicates.answers import Answers, Ask
from contract.predicates.drawn import Drawing
from contract.predicates.rows import TYPES, Row, cast, rows
from sluice.predicates import PredicateError, Region, Session, Table, compiled, parse

TABLE = Table.of(TYPES, TYPES)


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


@pytest.mark.long
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


def _hold_against(asked: Asked, delta: str, setting: Setting, *, count: int) -> str:
    random = Random(setting.seed)  # noqa: S311 - generated tests
    made = rows(random, 150)
    claims = _claims(Drawing(random, newer=delta == "4.4.0").conditions(count), made, setting)
    texts = [row.texts for row in made]
    casts = {name: cast(name) for name in TYPES}
    answers = Answers(asked, casts, texts, ansi=setting.ansi, time_zone=setting.time_zone).to(claims)
    taken = [(claim, said) for claim, said in zip(claims, answers, strict=True) if not isinstance(said, str)]
    wrong = [
        f"{claim.text} is TRUE of {dict(texts[missed[0]])}"
        for claim, said in taken
        if (missed := [i for i, truth in said.items() if truth == "true"])
    ]
    assert wrong == [], "\n".join([f"{len(wrong)} are wrong", *wrong[:40]])
    assert len(taken) > count // 4, "too little of what was drawn is understood, and taken by Spark"
    return f"\n{setting}: of {count} conditions {len(taken)} answers leave out rows, none of them wrongly"


def _claims(conditions: list[str], made: list[Row], setting: Setting) -> list[Ask]:
    """The conditions, and their opposites, with the rows for which they can't be TRUE."""
    found = []
    for condition in conditions:
        for text in (condition, f"NOT ({condition})"):
            try:
                region = compiled(parse(text, TABLE, session=setting.session), stored=False)
            except PredicateError:
                continue
            mask = "".join("0" if held else "1" for held in _held(region, made, setting.time_zone))
            if "1" in mask:
                found.append(Ask(text, mask))
    return found


def _held(region: Region, made: list[Row], time_zone: str) -> list[bool]:
    return [
        region.may_hold({column.axis: row.code(column.name, time_zone) for column in TABLE.columns})
        for row in made
    ]
