"""The generator would find each cause again, were it put back: shapes that it drew, with what Spark did of each, are held
against a reader without the rule that keeps the cause out. Needs no Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contract.shapes.carrying import Done
from contract.shapes.causes import CAUSES
from contract.shapes.generator import Shape
from contract.shapes.judging import Foreteller, Tally, judged

DRAWN = [
    (Shape.of(recorded["shape"]), Done(**recorded["done"]))
    for recorded in map(
        json.loads,
        Path(__file__).with_name("once_missed.jsonl").read_text(encoding="utf-8").splitlines(),
    )
]


def test_with_all_rules_nothing_lies_outside() -> None:
    assert not _held().missed


@pytest.mark.parametrize("cause", CAUSES)
def test_without_its_rule_a_file_lies_outside(cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    CAUSES[cause](monkeypatch)
    assert _held().missed


def _held() -> Tally:
    shapes, done = zip(*DRAWN, strict=True)
    return judged(Foreteller.by_definitions("4.4.0"), shapes, done)
