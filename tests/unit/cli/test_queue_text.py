"""`sluice queue`, as people read it."""

from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO

from sluice.api.base import Json
from sluice.cli import outputs, queue_text
from sluice.online.queue.queue_answers import queues_json
from sluice.online.queue.table_queues import Policies, queues_of
from unit.online.job_bodies import behind, done, holding, job, pause, policy, stream, waiting

NOW = datetime(2026, 11, 26, 10, tzinfo=UTC)
SINCE = "2026-11-26T09:59:00Z"
AN_HOUR = {"granted_at": "2026-11-25T10:00:00Z", "ended_at": "2026-11-25T11:00:00Z"}


def shown(
    *jobs: Json,
    policies: tuple[Json, ...] = (),
    most: int | None = queue_text.MOST,
    unwatched: tuple[str, ...] = (),
) -> str:
    found = replace(queues_of(jobs, Policies(policies), NOW), unwatched=unwatched)
    told = queues_json(found, {}, None, [], NOW)
    with redirect_stdout(StringIO()) as out:
        queue_text.show(told, outputs.console(), most)
    return out.getvalue()


def test_a_table_is_told_with_its_limit_its_estimates_and_who_waits_for_whom() -> None:
    progress = {"statement": 2, "of": 3, "operation": "MERGE", "since": SINCE}
    runs = holding("runs", "file:/a", granted_at=SINCE, attempt=2)
    runs["status"]["attempts"][0]["progress"] = progress
    blocker = behind("runs")[0] | {
        "overlap": "date = DATE '2026-11-19'",
        "exception": "ConcurrentAppendException",
    }
    assert shown(
        done("past", "file:/a", **AN_HOUR),
        runs,
        waiting("waits", "file:/a", queued_at="2026-11-26T09:30:00Z", blockedBy=[blocker], priority=4),
        waiting("next", "file:/a", queued_at=SINCE, blockedBy=behind("runs", "waits"), blockedByCount=9),
        job("rests", "file:/a", phase="Suspended", since=SINCE),
        job("new"),
        policies=(policy("p", table={"path": "/a"}, admission={"maxWriters": 4}),),
    ) == (
        "file:/a: 1 of at most 4, by maxWriters of policy etl/p, holds it, 2 wait, 1 holds no place\n"
        "     JOB        STATE          PRIORITY  FOR  ESTIMATE        WHAT\n"
        "  *  etl/runs   Running                  60s  ends in ~59m    attempt 2, statement 2 of 3, MERGE\n"
        "  1  etl/waits  Waiting, aged  4         30m  starts in ~59m  waits for etl/runs: added-files, at date = DATE "
        "'2026-11-19', avoids ConcurrentAppendException\n"
        "  2  etl/next   Waiting        0         60s                  waits for etl/runs: added-files; etl/waits (ahead "
        "of it): added-files; and 7 more\n"
        "  -  etl/rests  Suspended                60s                  holds no place\n"
        "\n"
        "not judged yet: etl/new\n"
        "\n"
        "Estimates (~) are the median of how long the same work took before; they promise nothing.\n"
    )


def test_a_job_in_a_namespace_that_no_operator_watches_is_not_said_to_be_judged_yet() -> None:
    alone = shown(job("new"), unwatched=("etl",))
    assert alone == (
        "no job holds a table or waits for one\n"
        "\n"
        "not judged: etl/new: no operator watches namespace etl. Add it to an operator's watchNamespaces, or create the jobs in a "
        "namespace that is watched\n"
    )
    beside = job("other")
    beside["metadata"]["namespace"] = "sales"
    assert "not judged yet: sales/other\nnot judged: etl/new: " in shown(
        job("new"), beside, unwatched=("etl",)
    )


def test_a_stream_is_told_with_its_batch_its_lag_and_whom_it_pauses_for() -> None:
    granted = {"grantedAt": SINCE}
    assert shown(
        stream("runs", "file:/a", phase="Running", attempts=[granted]),
        stream("stops", "file:/a", phase="Running", attempts=[granted | {"pause": pause("alter")}]),
        stream(
            "rests",
            "file:/a",
            phase="Paused",
            since=SINCE,
            pause=pause("alter", until="2026-11-26T10:14:00.554444Z"),
        ),
    ) == (
        "file:/a: 2 hold it, 0 wait, 1 holds no place\n"
        "     JOB        STATE    PRIORITY  FOR  WHAT\n"
        "  *  etl/runs   Running            60s  batch 17 ended 2026-11-26T09:59:30Z, 3 files and 5.0 MiB behind\n"
        "  *  etl/stops  Running            60s  pauses for etl/alter, batch 17 ended 2026-11-26T09:59:30Z, 3 files and "
        "5.0 MiB behind\n"
        "  -  etl/rests  Paused             60s  pauses for etl/alter, until 2026-11-26T10:14:00Z at the latest\n"
    )


def test_a_holder_that_ends_is_told_with_its_reason() -> None:
    ends = holding("lost", "file:/a", granted_at=SINCE)
    ends["status"] |= {"phase": "Ending", "reason": "DriverLost", "message": "say that it is dead: kubectl"}
    assert "*  etl/lost  Ending, DriverLost" in shown(ends)
    (holder,) = queues_json(queues_of([ends], Policies([]), NOW), {}, None, [], NOW)["tables"][0]["holders"]
    assert (holder["reason"], holder["message"]) == ("DriverLost", "say that it is dead: kubectl")


def test_a_stream_at_rest_is_not_ahead_of_whom_it_keeps_waiting() -> None:
    text = shown(
        stream("rests", "file:/a", phase="Paused", since=SINCE, pause=pause("alter")),
        waiting("breaks", "file:/a", queued_at=SINCE, blockedBy=behind("rests")),
    )
    assert "waits for etl/rests (at rest): added-files" in text


def test_nobody_guesses_when_a_stream_ends_that_runs_for_ever() -> None:
    ended = done("past", "file:/a", operation="Stream", **AN_HOUR)
    assert "ends in" not in shown(
        ended, stream("runs", "file:/a", phase="Running", attempts=[{"grantedAt": SINCE}])
    )


def test_long_queues_are_cut_unless_all_is_asked_for() -> None:
    jobs = [waiting(f"j{n:03}", "file:/a", queued_at=SINCE) for n in range(100)]
    cut, whole = shown(*jobs), shown(*jobs, most=None)
    assert "j019" in cut
    assert "j020" not in cut
    assert "  and 80 more; --all shows them" in cut
    assert "j099" in whole
    assert "more" not in whole


def test_what_a_status_holds_does_not_reach_the_terminal() -> None:
    text = shown(waiting("a", "file:/a\x1b]0;title\x07", queued_at=SINCE, message="clears \x1b[2J\nall"))
    assert "\x1b" not in text
    assert r"clears \x1b[2J all" in text


def test_where_nobody_waits_that_is_said() -> None:
    assert shown() == "no job holds a table or waits for one\n"
