"""What the bench of admissions makes of what it measured."""

import marshal
import math
from collections import Counter
from pathlib import Path

from bench.admission import api_writes, profiles
from bench.admission.figures import Measured, latencies, percentile, table
from bench.admission.workload import Tables

from sluice.tables import TableKey
from sluice.tables.open_tables import OpenTables


def counted(verb: str, resource: str, value: str, *, code: int = 200, sub: str = "") -> str:
    labels = (
        f'code="{code}",component="apiserver",dry_run="",group="g",resource="{resource}",scope="resource"'
    )
    return f'apiserver_request_total{{{labels},subresource="{sub}",verb="{verb}",version="v1"}} {value}\n'


METRICS = (
    "# HELP apiserver_request_total Counter of apiserver requests\n"
    "# TYPE apiserver_request_total counter\n"
    + counted("WATCH", "deltawritejobs", "3", code=0)
    + counted("PATCH", "deltawritejobs", "40", sub="status")
    + counted("PATCH", "deltawritejobs", "2", code=409, sub="status")
    + counted("POST", "sparkapplications", "1e+01", code=201)
    + counted("POST", "events", "20", code=201)
    + counted("PUT", "leases", "99")
    + counted("GET", "pods", "7")
)


def test_writes_are_told_by_verb_and_resource_and_refused_ones_apart() -> None:
    assert api_writes.writes_in(METRICS) == {
        "PATCH deltawritejobs/status": 40,
        "PATCH deltawritejobs/status, refused with 409": 2,
        "POST sparkapplications": 10,
        "POST events": 20,
    }


def test_the_benchs_own_writes_and_those_before_are_not_the_operators() -> None:
    before = Counter({"POST pods": 5, "PATCH pods": 1})
    after = Counter({"POST pods": 15, "PATCH pods": 4, "POST events": 8})
    own = Counter({"POST pods": 10, "PATCH pods": 2})
    writes = api_writes.writes_between(before, after, own)
    assert writes == {"PATCH pods": 1, "POST events": 8}
    assert (api_writes.but_events(writes), api_writes.events(writes)) == (1, 8)
    assert api_writes.shares(writes, 4) == {"POST events": 2.0, "PATCH pods": 0.25}


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert [percentile(values, share) for share in (0.5, 0.99, 1.0)] == [50.0, 99.0, 100.0]
    assert percentile([7.0], 0.01) == 7.0
    assert math.isnan(percentile([], 0.5))
    assert latencies("wait", [0.25])["wait, ms, p99"] == 250.0


def test_the_table_has_a_column_for_each_number_of_jobs_and_says_why_one_fell_short() -> None:
    small = Measured("admit", 200, 200, 200, figures={"admissions/s": 49.7}, writes={"POST events": 1.0})
    large = Measured("admit", 3000, 3000, 12, note="the operator ended", figures={"seconds": math.nan})
    lines = table([small, large], "admit").splitlines()
    assert [line.split("  ")[0] for line in lines[2:5]] == ["reached", "admissions/s", "seconds"]
    assert lines[0].split() == ["admit", "200", "jobs", "x15.0", "3,000", "jobs"]
    assert lines[2].endswith("12 of 3,000")
    assert lines[3].split() == ["admissions/s", "49.7", "-"]
    assert lines[5].split() == ["POST", "events", "1.00", "-"]
    assert lines[-1] == "3,000 jobs: the operator ended"


def test_the_table_says_how_many_times_as_much_a_figure_is_for_so_many_times_the_jobs() -> None:
    figures = ({"ms": 2.0, "lost": 0.0}, {"ms": 5.0, "lost": 3.0}, {"ms": math.nan, "lost": 6.0})
    found = [
        Measured("hot", jobs, jobs, jobs, figures=of) for jobs, of in zip((10, 50, 100), figures, strict=True)
    ]
    lines = table(found, "hot").splitlines()
    assert lines[0].split() == ["hot", "10", "jobs", "x5.0", "50", "jobs", "x2.0", "100", "jobs"]
    assert lines[3].split() == ["ms", "2.00", "x2.5", "5.00", "-"]
    assert lines[4].split() == ["lost", "0", "3.00", "x2.0", "6.00"]


def test_what_fell_short_is_not_complete() -> None:
    assert Measured("admit", 2, wanted=2, reached=2).as_json()["complete"] is True
    assert Measured("admit", 2, wanted=2, reached=1).as_json()["complete"] is False
    stopped = Measured(
        "admit", 2, wanted=2, reached=2, note="stopped", figures={"wait": math.nan, "turn": math.inf}
    )
    assert stopped.as_json()["complete"] is False
    assert stopped.as_json()["figures"] == {"wait": None, "turn": None}


def test_samples_of_the_main_thread_alone_are_told_by_function_and_waiting_is_no_cost() -> None:
    main, ours = "thread (0x1): MainThread;main (app.py:1)", "/x/operator/sluice"
    told = profiles.top_of_samples(
        [
            f"{main};turn ({ours}/loop.py:10);judge ({ours}/queue.py:5) 30",
            f"{main};turn ({ours}/loop.py:12);judge ({ours}/queue.py:9) 30",
            f"{main};turn ({ours}/loop.py:12) 20",
            f"{main};write (/y/site-packages/aiohttp/client.py:7) 20",
            f"{main};EpollSelector.select (selectors.py:468) 900",
            f"thread (0x2): tables_0;read ({ours}/reader.py:1) 500",
        ]
    )
    assert told[:3] == [
        "main thread, 100 samples of py-spy: by itself, with what it calls",
        "  60.0%   60.0%  judge (sluice/queue.py)",
        "  20.0%   80.0%  turn (sluice/loop.py)",
    ]
    assert not any("main (app.py)" in line or "reader" in line or "select" in line for line in told)


def test_calls_are_told_by_function_of_one_file_and_polling_is_no_cost(tmp_path: Path) -> None:
    calls: profiles.Calls = {
        ("/x/operator/sluice/loop.py", 3, "run"): (1, 1, 1.0, 4.0, {}),
        ("/x/operator/sluice/queue.py", 8, "run"): (9, 9, 3.0, 3.0, {}),
        ("~", 0, "<method 'poll' of 'select.epoll' objects>"): (5, 5, 90.0, 90.0, {}),
    }
    file = tmp_path / "calls.profile"
    file.write_bytes(marshal.dumps(calls))
    assert profiles.top_of_calls(file)[:3] == [
        "main thread, 4.0 s by cProfile, the start among them: by itself, with what it calls",
        "  75.0%   75.0%  run (sluice/queue.py)",
        "  25.0%  100.0%  run (sluice/loop.py)",
    ]


def test_a_profile_that_was_not_written_is_said_so(tmp_path: Path) -> None:
    (told,) = profiles.top_of_calls(tmp_path / "nothing")
    assert "killed before it ended" in told


def test_tables_of_the_bench_are_tables_to_the_operator_and_no_two_are_one(tmp_path: Path) -> None:
    tables = Tables(tmp_path)
    logs = set()
    for name in ("one", "other"):
        location = tables.location(name)
        assert tables.location(name) == location
        facts = OpenTables().facts(TableKey.parse(location))
        assert [column.name for column in facts.columns.columns] == ["id", "amount", "date"]
        logs.add(next((tmp_path / name).rglob("*.json")).read_text(encoding="utf-8"))
    assert len(logs) == 2


def test_tables_that_are_not_to_be_there_are_not_made(tmp_path: Path) -> None:
    assert Tables(tmp_path, exist=False).location("t") == f"file:{tmp_path / 't'}"
    assert not list(tmp_path.iterdir())
