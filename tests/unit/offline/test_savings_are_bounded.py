"""A plan of many jobs ends in time: what it tries for advice is bounded, and it says of how many pairs it tried nothing."""

import json
from pathlib import Path

import pytest

from sluice.conflicts import advice_search
from sluice.offline import improvements
from sluice.offline.plan import planned
from sluice.offline.workspace import opened
from unit.cli.folders import FACTS, ORDERS, job, sluice, write

JOBS = 6


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Changed lines keep each MERGE from the pinned deletes, and nothing from those of the whole table."""
    monkeypatch.setattr(advice_search, "_known", {})
    source = "SELECT * FROM delta.`s3://lake/raw` WHERE date = DATE '2026-11-1"
    made = {}
    for n in range(JOBS):
        merge = f"MERGE INTO {ORDERS} t USING ({source}{n}') s ON t.id = s.id AND t.date = s.date "
        made[f"m{n}"] = job(f"m{n}", f"{merge} WHEN MATCHED THEN UPDATE SET amount = {n}")
        made[f"p{n}"] = job(f"p{n}", f"DELETE FROM {ORDERS} WHERE date = DATE '2026-11-2{n}' AND amount = 1")
        made[f"w{n}"] = job(f"w{n}", f"DELETE FROM {ORDERS} WHERE amount = {n}")
    write(tmp_path, facts=json.dumps(FACTS), **made)
    return tmp_path


def test_all_is_tried_where_it_is_not_too_much(folder: Path) -> None:
    found = planned(opened([folder]))
    assert found.savings
    assert found.untried == 0
    assert "Not tried" not in sluice("plan", folder).stdout


@pytest.mark.parametrize("limit", ["FOR_CHANGES", "FOR_WORDS"])
def test_what_is_not_tried_is_counted(folder: Path, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(improvements, limit, 0)
    monkeypatch.setattr(advice_search, "_MOST_KNOWN", 0)
    found = planned(opened([folder]))
    assert 0 < found.untried <= len(found.edges)
    told = " ".join(sluice("plan", folder).stdout.split())
    assert f"Not tried: whether more would help {found.untried} pairs" in told
    assert json.loads(sluice("plan", folder, "-o", "json").stdout)["untried"] == found.untried


def test_what_one_way_frees_is_not_called_untried(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(improvements, "FOR_WORDS", 0)
    found = planned(opened([folder]))
    assert any(one.change is not None for one in found.savings)
    assert 0 < found.untried < len(found.edges)
