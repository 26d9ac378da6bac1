"""Whoever would wait for ever behind a stream is told so, with what lets it go, before anything runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from unit.cli.folders import FACTS, ORDERS, job, sluice, write

CHANGES = f"ALTER TABLE {ORDERS} ADD COLUMNS (note STRING)"
REWRITES = f"DELETE FROM {ORDERS} WHERE amount < 0"
MERGE = f"MERGE INTO {ORDERS} AS t USING (SELECT * FROM batch) AS s ON t.id = s.id WHEN MATCHED THEN DELETE"
FOR_EVER = {"processingTime": "1 minute"}


def stream(name: str, trigger: object = FOR_EVER, **more: Any) -> str:
    spec = {
        "source": {
            "format": "kafka",
            "options": {"subscribe": name, "kafka.bootstrap.servers": "kafka:9092"},
        },
        "sql": MERGE,
        "checkpoint": f"s3://lake/_checkpoints/{name}",
        "trigger": trigger,
    }
    return json.dumps(json.loads(job(name, CHANGES)) | {"spec": {"stream": spec | more}})


def told(folder: Path, **jobs: str) -> list[tuple[str, str, str]]:
    write(folder, facts=json.dumps(FACTS), **jobs)
    planned = json.loads(sluice("plan", folder, "-o", "json").stdout)
    return [(one["job"], one["stream"], one["advice"]) for one in planned["waitForEver"]]


@pytest.mark.parametrize(
    ("yields", "sql", "advised"),
    [
        ("Never", CHANGES, "Metadata"),
        ("Never", REWRITES, "Aged"),
        ("Metadata", CHANGES, None),
        ("Metadata", REWRITES, "Aged"),
        ("Aged", CHANGES, None),
        ("Aged", REWRITES, None),
    ],
)
def test_a_job_waits_for_ever_unless_the_stream_makes_room_for_such_a_one(
    yields: str, sql: str, advised: str | None, tmp_path: Path
) -> None:
    found = told(tmp_path, runs=stream("runs", **{"yield": yields}), waits=job("waits", sql))
    if advised is None:
        assert found == []
    else:
        advice = f"have the stream pause for it between two batches, by spec.stream.yield: {advised}"
        assert found == [("waits", "runs", advice)]


def test_one_that_ends_by_itself_keeps_nobody_for_ever(tmp_path: Path) -> None:
    assert told(tmp_path, runs=stream("runs", {"availableNow": True}), waits=job("waits", CHANGES)) == []


def test_who_is_skipped_where_it_would_wait_does_not_wait(tmp_path: Path) -> None:
    skips = job("skips", CHANGES, admission={"whenBlocked": "Skip"})
    assert told(tmp_path, runs=stream("runs"), skips=skips) == []


def test_streams_make_no_room_for_one_another(tmp_path: Path) -> None:
    found = told(tmp_path, a=stream("a", **{"yield": "Aged"}), b=stream("b", **{"yield": "Aged"}))
    assert [one[:2] for one in found] == [("b", "a"), ("a", "b")]
    assert all("let one of the two have the trigger availableNow" in advice for *_, advice in found)


def reader() -> str:
    reads = {
        "source": {"format": "delta", "path": FACTS["path"]},
        "sql": None,
        "table": {"path": "s3://lake/copy"},
        "yield": "Aged",
    }
    found = json.loads(stream("reads"))
    found["spec"]["stream"] = {key: one for key, one in (found["spec"]["stream"] | reads).items() if one}
    return json.dumps(found)


def test_what_would_break_a_reader_for_good_waits_whatever_the_stream_yields(tmp_path: Path) -> None:
    [(waiting, runs, advice)] = told(tmp_path, reads=reader(), waits=job("waits", REWRITES))
    assert (waiting, runs) == ("waits", "reads")
    assert "skipChangeCommits" in advice


def test_of_two_streams_one_of_which_breaks_the_other_what_keeps_it_from_that_is_advised(
    tmp_path: Path,
) -> None:
    found = told(tmp_path, reads=reader(), rewrites=stream("rewrites", **{"yield": "Aged"}))
    assert {one[:2] for one in found} == {("reads", "rewrites"), ("rewrites", "reads")}
    assert all("skipChangeCommits" in advice for *_, advice in found)


@pytest.mark.parametrize(
    ("yields", "sql", "found", "told"),
    [
        ("Never", CHANGES, [], ""),
        ("Metadata", CHANGES, [False], "runs runs for ever, and pauses for waits between two batches."),
        ("Metadata", REWRITES, [], ""),
        (
            "Aged",
            REWRITES,
            [True],
            "between two batches, once that has waited for so long that it counts as aged.",
        ),
    ],
)
def test_explain_says_for_whom_a_stream_pauses(
    yields: str, sql: str, found: list[bool], told: str, tmp_path: Path
) -> None:
    write(
        tmp_path, facts=json.dumps(FACTS), runs=stream("runs", **{"yield": yields}), waits=job("waits", sql)
    )
    asked = ("explain", tmp_path / "runs.yaml", tmp_path / "waits.yaml", "--table", tmp_path / "facts.yaml")
    answer = json.loads(sluice(*asked, "-o", "json").stdout)
    assert [(one["stream"], one["job"], one["onceAged"]) for one in answer["makesRoom"]] == [
        ("runs", "waits", aged) for aged in found
    ]
    assert bool(answer["waitForEver"]) is not bool(found)
    shown = " ".join(sluice(*asked).stdout.split())
    assert told in shown
    assert ("pauses for waits" in shown) is bool(found)


def test_people_read_it_in_plan_and_in_explain(tmp_path: Path) -> None:
    write(tmp_path, facts=json.dumps(FACTS), runs=stream("runs"), waits=job("waits", CHANGES))
    line = "waits waits for as long as runs runs, which is for ever: have the stream pause for it between two batches, by "
    plan = sluice("plan", tmp_path).stdout
    assert "Who would wait for ever" in plan
    assert line.strip() in " ".join(plan.split())
    explained = sluice(
        "explain", tmp_path / "runs.yaml", tmp_path / "waits.yaml", "--table", tmp_path / "facts.yaml"
    )
    assert line.strip() in " ".join(explained.stdout.split())
    assert "set spec.stream.yield: Metadata" not in explained.stdout, "advice that is given once is enough"
