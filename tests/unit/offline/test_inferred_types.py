"""Types of partition columns that policies name, where nothing but the jobs tells them."""

from pathlib import Path

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import Texts, texts_of
from sluice.offline.workspace import Workspace, opened
from sluice.tables import key_of_path
from unit.cli.folders import job, policy, write

TABLES = ("a", "b", "c")


def opened_with(folder: Path, **texts: str) -> Workspace:
    policies = {
        name: policy(name, table={"path": f"s3://lake/{name}"}, partitionBy=["day"]) for name in TABLES
    }
    write(folder, **policies, **{f"job-{name}": job(name, text) for name, text in texts.items()})
    return opened([folder])


def types(workspace: Workspace) -> dict[str, str]:
    inferred = workspace.knowledge.inferred
    return {name: inferred[key_of_path(f"s3://lake/{name}")].types["day"] for name in TABLES}


def test_a_column_has_the_type_that_its_own_tables_jobs_compare_it_with(tmp_path: Path) -> None:
    workspace = opened_with(
        tmp_path,
        one="DELETE FROM delta.`s3://lake/a` WHERE day = DATE '2026-11-19'",
        other="DELETE FROM delta.`s3://lake/b` WHERE day = 20261119",
        third="INSERT INTO delta.`s3://lake/c` (id, day) SELECT id, day FROM delta.`s3://lake/raw`",
    )
    assert types(workspace) == {"a": "date", "b": "bigint", "c": "date"}
    assert workspace.troubles == []


def test_each_text_is_cut_once_however_many_tables_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut: list[DeltaWriteJobSpec] = []

    def cut_up(spec: DeltaWriteJobSpec) -> Texts:
        cut.append(spec)
        return texts_of(spec)

    monkeypatch.setattr("sluice.offline.jobs.texts_of", cut_up)
    opened_with(tmp_path, **{f"j{n}": f"DELETE FROM delta.`s3://lake/a` WHERE day = {n}" for n in range(4)})
    assert len(cut) == 4


def test_a_job_that_is_not_understood_keeps_the_others_from_nothing(tmp_path: Path) -> None:
    workspace = opened_with(
        tmp_path,
        broken="DELETE FROM delta.`s3://lake/a` WHERE day = '${day}'",
        whole="DELETE FROM delta.`s3://lake/a` WHERE day = DATE '2026-11-19'",
    )
    assert types(workspace)["a"] == "date"
    assert [trouble.why.partition(":")[0] for trouble in workspace.troubles] == ["broken"]
