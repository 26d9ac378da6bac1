"""The truth against an earlier measurement of the same cells, made with other statements and another harness."""

from __future__ import annotations

import pytest

from contract.harness import truth
from contract.harness.measured import differences

REWRITES = "the DELETE here leaves rows of a file, so it adds one, of which Delta speaks first; there it dropped whole files"
ABORTS = "this feature is not among those that others commit through; the matrix's cell was measured with one that is"
LETS_PASS = (
    "row tracking is supported here already, so that enabling it writes no metadata that others must heed"
)
MAPS = "column mapping gives the partition column an id; the matrix's cell was measured with features that say nothing of columns"
UNCLUSTERED = "the table has no clustering columns before, so that the overwrite writes none; those of the cell had some"
EXPLAINED: dict[str, dict[str, str]] = {
    "4.4.0": {
        "daily/append-only@A/restore@A": "append-only needs no feature of a table that has it; the cell's ones did",
        "daily/enable-change-feed@A/stream@A": ABORTS,
        "daily/map-columns-and-more/optimize": MAPS,
        "daily/map-columns-and-more/optimize-all": MAPS,
        "daily/map-columns-and-more/zorder": MAPS,
        "daily/replace-with-vectors/vectors": "its properties need a feature, which those of the cell did not",
        "plain/cluster-by/overwrite-write": UNCLUSTERED,
        "plain/delete/timestamps-and-interval": ABORTS,
    },
    "3.3.3": {
        "daily-dv/delete@A/dynamic@A": REWRITES,
        "daily/dynamic-sql@A/delete@A": REWRITES,
        "daily/merge-in@A/delete@A": REWRITES,
        "daily/merge-star@A/delete@A": REWRITES,
        "daily/overwrite-self@A/delete@A": REWRITES,
        "daily/checkpoint-v2@A/delete@A": ABORTS,
        "daily/checkpoint-v2@A/vacuum@A": ABORTS,
        **dict.fromkeys((f"daily/{one}/stream" for one in ("checkpoints", "mapping", "timestamps")), ABORTS),
        "daily/delete@A/deletion-vectors@A": ABORTS,
        "daily/deletion-vectors@A/stream@A": ABORTS,
        "daily/map-columns-and-more/optimize": MAPS,
        "daily/map-columns-and-more/optimize-all": MAPS,
        "daily/map-columns/optimize": MAPS,
        "daily/map-columns/optimize-all": MAPS,
        "daily/support-feature@A/delete@A": ABORTS,
        "daily/update@A/deletion-vectors@A": ABORTS,
        "daily/vacuum@A/deletion-vectors@A": ABORTS,
        "daily/mapping-and-tracking/delete": ABORTS,
        "daily/timestamps-and-checkpoints/delete": ABORTS,
        "daily/type-widening@A/delete@A": ABORTS,
        "daily/update@A/enable-change-feed@A": ABORTS,
        "daily/vectors-and-mapping/delete": ABORTS,
        "daily/vectors-and-tracking/delete": ABORTS,
        "plain/cluster-by/overwrite-write": UNCLUSTERED,
        "tracking-supported/append/row-tracking": LETS_PASS,
        "tracking-supported/delete/row-tracking": LETS_PASS,
        "tracking-supported/merge-by-source/row-tracking": LETS_PASS,
    },
}
"""Rows that differ, and why both are right."""


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_no_outcome_is_unknown_to_the_matrices(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    compared, found = differences(truth.recorded(version), version)
    with capsys.disabled():
        print(f"\n{version}: {compared} outcomes compared, {len(found)} differ")
        for difference in found:
            print(f"  {difference}")
    assert compared > 500
    assert [str(difference) for difference in found if difference.row not in EXPLAINED[version]] == []
