"""`sluice simulate`: what it prints, for people and for programs, and what it refuses."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from documentation import ROOT, commands_run_by
from sluice.cli.durations import lasting
from sluice.cli.main import app
from sluice.cli.progress import Progress
from sluice.offline.simulation.synthetic_trace import SHAPES
from unit.cli.folders import complaints, sluice
from unit.offline.test_history import METADATA, add, commit, remove

TOUCHES = [{"table": {"path": "s3://lake/a"}, "operation": "Merge", "partitions": [{"date": "2026-11-19"}]}]


def trace(folder: Path, *more: str) -> Path:
    jobs = [
        {"name": f"merge-{number}", "at": 60 * number, "duration": "10m", "touches": TOUCHES}
        for number in range(3)
    ]
    file = folder / "trace.jsonl"
    file.write_text("\n".join([*map(json.dumps, jobs), *more]) + "\n", encoding="utf-8")
    return file


def answered(*arguments: object) -> Any:
    result = sluice("simulate", *arguments, "-o", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_trace_is_played_in_each_way_beside_the_bound(tmp_path: Path) -> None:
    found = answered(trace(tmp_path))
    assert found["jobs"] == 3
    assert found["bound"] == {
        "makespan": 1800.0,
        "why": "all conflict with one another",
        "jobs": ["merge-0", "merge-1", "merge-2"],
    }
    sluices = found["runs"]["sluice"]
    assert (sluices["makespan"], sluices["timesTheBound"], sluices["wasted"]) == (1800.0, 1.0, 0)
    assert sluices["waits"] == {"mean": 540.0, "p50": 540.0, "p95": 1080.0, "longest": 1080.0}
    assert sluices["running"] == {"mean": 1.0, "most": 1}
    assert set(found["runs"]) == {"sluice", "fifo", "mutex", "retries"}
    assert found["runs"]["retries"]["wasted"] > 0
    assert found["history"] is None


def test_people_read_how_long_it_takes_who_waits_and_what_is_computed_in_vain(tmp_path: Path) -> None:
    text = sluice("simulate", trace(tmp_path)).stdout
    assert "3 jobs on 1 table, come within 2m; together they compute for 30m." in text
    sluices = next(line for line in text.splitlines() if line.startswith("Sluice  "))
    assert sluices.split() == ["Sluice", "30m", "1.00", "9m", "9m", "18m", "18m", "1.0", "1", "-"]
    assert "Sluice: 2 of 3 jobs wait, 13m 30s on average of those; nothing is computed in vain." in text
    assert "3 jobs, such as merge-0, all conflict with one another" in " ".join(text.split())
    assert "aborted after all compute was done" in " ".join(text.split())


def test_what_cannot_be_used_is_named_and_the_rest_is_played(tmp_path: Path) -> None:
    result = sluice("simulate", trace(tmp_path, "{}"))
    assert result.exit_code == 3
    assert f"{tmp_path / 'trace.jsonl'}, line 4" in complaints(result).replace("\n", " ")
    assert "3 jobs on 1 table" in result.stdout


def test_a_trace_can_come_through_a_pipe(tmp_path: Path) -> None:
    given = trace(tmp_path).read_text(encoding="utf-8")
    result = CliRunner().invoke(app, ["simulate", "-", "-o", "json"], input=given)
    assert json.loads(result.stdout)["jobs"] == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "name exactly one of"),
        (("--generate", "bursts", "--history", "."), "name exactly one of"),
        (("--generate", "chaos"), "chaos is none of"),
        (("--generate", "bursts", "--table", "t.yaml"), "are about the jobs of a trace"),
        (("--generate", "bursts", "--assume-duration", "1m"), "name its table by --history"),
        (("--history", ".", "--jobs", "5"), "name their shape by --generate"),
        (("--history", ".", "--assume-duration", "soon"), "must be a duration"),
        (("--generate", "bursts", "--age-after", "late"), "must be a duration"),
        (("--generate", "bursts", "--jobs", "0"), "--jobs"),
    ],
)
def test_what_is_called_wrongly_is_refused(arguments: tuple[str, ...], says: str) -> None:
    result = sluice("simulate", *arguments)
    assert result.exit_code == 2
    assert says in complaints(result)


def test_nothing_to_play_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n", encoding="utf-8")
    result = sluice("simulate", tmp_path / "empty.jsonl")
    assert result.exit_code == 3
    assert "there is no job to play here" in complaints(result)
    result = sluice("simulate", "--history", tmp_path)
    assert result.exit_code == 3
    assert "there is no _delta_log folder here" in complaints(result)


@pytest.mark.parametrize("shape", SHAPES)
def test_generated_jobs_are_played(shape: str) -> None:
    found = answered("--generate", shape, "--jobs", 30, "--seed", 3)
    assert found["jobs"] == 30
    assert found == answered("--generate", shape, "--jobs", 30, "--seed", 3)
    assert all(run["timesTheBound"] >= 1 for name, run in found["runs"].items())


def test_when_jobs_age_can_be_set() -> None:
    early, late = (
        answered("--generate", "loads", "--jobs", 100, "--age-after", after)["runs"]["sluice"]["makespan"]
        for after in ("0s", "12h")
    )
    assert late < early


@pytest.fixture
def table(tmp_path: Path) -> Path:
    commit(tmp_path, 0, "CREATE TABLE", METADATA)
    for version, day in ((1, "2026-11-18"), (2, "2026-11-19"), (3, "2026-11-18")):
        commit(tmp_path, version, "MERGE", *add(day), *remove(day), read=0, isBlindAppend=False)
    return tmp_path


def test_a_history_is_played_beside_how_it_was_and_as_if_all_had_named_their_partitions(table: Path) -> None:
    found = answered("--history", table)
    assert found["jobs"] == 3
    assert found["history"]["durations"] == {"bounded": 2, "assumed": 1}
    assert found["history"]["leftOut"] == {"made the table": 1}
    runs = found["runs"]
    assert runs["asItWas"]["running"]["most"] == 3
    assert runs["sluice"]["running"]["most"] == 1
    assert runs["sluicePinned"]["running"]["most"] == 2
    assert runs["sluicePinned"]["makespan"] < runs["sluice"]["makespan"]


def test_a_history_says_what_it_assumes(table: Path) -> None:
    text = " ".join(sluice("simulate", "--history", table, "--assume-duration", "90s").stdout.split())
    assert "3 commits on 1 table" in text
    assert "0 by the commits' own metrics, 2 within bounds that other commits set, 1 assumed: 1m 30s" in text
    assert "a log does not hold commits that lost" in text
    assert "its commits do not agree on an engine" in text
    assert "left out: 1 commit that made the table" in text
    assert "fewer wait if each names the partitions that it writes" in text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0s"),
        (1_200, "1.2s"),
        (59_999, "60s"),
        (60_000, "1m"),
        (61_000, "1m 1s"),
        (3_599_999, "60m"),
        (3_600_000, "1h"),
        (7_290_000, "2h 2m"),
        (172_800_000, "2d"),
        (180_000_000, "2d 2h"),
    ],
)
def test_times_are_said_in_their_two_largest_units(milliseconds: int, text: str) -> None:
    assert lasting(milliseconds) == text


def test_progress_is_for_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(10, "jobs") as progress:
        progress("Sluice", 5)
    assert capsys.readouterr().err == ""


def test_long_work_shows_how_far_it_is_and_wipes_it_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    moments = iter([0.0, 0.5, 2.0, 2.0])
    monkeypatch.setattr("sluice.cli.progress.monotonic", lambda: next(moments))
    with Progress(1_000, "jobs") as progress:
        progress("Sluice", 100)
        progress("Sluice", 500)
    text = "Sluice: 500 of 1,000 jobs"
    assert capsys.readouterr().err == f"\r{text}\r{' ' * len(text)}\r"


def test_the_commands_and_the_trace_of_the_documentation_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: Path
) -> None:
    page = ROOT / "docs" / "simulate.md"
    (trace_of_the_page,) = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "trace.yaml").write_text(trace_of_the_page, encoding="utf-8")
    (tmp_path / "orders").symlink_to(table)
    monkeypatch.chdir(tmp_path)
    for command in commands_run_by(__file__, page):
        words = command.text.partition("#")[0].split()
        result = sluice(*words[1:])
        assert result.exit_code == 0, result.output
        assert "no schedule below" in result.stdout
