"""What Spark says of the rows of a table, for many expressions at once, by a Spark of either version."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from contract.harness.tables import Asked, Question
from sluice.predicates.text import quoted

ASKED_TOGETHER = 80


@dataclass(frozen=True)
class Ask:
    """An expression, and a digit a row: 1 for those that it's evaluated on."""

    text: str
    rows: str


def share(texts: Sequence[str], delta: str) -> list[str]:
    """Every second one, for the Spark of this version of Delta: that of the other version gets those between."""
    return [*texts[delta == "3.3.3" :: 2]]


Said = Mapping[int, str]
"""By row the value as text; rows for which it's NULL, or that weren't asked, are left out."""


class Answers:
    """A table with these rows, in which each column is cast as said from a text."""

    def __init__(
        self,
        asked: Asked,
        casts: Mapping[str, str],
        rows: Sequence[Mapping[str, str | None]],
        *,
        ansi: bool,
        time_zone: str,
    ) -> None:
        self._asked = asked
        self._rows = len(rows)
        self._settings = (
            f"SET spark.sql.ansi.enabled = {str(ansi).lower()}",
            f"SET spark.sql.session.timeZone = {time_zone}",
        )
        table = uuid4().hex[:8]
        cells = [", ".join([str(i), *(_text(row[name]) for name in casts)]) for i, row in enumerate(rows)]
        values = ", ".join(f"({cell})" for cell in cells)
        made = f"SELECT * FROM VALUES {values} AS t (i, {', '.join(casts)})"
        answer = asked(Question(table, statements=(f"CREATE TABLE {{table}} USING delta AS {made}",)))
        assert answer.refused is None, answer.refused
        typed = ", ".join(f"{cast} AS {name}" for name, cast in casts.items())
        self._source = f"(SELECT i, {typed} FROM delta.`{asked.folder / table}`)"
        self._given = made
        self._of_given = f"(SELECT i, {typed} FROM given)"

    def to(self, asks: Sequence[Ask]) -> list[Said | str]:
        """For each what Spark says, or why it refuses or fails."""
        found: list[Said | str] = []
        for start in range(0, len(asks), ASKED_TOGETHER):
            found += self._together(asks[start : start + ASKED_TOGETHER])
        return found

    def _together(self, asks: Sequence[Ask]) -> list[Said | str]:
        answers = self._asked.folder / uuid4().hex[:8]
        terms = ", ".join(_term(ask, place) for place, ask in enumerate(asks))
        query = f"INSERT OVERWRITE DIRECTORY '{answers}' USING json SELECT i, {terms} FROM {self._source}"
        refused = self._asked(Question(answers.name, statements=(*self._settings, query))).refused
        if refused is not None:
            return [refused] if len(asks) == 1 else self._without_refused(asks)
        lines = [
            json.loads(line)
            for part in answers.glob("*.json")
            for line in part.read_text("utf-8").splitlines()
        ]
        assert len({line["i"] for line in lines}) == self._rows
        return [
            {line["i"]: line[f"c{place}"] for line in lines if f"c{place}" in line}
            for place in range(len(asks))
        ]

    def _without_refused(self, asks: Sequence[Ask]) -> list[Said | str]:
        """Leaves out what Spark refuses alone; if it is none of them, each half is asked."""
        queries = [f"SELECT {_term(ask, 0)} FROM {self._of_given}" for ask in asks]
        refused = self._asked.plan(self._settings, self._given, queries)
        taken = [ask for ask, why in zip(asks, refused, strict=True) if why is None]
        if len(taken) == len(asks):
            middle = len(asks) // 2
            return [*self._together(asks[:middle]), *self._together(asks[middle:])]
        said = iter(self._together(taken) if taken else ())
        return [next(said) if why is None else why for why in refused]


def _term(ask: Ask, place: int) -> str:
    return (
        f"CASE WHEN substring('{ask.rows}', i + 1, 1) = '1' THEN CAST(({ask.text}) AS STRING) END AS c{place}"
    )


def _text(text: str | None) -> str:
    return "CAST(NULL AS STRING)" if text is None else quoted(text)
