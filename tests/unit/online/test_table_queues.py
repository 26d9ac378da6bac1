"""`sluice queue`: who is where in which table's queue, and how a table may be spelled."""

from datetime import UTC, datetime

import pytest

from sluice.api.base import Json
from sluice.online.access.job_objects import key_of
from sluice.online.queue.queue_answers import queues_json
from sluice.online.queue.table_queues import Policies, Queues, TableQueue, queues_of
from unit.online.job_bodies import behind, holding, job, pause, policy, stream, waiting

NOW = datetime(2026, 11, 26, 10, tzinfo=UTC)
YOUNG, OLD, OLDER = "2026-11-26T09:59:30Z", "2026-11-26T09:57:00Z", "2026-11-26T09:56:00Z"


def queues(*jobs: Json, policies: tuple[Json, ...] = (), table: str | None = None) -> Queues:
    return queues_of(jobs, Policies(policies), NOW, table)


def test_a_stream_that_queues_again_pauses_no_more() -> None:
    paused = pause("alter", until=YOUNG)
    told = queues_json(
        queues(
            stream("again", "file:/a", phase="Pending", pause=paused),
            stream("rests", "file:/a", phase="Paused", pause=paused),
        ),
        {},
        None,
        [],
        NOW,
    )
    assert {one["job"]: one["pause"] for one in told["tables"][0]["aside"]} == {
        "etl/again": None,
        "etl/rests": paused,
    }


def order(queue: TableQueue) -> list[str]:
    return [str(one.body["metadata"]["name"]) for one in queue.waiters]


def test_those_that_have_aged_go_by_age_alone_and_the_others_by_priority_then_age_then_uid() -> None:
    [queue] = queues(
        waiting("b", "file:/a", queued_at=YOUNG),
        waiting("a", "file:/a", queued_at=YOUNG),
        waiting("urgent", "file:/a", queued_at=YOUNG, priority=9),
        waiting("aged", "file:/a", queued_at=OLD, priority=-5),
        waiting("aged-first", "file:/a", queued_at=OLDER, priority=-9),
    ).tables
    assert order(queue) == ["aged-first", "aged", "urgent", "a", "b"]
    assert [one.has_aged for one in queue.waiters] == [True, True, False, False, False]


def test_a_policy_says_after_which_time_a_job_has_aged_and_how_many_may_write() -> None:
    told = policy("orders", table={"path": "/a"}, admission={"ageAfter": "10s", "maxWriters": 2})
    [queue] = queues(
        waiting("new", "file:/a", queued_at=NOW.isoformat(), priority=9),
        waiting("aged", "file:/a", queued_at=YOUNG),
        policies=(told,),
    ).tables
    assert order(queue) == ["aged", "new"]
    assert (queue.policy, queue.max_writers) == ("etl/orders", 2)


def test_a_job_that_yields_counts_as_queued_so_much_later() -> None:
    yields = waiting("maintenance", "file:/a", queued_at=OLDER, priority=-1000)
    yields["metadata"]["annotations"] = {"sluice.dev/age-after": "3m30s"}
    [queue] = queues(yields, waiting("aged", "file:/a", queued_at=OLD)).tables
    assert order(queue) == ["aged", "maintenance"]
    assert [one.has_aged for one in queue.waiters] == [True, True]
    yields["metadata"]["annotations"] = {"sluice.dev/age-after": "4m30s"}
    [queue] = queues(yields, waiting("new", "file:/a", queued_at=YOUNG)).tables
    assert order(queue) == ["new", "maintenance"]
    assert [one.has_aged for one in queue.waiters] == [False, False]


def test_each_table_has_its_holders_its_waiters_and_those_that_hold_no_place() -> None:
    found = queues(
        holding("second", "file:/a", granted_at="2026-11-26T09:50:01Z"),
        holding("first", "file:/a", "file:/b", granted_at="2026-11-26T09:50:00Z"),
        waiting("waits", "file:/b", queued_at=YOUNG),
        job("held-back", "file:/a", phase="Suspended"),
        job("pauses", "file:/a", phase="BackingOff"),
        job("over", "file:/a", phase="Failed"),
        job("new"),
    )
    first, second = found.tables
    assert (first.table, [key_of(one) for one in first.holders]) == ("file:/b", ["etl/first"])
    assert [key_of(one) for one in second.holders] == ["etl/first", "etl/second"]
    assert [key_of(one) for one in second.aside] == ["etl/held-back", "etl/pauses"]
    assert found.not_judged == ("etl/new",)


@pytest.mark.parametrize(
    "spelled", ["/a/b", "file:///a/b/", "file:/a/b", "sales.b", "B", "spark_catalog.`sales`.b"]
)
def test_a_table_is_found_however_it_is_spelled(spelled: str) -> None:
    bound = policy("b", table={"path": "/a/b", "name": "sales.b"})
    others = (waiting("x", "file:/a", queued_at=YOUNG), waiting("y", "sales.c", queued_at=YOUNG))
    named = waiting("named", "sales.b", queued_at=YOUNG)
    [queue] = queues(
        *others, named, waiting("w", "file:/a/b", queued_at=OLD), policies=(bound,), table=spelled
    ).tables
    assert (queue.table, queue.names, order(queue)) == ("file:/a/b", ("sales.b",), ["w", "named"])


def test_who_is_waited_for_is_told_with_whether_it_holds_or_is_ahead() -> None:
    found = queues_json(
        queues(
            holding("h", "file:/a", granted_at=OLD),
            waiting("first", "file:/a", queued_at=OLD, blockedBy=behind("h")),
            waiting("next", "file:/a", queued_at=YOUNG, blockedBy=behind("h", "first", "gone")),
        ),
        {},
        None,
        [],
        NOW,
    )
    [table] = found["tables"]
    waits = {one["job"]: [each["holds"] for each in one["waitsFor"]] for one in table["waiters"]}
    assert waits == {"etl/first": [True], "etl/next": [True, False, None]}
    assert [one["position"] for one in table["waiters"]] == [1, 2]


def test_ten_thousand_jobs_with_statuses_that_somebody_wrote_by_hand_are_put_in_order() -> None:
    jobs = [
        waiting(
            f"j-{n:05}", f"file:/{n % 7}", queued_at=YOUNG, priority=n % 11, blockedBy=behind(f"j-{n - 1:05}")
        )
        for n in range(10_000)
    ]
    jobs += [job("odd", phase="Waiting", footprint="none"), job("odder", phase=7, blockedBy={"a": 1})]
    found = queues(*jobs)
    assert sum(len(queue.waiters) for queue in found.tables) == 10_000
    assert found.not_judged == ("etl/odd", "etl/odder")


def test_a_table_without_a_policy_ages_nobody_whose_other_tables_policies_say_when() -> None:
    """As the operator has it: its own time counts only where no policy of a job's tables names one."""
    patient = policy("patient", table={"path": "/a"}, admission={"ageAfter": "1h"})
    found = queues(waiting("both", "file:/a", "file:/b", queued_at=OLD), policies=(patient,))
    assert [one.has_aged for queue in found.tables for one in queue.waiters] == [False, False]
