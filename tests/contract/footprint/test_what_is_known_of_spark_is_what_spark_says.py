"""The lists of settings and functions that the reader of SQL goes by are those of the real Sparks."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract.conftest import FreezingSpark
from contract.harness import known
from contract.harness.older_spark import OlderSpark

FILES = sorted(file.name for file in known.FOLDER.glob("*.tsv"))


@pytest.mark.timeout(600)
def test_the_lists_are_what_both_versions_say(
    freezing: FreezingSpark, older: OlderSpark, tmp_path: Path
) -> None:
    known.write_down_of(freezing.spark, tmp_path)
    older.write_down_known(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == FILES
    assert len(FILES) == 4
    for name in FILES:
        committed = (known.FOLDER / name).read_text(encoding="utf-8").splitlines()
        assert (tmp_path / name).read_text(encoding="utf-8").splitlines() == committed, (
            f"{name}: python -m contract.harness.known writes it anew"
        )
