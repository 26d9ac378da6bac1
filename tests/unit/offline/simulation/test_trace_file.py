"""Traces in files: what is understood, and what is wrong with the rest, each with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.conflicts import conflict_between
from sluice.offline.simulation.trace_file import Traced, read_trace
from sluice.tables import key_of_path
from unit.cli.folders import FACTS, ORDERS, PINNED_DELETE, policy

TOUCHES = [{"table": {"path": "s3://lake/a"}, "operation": "Merge", "partitions": [{"date": "2026-11-19"}]}]


def job(name: str = "a", at: Any = 0, duration: Any = 60, **more: Any) -> Json:
    return {"name": name, "at": at, "duration": duration, "touches": TOUCHES, **more}


def lines(folder: Path, *jobs: object) -> Path:
    file = folder / "trace.jsonl"
    texts = (one if isinstance(one, str) else json.dumps(one) for one in jobs)
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return file


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def troubles(found: Traced) -> list[str]:
    return [str(trouble) for trouble in found.troubles]


def test_json_lines_and_yaml_say_the_same(tmp_path: Path) -> None:
    yaml = """\
    jobs:
      - name: load
        at: 2026-11-19T02:00:00Z
        duration: 1m30s
        priority: 5
        touches:
          - table: {path: s3://lake/a}
            operation: Merge
            partitions: [{date: 2026-11-19}]
    """
    given = job("load", "2026-11-19T03:00:00+01:00", 90, priority=5)
    by_yaml, by_lines = (
        read_trace([write(tmp_path, "trace.yaml", yaml)]),
        read_trace([lines(tmp_path, given)]),
    )
    assert troubles(by_yaml) == troubles(by_lines) == []
    (one,), (other,) = by_yaml.trace.jobs, by_lines.trace.jobs
    assert one == other
    assert (one.duration, one.priority) == (90_000, 5)
    assert one.footprint.fingerprint == other.footprint.fingerprint


def test_jobs_are_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    found = read_trace([lines(tmp_path, job("late", 2), job("early", 0.5), job("also early", 0.5))])
    assert [one.name for one in found.trace.jobs] == ["also early", "early", "late"]


def test_specs_are_read_as_jobs_are_with_facts_and_policies(tmp_path: Path) -> None:
    facts = write(tmp_path, "facts.yaml", json.dumps(FACTS))
    path = {"path": "s3://lake/orders"}
    admits = write(
        tmp_path, "policy.yaml", policy("orders", table=path, admission={"maxWriters": 2, "ageAfter": "5m"})
    )
    texts = [PINNED_DELETE, PINNED_DELETE.replace("2026-11-19", "2026-11-20"), f"DELETE FROM {ORDERS}"]
    jobs = [
        {"name": f"j{number}", "at": 0, "duration": 1, "spec": {"sql": text, "priority": number}}
        for number, text in enumerate(texts)
    ]
    found = read_trace([lines(tmp_path, *jobs), admits], [facts])
    assert troubles(found) == []
    one, other, everything = (given.footprint for given in found.trace.jobs)
    assert conflict_between(one, other) is None
    assert conflict_between(one, everything) is not None
    assert [given.priority for given in found.trace.jobs] == [0, 1, 2]
    orders = key_of_path("s3://lake/orders")
    assert found.trace.rules.most_writers == {orders: 2}
    assert found.trace.rules.aged_at(found.trace.jobs[0]) == 300_000


def test_without_partitions_it_touches_all_and_an_append_reads_nothing(tmp_path: Path) -> None:
    table = {"table": {"path": "s3://lake/a"}}
    appends = [{**table, "operation": "Append", "partitions": [{"date": "1"}]}]
    jobs = [
        job("merge"),
        job("all", touches=[{**table, "operation": "Merge"}]),
        job("append", touches=appends),
    ]
    everything, appended, merged = (one.footprint for one in read_trace([lines(tmp_path, *jobs)]).trace.jobs)
    assert conflict_between(merged, everything) is not None
    assert conflict_between(appended, appended) is None
    assert conflict_between(merged, appended) is None
    assert conflict_between(everything, appended) is not None


def test_a_job_may_touch_several_tables_and_partitions_of_several_columns(tmp_path: Path) -> None:
    several = [
        {
            "table": {"path": f"s3://lake/{name}"},
            "operation": "Merge",
            "partitions": [{"date": "d'1", "hour": hour}],
        }
        for name, hour in (("a", 1), ("b", None))
    ]
    found = read_trace([lines(tmp_path, job(touches=several))])
    assert troubles(found) == []
    reads = [one.reads_text for one in found.trace.jobs[0].footprint.tables]
    assert [key.text for key in found.trace.jobs[0].footprint.keys] == ["s3://lake/a", "s3://lake/b"]
    assert all("date" in text and "hour" in text for text in reads)
    assert "hour IS NULL" in reads[1]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("{", "line 1: is not JSON"),
        ("[1]", "line 1: must be a JSON object"),
        ('{"name": "a", "name": "b"}', "line 1: is not JSON: name is given twice"),
        ('{"name": "a", "at": NaN}', "line 1: is not JSON: NaN is not a number there"),
        (job(at=-1), "at: must be from 0 to"),
        (job(at="yesterday"), "at: must be seconds since the trace began"),
        (job(at=True), "at: must be seconds since the trace began"),
        (job(at="1969-12-31T00:00:00Z"), "at: must be between 1970 and 2200"),
        (job(duration="soon"), "duration: must be seconds, such as 90 or 0.5, or a duration"),
        (job(duration=1e300), "duration: must be from 0 to 31622400 seconds"),
        (job(duration=None), "duration"),
        (job(name=" "), "name: must not be empty"),
        (job(priority=1001), "priority"),
        (job(durration=1), "durration: there is no such field; did you mean duration?"),
        ({"name": "a", "at": 0, "duration": 1}, "by exactly one of spec and touches"),
        (job(spec={"sql": PINNED_DELETE}), "by exactly one of spec and touches"),
        (job(touches=[]), "touches: must not be empty"),
        (job(touches=[{"table": {"path": "s3://a/b"}, "operation": "Upsert"}]), "touches[0].operation"),
        (job(touches=[{**TOUCHES[0], "partitions": []}]), "touches[0].partitions: must not be empty"),
        (job(touches=[{**TOUCHES[0], "partitions": [{"date": 1.5}]}]), "must be text: put it in quotes"),
        ({"name": "a", "at": 0, "duration": 1, "spec": {"sql": "DELETE"}}, "line 1: a: "),
        ({"name": "a", "at": 0, "duration": 1, "spec": {"sql": "DELETE FROM t", "sqll": 1}}, "spec.sqll"),
    ],
)
def test_what_is_wrong_with_a_job_is_named_with_its_line_and_the_others_are_played(
    tmp_path: Path, given: object, says: str
) -> None:
    found = read_trace([lines(tmp_path, given, job("good"))])
    (trouble,) = troubles(found)
    assert trouble.startswith(f"{tmp_path / 'trace.jsonl'}, line 1: ")
    assert says in trouble
    assert [one.name for one in found.trace.jobs] == ["good"]


def test_all_troubles_are_told_with_their_lines_in_yaml(tmp_path: Path) -> None:
    text = """\
jobs:
  - name: good
    at: 0
    duration: 1
    touches: [{table: {path: s3://lake/a}, operation: Delete}]
  - name: one
    at: never
    duration: 1
    spec: {sql: OPTIMIZE delta.`s3://lake/a`}
  - 5
  - name: two
    at: 0
    duration: -1
    prio: 1
"""
    found = read_trace([write(tmp_path, "trace.yaml", text)])
    first, second, third = troubles(found)
    assert "job 3: must be a mapping of fields" in first
    assert "job 2: at (line 7): must be seconds" in second
    assert "job 4: " in third
    assert "duration (line 13)" in third
    assert "prio (line 14): there is no such field" in third
    assert [one.name for one in found.trace.jobs] == ["good"]


def test_a_name_given_twice_and_a_time_among_seconds_are_left_out(tmp_path: Path) -> None:
    given = [job("a"), job("a"), job("b", "2026-11-19T00:00:00Z")]
    found = read_trace([lines(tmp_path, *given)])
    twice, mixed = troubles(found)
    assert "line 2: a is already in" in twice
    assert "line 3: b: at is a time, but not in" in mixed
    assert [one.name for one in found.trace.jobs] == ["a"]


def test_a_job_that_is_no_trace_says_what_a_trace_needs(tmp_path: Path) -> None:
    body = {"apiVersion": "sluice.dev/v1alpha1", "kind": "DeltaWriteJob", "metadata": {"name": "j"}}
    file = write(tmp_path, "job.yaml", json.dumps({**body, "spec": {"sql": f"DELETE FROM {ORDERS}"}}))
    (trouble,) = troubles(read_trace([file]))
    assert "j: a trace also says when a job came" in trouble


def test_jobs_that_would_run_for_ages_are_refused(tmp_path: Path) -> None:
    found = read_trace([lines(tmp_path, *(job(f"j{number}", duration="8000h") for number in range(1200)))])
    assert troubles(found) == ["the trace: its jobs compute for 1,095 years: at most 1,000"]
    assert found.trace.jobs == ()


def test_what_is_not_played_is_said(tmp_path: Path) -> None:
    spec = {"sql": f"DELETE FROM {ORDERS}", "admission": {"timeout": "5m", "whenBlocked": "Skip"}}
    jobs = [{"name": name, "at": 0, "duration": 1, "spec": spec} for name in ("a", "b")]
    path = {"path": "s3://lake/orders"}
    rules = policy("orders", table=path, admission={"risk": "Optimistic", "defaultTimeout": "1h"})
    found = read_trace([lines(tmp_path, *jobs), write(tmp_path, "policy.yaml", rules)])
    assert [text.split(" is not played")[0] for text in found.assumptions] == [
        "admission.timeout of 2 jobs",
        "admission.whenBlocked of 2 jobs",
        "admission.defaultTimeout of 1 policy",
        "admission.risk of 1 policy",
    ]


def test_of_the_policies_of_a_jobs_tables_the_most_impatient_counts(tmp_path: Path) -> None:
    policies = [
        write(
            tmp_path,
            f"{name}.yaml",
            policy(name, table={"path": f"s3://lake/{name}"}, admission={"ageAfter": after}),
        )
        for name, after in (("a", "9m"), ("b", "7m"))
    ]
    on = [{"table": {"path": f"s3://lake/{name}"}, "operation": "Append"} for name in "abc"]
    jobs = [job("all", touches=on), job("slow", touches=[on[0], on[2]]), job("unsaid", touches=on[2:])]
    trace = read_trace([lines(tmp_path, *jobs), *policies], age_after=60_000).trace
    assert {one.name: trace.rules.aged_at(one) // 60_000 for one in trace.jobs} == {
        "all": 7,
        "slow": 9,
        "unsaid": 1,
    }


def test_a_file_that_is_missing_or_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_bytes(b"\xff\xfe\xff")
    found = read_trace([tmp_path / "none.jsonl", tmp_path / "broken.jsonl", tmp_path / "none.yaml"])
    assert [trouble.place for trouble in found.troubles] == [
        str(tmp_path / name) for name in ("none.jsonl", "broken.jsonl", "none.yaml")
    ]
