"""Held against real Spark: for which rows a comparison with a constant of another type or spelling is TRUE, and for which FALSE."""

import json
from dataclasses import dataclass
from random import Random
from uuid import uuid4

import pytest

from contract.harness.tables import Asked, Question
from contract.predicates.answers import share
from contract.predicates.spellings import COLUMNS, rows, some_spellings, spellings
from sluice.predicates import Session, Table, compiled, parse

TABLE = Table.of(COLUMNS, COLUMNS)
ROWS = rows()
CONDITIONS_A_QUERY = 150


@dataclass(frozen=True)
class Setting:
    ansi: bool
    time_zone: str

    @property
    def session(self) -> Session:
        return Session(self.time_zone, ansi=self.ansi)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("setting", [Setting(False, "America/Sao_Paulo")], ids=str)
def test_a_comparison_holds_for_the_rows_that_spark_says(
    asked: Asked, delta: str, setting: Setting, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = some_spellings(Random(7), 300)  # noqa: S311 - generated tests
    report = _hold_against(asked, setting, share(drawn, delta))
    with capsys.disabled():
        print(report)


@pytest.mark.long(minutes=5)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "setting",
    [
        Setting(True, "UTC"),
        Setting(False, "Pacific/Apia"),
        Setting(True, "America/Toronto"),
        Setting(False, "Asia/Kolkata"),
        Setting(True, "America/Sao_Paulo"),
        Setting(False, "America/New_York"),
    ],
    ids=str,
)
def test_every_comparison_holds_for_the_rows_that_spark_says(
    asked: Asked, setting: Setting, capsys: pytest.CaptureFixture[str]
) -> None:
    report = _hold_against(asked, setting, list(spellings()))
    with capsys.disabled():
        print(report)


def _hold_against(asked: Asked, setting: Setting, conditions: list[str]) -> str:
    name = uuid4().hex[:8]
    made = asked(Question(name, statements=(f"CREATE TABLE {{table}} USING delta AS {_rows_in_sql()}",)))
    assert made.refused is None, made.refused
    wrong: list[str] = []
    exact = 0
    for start in range(0, len(conditions), CONDITIONS_A_QUERY):
        some = conditions[start : start + CONDITIONS_A_QUERY]
        for condition, truths in zip(some, _said_by_spark(asked, setting, name, some), strict=True):
            for text, truth in ((condition, "true"), (f"NOT ({condition})", "false")):
                region = compiled(parse(text, TABLE, session=setting.session), stored=False)
                held = [
                    region.may_hold({c.axis: _code(c.name, row[c.name]) for c in TABLE.columns})
                    for row in ROWS
                ]
                exact += not region.reasons
                wrong += [
                    f"{condition} of {row}: Spark says {said}, the region of {text} {'holds' if holds else 'misses'} it"
                    for row, said, holds in zip(ROWS, truths, held, strict=True)
                    if (said == truth and not holds) or (said != truth and holds and not region.reasons)
                ]
    assert wrong == [], "\n".join([f"{len(wrong)} are wrong", *wrong[:40]])
    assert exact > len(conditions), "at least half of all must be understood exactly"
    return f"\n{setting}: {exact} of {2 * len(conditions)} conditions understood exactly, on {len(ROWS)} rows"


def _said_by_spark(
    asked: Asked, setting: Setting, table: str, conditions: list[str]
) -> list[list[str | None]]:
    """For each condition what Spark says of each row."""
    answers = f"{table}-{uuid4().hex[:8]}"
    asks = ", ".join(f"CAST(({text}) AS STRING) AS c{place}" for place, text in enumerate(conditions))
    casts = ", ".join(f"CAST({column} AS {type_}) AS {column}" for column, type_ in COLUMNS.items())
    answer = asked(
        Question(
            answers,
            statements=(
                f"SET spark.sql.ansi.enabled = {str(setting.ansi).lower()}",
                f"SET spark.sql.session.timeZone = {setting.time_zone}",
                f"INSERT OVERWRITE DIRECTORY '{asked.folder / answers}' USING json "
                f"SELECT i, {asks} FROM (SELECT i, {casts} FROM delta.`{asked.folder / table}`)",
            ),
        )
    )
    assert answer.refused is None, answer.refused
    found = {}
    for part in (asked.folder / answers).glob("*.json"):
        for line in part.read_text("utf-8").splitlines():
            said = json.loads(line)
            found[said["i"]] = said
    assert len(found) == len(ROWS)
    return [[found[i].get(f"c{place}") for i in range(len(ROWS))] for place in range(len(conditions))]


def _rows_in_sql() -> str:
    values = ", ".join(f"({i}, {', '.join(map(_quoted, row.values()))})" for i, row in enumerate(ROWS))
    return f"SELECT * FROM VALUES {values} AS t(i, {', '.join(COLUMNS)})"


def _quoted(text: str | None) -> str:
    return "CAST(NULL AS STRING)" if text is None else f"'{text}'"


def _code(column: str, text: str | None) -> int | str | None:
    """The value's code, worked out here by other means than the package's."""
    if text is None or COLUMNS[column] == "string":
        return text
    return _days_since_1970(text) if COLUMNS[column] == "date" else int(text)


def _days_since_1970(text: str) -> int:
    """Counts years as calendars go on beyond those that Python has."""
    year, month, day = (int(part) for part in text.lstrip("+-").split("-"))
    year = -year if text.startswith("-") else year
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
