"""Jobs that ask for the day, raced on real Delta now: what reaches back beyond their days is apart from what is written today."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from contract.harness.layouts import DAYS
from contract.harness.operations import T, merge, sql
from contract.harness.race import Track
from contract.harness.rows import DIRECTIONS, Row, Spec
from contract.harness.truth import in_product_terms
from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import pair_of
from sluice.footprint import JobFootprint, days_of, footprint_of
from sluice.offline.answers import pair_json
from sluice.offline.given_facts import facts_of
from sluice.tables import key_of_path

VERSION = "4.4.0"
NOW = datetime.now(UTC)
FAR = (NOW.date() - date.fromisoformat(DAYS["B"])).days - 1
"""Days that lie between today and the latest of the layout's first two partitions."""
OLD = f"date < current_date() - INTERVAL {FAR} DAYS"
REACHING_BACK: dict[str, Spec] = {
    "delete": sql(f"DELETE FROM {T} WHERE {OLD}"),
    "delete rows": sql(f"DELETE FROM {T} WHERE k = 1 AND NOT (date >= date_sub(current_date(), {FAR}))"),
    "update": sql(f"UPDATE {T} SET v = 'old' WHERE {OLD}"),
    "merge": merge("SELECT 1L AS id, 'new' AS v", f"t.id = s.id AND t.{OLD}", "WHEN MATCHED THEN UPDATE SET v = s.v"),
    "optimize": sql(f"OPTIMIZE {T} WHERE {OLD}"),
    "select": sql(f"INSERT INTO {T} SELECT id + 900, k, v, DATE '{DAYS['A']}' FROM {T} WHERE {OLD}"),
}  # fmt: skip
TODAY = sql(f"INSERT INTO {T} VALUES (500L, 1, 'new', current_date())")
THEN = sql(f"INSERT INTO {T} VALUES (500L, 1, 'new', DATE '{DAYS['A']}')")


def row(name: str, other: Spec) -> Row:
    return Row(f"day/{name}", "daily", REACHING_BACK[name], other, (name, "append"), "unknown")


@pytest.mark.parametrize(("other", "apart"), [(TODAY, True), (THEN, False)], ids=["today", "then"])
def test_a_job_of_old_days_runs_beside_one_of_today_and_not_beside_one_of_those_days(
    track: Track, other: Spec, *, apart: bool
) -> None:
    for answered in track.answers(row(name, other) for name in REACHING_BACK):
        asked = in_product_terms(answered, VERSION)
        mine, theirs = (judged(asked, which) for which in ("first", "second"))
        verdicts = pair_json(pair_of(mine, theirs), ())
        lost = [way for way in DIRECTIONS if asked["outcomes"][way]["outcome"] != "ok"]
        assert all(asked["raced"].values()), asked
        assert [verdicts[way]["verdict"] for way in DIRECTIONS if way in lost] == ["may"] * len(lost), asked[
            "id"
        ]
        if apart:
            assert (lost, pair_of(mine, theirs).together) == ([], True), asked["id"]


def judged(asked: dict[str, Any], which: str) -> JobFootprint:
    spec = DeltaWriteJobSpec.model_validate(asked[which])
    facts = {key_of_path("/lake/table"): facts_of(asked["table"])}
    return footprint_of(spec, {}, facts=facts, days=days_of(spec.sql, NOW, is_declared=False))
