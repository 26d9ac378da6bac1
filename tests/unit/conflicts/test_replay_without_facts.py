"""What real Delta did, held against an oracle that knows nothing of the tables: it must not take that for a plain table."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from contract.harness import truth
from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Level, pair_of
from sluice.footprint import JobFootprint, footprint_of
from sluice.tables import key_of_path, unread

TABLE = key_of_path("/lake/table")
LINKING = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}
UNKNOWN = {TABLE: unread("the store did not answer")}


def blind_to_facts(spec: Mapping[str, Any], version: str) -> JobFootprint:
    parsed = DeltaWriteJobSpec.model_validate(spec)
    return footprint_of(parsed, LINKING, facts=UNKNOWN, delta_version=version)


def kinds_of_rows(version: str) -> Iterable[dict[str, Any]]:
    """One row for all that differ in their conditions only, of which nothing is understood here."""
    found = {}
    for row in truth.rows(version):
        if row["refused"]:
            continue
        ends = tuple(row["outcomes"][direction]["outcome"] for direction in ("firstLoses", "secondLoses"))
        misread = row["id"] if row["id"].startswith("misread/") else None
        found[row["layout"], tuple(row["kinds"]), tuple(row["raced"].values()), ends, misread] = row
    return found.values()


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_no_pair_that_delta_aborted_is_never_though_nothing_is_known(version: str) -> None:
    missed, passed = [], Counter[str]()
    for row in kinds_of_rows(version):
        pair = pair_of(*(blind_to_facts(row[name], version) for name in ("first", "second")))
        for direction, verdict in (("firstLoses", pair.first_loses), ("secondLoses", pair.second_loses)):
            if not row["raced"][direction] or verdict.level is not Level.NEVER:
                continue
            passed[verdict.rule] += 1
            outcome = row["outcomes"][direction]["outcome"]
            if outcome != "ok":
                missed.append(
                    f"{row['id']} {direction}: {outcome}, but the oracle says never ({verdict.rule})"
                )
    print(dict(passed))
    assert not missed, "\n".join(missed)
    assert passed["blind-append"] > 50, "appends wait for everything: then this test shows nothing"
