"""What is worth another attempt is one table, in the documentation as well."""

from __future__ import annotations

import re
from pathlib import Path

from sluice_runner.retriable import CONFLICT_NAMES, CONFLICTS, DELTA, TABLE, find

PAGE = Path(__file__).parents[3] / "docs" / "runner.md"
FORMERLY = "org.apache.spark.sql.delta."
ROW = re.compile(r"^\| `([\w.]+)` \| (?:`(\w+)`)? ?\| (yes|no) \| (.+) \|$", re.MULTILINE)


def test_the_page_has_the_table_of_the_code() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("\n## Exceptions\n")[2].partition("\n## ")[0]
    told = [(name, code or None, answer == "yes", why) for name, code, answer, why in ROW.findall(section)]
    meant = [(known.java_class, known.error_class, known.retriable, known.why) for known in TABLE]
    assert told == [row for row in meant if row[0] not in {FORMERLY + name for name in CONFLICT_NAMES}]


def test_a_conflict_counts_alike_in_both_packages() -> None:
    assert {FORMERLY + name for name in CONFLICT_NAMES} < CONFLICTS
    for name in CONFLICT_NAMES:
        now, formerly = find(DELTA + name, None), find(FORMERLY + name, None)
        assert now is not None
        assert formerly is not None
        assert (now.retriable, now.why) == (formerly.retriable, formerly.why)
        assert formerly.error_class is None


def test_an_error_class_counts_beside_its_own_class_alone() -> None:
    known = find(FORMERLY + "DeltaIllegalStateException", "DELTA_MAX_COMMIT_RETRIES_EXCEEDED")
    assert known is not None
    assert known.retriable
    assert find(FORMERLY + "DeltaAnalysisException", "DELTA_MAX_COMMIT_RETRIES_EXCEEDED") is None
    assert find(FORMERLY + "DeltaIllegalStateException", "DELTA_SOMETHING_ELSE") is None
    assert find(FORMERLY + "DeltaIllegalStateException", None) is None


def test_no_row_is_hidden_by_another() -> None:
    keys = [(known.java_class, known.error_class) for known in TABLE]
    assert len(set(keys)) == len(keys)
    assert [find(*key) for key in keys] == list(TABLE)
