"""Maintenance of policies: a run that is due has one job, whoever leads, and the status keeps what was decided."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import MAX_FOOTPRINTS, Phase
from sluice.api.maintenance_status import MaintenanceStates
from sluice.api.reasons import EventReason
from sluice.controller.policy_work.maintenance_runs import WITHOUT_A_LOOK
from sluice.kube.client import ApiError
from sluice.tables.table_observation import LastVacuum, LogHistory, Removals, TableState
from unit.controller.bodies import job_body, policy_body
from unit.controller.maintained import MANY, NIGHTLY, Leader, api_with

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
THREE = datetime(2026, 11, 19, 3, tzinfo=UTC)
CLEANED: Json = {"vacuum": {"schedule": "0 3 * * *"}}


async def test_a_run_that_is_due_has_one_job_that_lets_all_others_go_first() -> None:
    leader = Leader(api_with())
    await leader.turn(THREE - MINUTE)
    assert leader.api.jobs == []
    assert leader.kept.optimize is not None
    assert leader.kept.optimize.next_run_at == THREE
    for seconds in (0, 1, 60):
        await leader.turn(THREE + timedelta(seconds=seconds))
    [job] = leader.api.jobs
    assert job["spec"]["sql"] == "OPTIMIZE delta.`/lake/orders`"
    assert job["spec"]["priority"] == -1000
    assert job["metadata"]["annotations"][names.ANNOTATION_AGE_AFTER] == "86400s"
    assert job["metadata"]["annotations"][names.ANNOTATION_RUN_AT] == THREE.isoformat()
    state = leader.kept.optimize
    assert state is not None
    assert (state.last_job, state.last_run_at) == (job["metadata"]["name"], THREE)
    assert (state.decided_until, state.next_run_at, state.message) == (THREE, THREE + DAY, None)
    [(reason, message)] = leader.events.told
    assert reason is EventReason.MAINTENANCE_CREATED
    assert message.endswith("the partition date=2026-11-18 has 10 files that are smaller than 64 MiB")


async def test_a_look_that_began_before_the_run_was_due_is_not_believed() -> None:
    leader = Leader(api_with())
    leader.looks.look(THREE - MINUTE, files=())
    await leader.turn(THREE, looked=False)
    assert leader.api.jobs == []
    assert leader.looks.asked == 1
    assert leader.kept.optimize is not None
    assert leader.kept.optimize.last_left_out is None
    await leader.turn(THREE + MINUTE)
    assert len(leader.api.jobs) == 1


async def test_without_any_look_a_compaction_is_run_in_the_end_and_a_clean_up_waits() -> None:
    compacts, cleans = Leader(api_with()), Leader(api_with(CLEANED))
    for leader in (compacts, cleans):
        for now in (THREE, THREE + WITHOUT_A_LOOK / 2, THREE + WITHOUT_A_LOOK + MINUTE):
            assert leader.api.jobs == []
            await leader.turn(now, looked=False)
    assert len(compacts.api.jobs) == 1
    assert cleans.api.jobs == []
    assert cleans.kept.vacuum is not None
    assert "the table's log cannot be read" in (cleans.kept.vacuum.message or "")


async def test_a_look_whose_turn_is_still_to_come_is_waited_for() -> None:
    leader = Leader(api_with())
    leader.looks.to_come = True
    for now in (THREE, THREE + WITHOUT_A_LOOK + MINUTE, THREE + 3 * WITHOUT_A_LOOK):
        await leader.turn(now, looked=False)
    assert leader.api.jobs == []
    leader.looks.to_come = False
    await leader.turn(THREE + 4 * WITHOUT_A_LOOK, looked=False)
    assert len(leader.api.jobs) == 1


async def test_what_gains_nothing_is_left_out_and_told_once() -> None:
    leader = Leader(api_with())
    for minutes in range(4):
        await leader.turn(THREE + minutes * MINUTE, files=MANY[:9])
    assert leader.api.jobs == []
    state = leader.kept.optimize
    assert state is not None
    assert state.last_left_out is not None
    assert state.last_left_out.at == THREE
    assert state.last_left_out.why.startswith("no partition has 10 or more files")
    [(reason, message)] = leader.events.told
    assert reason is EventReason.MAINTENANCE_LEFT_OUT
    assert message.startswith("no optimize is run: no partition has")
    written = leader.statuses.written
    await leader.turn(THREE + HOUR)
    assert leader.statuses.written == written


async def test_runs_do_not_overlap_and_of_those_missed_only_the_last_is_made() -> None:
    leader = Leader(api_with({"optimize": {"schedule": "0 * * * *"}}))
    await leader.turn(THREE)
    [first] = leader.api.made
    await leader.turn(THREE + HOUR)
    await leader.turn(THREE + 3 * HOUR + MINUTE)
    assert leader.api.made == [first]
    state = leader.kept.optimize
    assert state is not None
    assert state.message == f"the optimize of 2026-11-19 06:00 UTC waits until {first} has ended"
    leader.ends(first)
    await leader.turn(THREE + 3 * HOUR + 2 * MINUTE)
    [_, second] = leader.api.made
    assert leader.api.objects["job", second]["metadata"]["annotations"][names.ANNOTATION_RUN_AT] == (
        (THREE + 3 * HOUR).isoformat()
    )
    assert "2 runs before it were missed" in leader.events.told[-1][1]


async def test_two_leaders_make_one_job() -> None:
    api = api_with()
    one, other = Leader(api), Leader(api)
    await one.turn(THREE, looked=False)
    await other.turn(THREE, looked=False)
    for leader in (one, other):
        leader.looks.look(THREE)
    await one.turn(THREE)
    await other.turn(THREE + timedelta(seconds=1))
    assert len(api.made) == 1


async def test_a_leader_that_died_before_it_wrote_what_it_decided_leaves_no_run_to_be_made_twice() -> None:
    api = api_with()
    dying = Leader(api)
    await dying.turn(THREE, looked=False)
    dying.looks.look(THREE)
    policy = api.objects["policy", "orders"]
    await dying.turn(THREE)
    name = api.made[0]
    api.put("policy", policy)  # its write never came
    successor = Leader(api)
    await successor.turn(THREE + MINUTE)
    successor.ends(name)
    await successor.turn(THREE + 2 * MINUTE)
    assert api.made == [name]
    state = successor.kept.optimize
    assert state is not None
    assert state.last_job == name


async def test_a_leader_that_comes_after_the_due_time_makes_the_run() -> None:
    api = api_with()
    await Leader(api).turn(THREE - HOUR)
    successor = Leader(api)
    await successor.turn(THREE + HOUR)
    [job] = api.jobs
    assert job["metadata"]["annotations"][names.ANNOTATION_RUN_AT] == THREE.isoformat()


async def test_a_run_that_is_too_late_is_passed_over() -> None:
    leader = Leader(api_with({"optimize": {"schedule": "0 3 * * *", "startingDeadline": "30m"}}))
    await leader.turn(THREE + HOUR)
    assert leader.api.jobs == []
    state = leader.kept.optimize
    assert state is not None
    assert state.last_left_out is not None
    assert "could not be started within 0:30:00, and is passed over" in state.last_left_out.why


async def test_nothing_is_made_while_it_is_not_known_which_jobs_there_are_or_who_leads() -> None:
    leader = Leader(api_with())
    leader.listed = False
    await leader.turn(THREE)
    leader.listed, leader.leading = True, False
    await leader.turn(THREE)
    assert (leader.api.jobs, leader.looks.asked) == ([], 0)


async def test_a_suspended_schedule_makes_nothing_and_makes_nothing_up_for() -> None:
    leader = Leader(api_with({"optimize": {"schedule": "0 3 * * *", "suspend": True}}))
    await leader.turn(THREE + MINUTE)
    policy = leader.api.objects["policy", "orders"]
    spec = policy["spec"] | {"maintenance": NIGHTLY}
    leader.api.put("policy", policy | {"spec": spec})
    leader.changed(generation=2)
    await leader.turn(THREE + HOUR)
    assert leader.api.jobs == []
    await leader.turn(THREE + DAY)
    assert len(leader.api.jobs) == 1


async def test_what_somebody_asks_for_is_made_at_once_each_word_once() -> None:
    suspended = {"optimize": {"schedule": "0 3 * * *", "suspend": True}}
    leader = Leader(api_with(suspended))
    for minutes, word in ((0, "optimize"), (1, "optimize"), (2, "optimize.2")):
        leader.changed(annotations={names.ANNOTATION_RUN: word})
        await leader.turn(THREE + minutes * MINUTE, files=())
        await leader.turn(THREE + minutes * MINUTE + timedelta(seconds=1))
        for name in leader.api.made:
            leader.ends(name)
    first, second = leader.api.made
    assert first != second
    [job] = [one for one in leader.api.jobs if one["metadata"]["name"] == first]
    assert job["metadata"]["annotations"][names.ANNOTATION_ASKED] == "optimize"
    assert "priority" not in job["spec"]
    assert names.ANNOTATION_AGE_AFTER not in job["metadata"]["annotations"]
    assert leader.kept.asked == "optimize.2"


@pytest.mark.parametrize(
    ("word", "why"),
    [("vacuum", "no spec.maintenance.vacuum"), ("tidy", "must begin with optimize or vacuum")],
)
async def test_a_word_that_asks_for_nothing_is_told_once(word: str, why: str) -> None:
    leader = Leader(api_with())
    leader.changed(annotations={names.ANNOTATION_RUN: word})
    for minutes in range(3):
        await leader.turn(THREE - HOUR + minutes * MINUTE)
    assert leader.api.jobs == []
    [(_, message)] = leader.events.told
    assert why in message
    assert leader.kept.asked == word


async def test_finished_jobs_beyond_the_limits_are_deleted() -> None:
    hourly = {"schedule": "0 * * * *", "successfulJobsHistoryLimit": 2, "failedJobsHistoryLimit": 1}
    leader = Leader(api_with({"optimize": hourly}))
    phases = [Phase.FAILED, Phase.SUCCEEDED, Phase.SUCCEEDED, Phase.FAILED, Phase.SUCCEEDED]
    for hour, phase in enumerate(phases):
        await leader.turn(THREE + hour * HOUR)
        leader.ends(leader.api.made[-1], phase)
        await leader.turn(THREE + hour * HOUR + MINUTE)
    left = [name for name in leader.api.made if ("job", name) in leader.api.objects]
    assert left == [leader.api.made[number] for number in (2, 3, 4)]


def running_for_a_week(*tables: str) -> Json:
    attempt = {
        "number": 1, "token": 1, "hash": "h", "application": "a", "grantedAt": "2026-11-12T02:00:00Z",
    }  # fmt: skip
    footprint = [
        {"table": table, "statement": number, "operation": "Merge", "reads": "x", "writes": "x"}
        for number, table in enumerate(tables, 1)
    ]
    status = {"phase": "Running", "attempt": 1, "attempts": [attempt], "footprint": footprint}
    return job_body("load") | {"status": status}


async def test_a_clean_up_waits_for_a_writer_that_has_run_for_too_long() -> None:
    leader = Leader(api_with(CLEANED))
    leader.world.job_seen(running_for_a_week("file:/lake/orders"))
    await leader.turn(THREE)
    assert leader.api.jobs == []
    state = leader.kept.vacuum
    assert state is not None
    assert "the job etl/load writes the table and has run for 169.0 hours" in (state.message or "")
    leader.world.job_gone("uid-load")
    await leader.turn(THREE + MINUTE)
    assert [job["spec"]["sql"] for job in leader.api.jobs] == ["VACUUM delta.`/lake/orders`"]


@pytest.mark.parametrize(("statements", "waits"), [(MAX_FOOTPRINTS - 1, False), (MAX_FOOTPRINTS, True)])
async def test_a_clean_up_waits_for_a_writer_of_more_tables_than_its_status_has_room_for(
    statements: int, waits: bool
) -> None:
    leader = Leader(api_with(CLEANED))
    leader.world.job_seen(running_for_a_week(*["file:/lake/returns"] * statements))
    await leader.turn(THREE)
    assert bool(leader.api.jobs) != waits


async def test_what_a_clean_up_could_not_delete_yet_is_left_out() -> None:
    leader = Leader(api_with(CLEANED))
    removals, last = Removals((THREE - DAY,)), LastVacuum(THREE - 2 * DAY, 7 * DAY)
    await leader.turn(THREE, history=LogHistory(removals=removals, last_vacuum=last))
    assert leader.api.jobs == []
    state = leader.kept.vacuum
    assert state is not None
    assert state.last_left_out is not None
    assert state.last_left_out.why.startswith("no commit removed files between")


async def test_a_job_of_somebody_else_under_the_name_is_left_alone_and_told() -> None:
    leader = Leader(api_with())
    await leader.turn(THREE, looked=False)
    leader.looks.look(THREE)
    squatted = Leader(api_with())
    await squatted.turn(THREE)
    squatter = job_body(squatted.api.made[0])
    leader.api.put("job", squatter)
    await leader.turn(THREE)
    assert leader.api.made == []
    state = leader.kept.optimize
    assert state is not None
    assert "is in the way: it is not of this policy" in (state.message or "")


async def test_what_fails_for_one_policy_is_logged_once_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leader = Leader(api_with())
    leader.api.failing = RuntimeError("out of order")
    for minutes in range(3):
        await leader.turn(THREE + minutes * MINUTE)
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "policy etl/orders: the operator failed on its maintenance: RuntimeError('out of order')",
        "policy etl/orders: the operator failed on its maintenance",
    ]
    leader.api.failing = None
    await leader.turn(THREE + HOUR)
    assert len(leader.api.jobs) == 1


async def test_a_job_that_the_api_server_refuses_is_told_once_and_tried_again_ever_more_seldom() -> None:
    leader = Leader(api_with())
    for number in range(20):
        leader.api.failing = ApiError(403, "Forbidden", f"exceeded quota: jobs, used: {number}")
        await leader.turn(THREE + number * MINUTE)
    [(reason, message)] = leader.events.told
    assert reason is EventReason.MAINTENANCE_REFUSED
    assert "exceeded quota: jobs, used: 0" in message
    state = leader.kept.optimize
    assert state is not None
    assert "the API server refuses its job" in (state.message or "")
    assert leader.api.asked < 10
    leader.api.failing = None
    await leader.turn(THREE + HOUR)
    assert len(leader.api.jobs) == 1
    assert leader.kept.optimize is not None
    assert leader.kept.optimize.message is None


async def test_a_kind_whose_job_is_refused_does_not_keep_the_other_one_from_its_own() -> None:
    leader = Leader(api_with(NIGHTLY | CLEANED))
    leader.api.failing, leader.api.refuses = ApiError(403, "Forbidden", "no OPTIMIZE here"), "OPTIMIZE"
    await leader.turn(THREE)
    assert [job["spec"]["sql"] for job in leader.api.jobs] == ["VACUUM delta.`/lake/orders`"]
    assert leader.kept.optimize is not None
    assert "no OPTIMIZE here" in (leader.kept.optimize.message or "")


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"runtimeRef": "big"}, "there is no runtime profile 'big'"),
        ({"allowedNamespaces": ["other"]}, "own namespace etl is not among them"),
    ],
)
async def test_where_no_job_of_it_could_run_none_is_made_and_it_is_told(spec: Json, why: str) -> None:
    leader = Leader(api_with(NIGHTLY, **spec))
    await leader.turn(THREE)
    assert leader.api.jobs == []
    assert leader.kept.optimize is not None
    assert why in (leader.kept.optimize.message or "")


async def test_a_job_ages_well_before_it_would_time_out() -> None:
    leader = Leader(api_with(admission={"defaultTimeout": "1h"}))
    await leader.turn(THREE)
    [job] = leader.api.jobs
    assert job["metadata"]["annotations"][names.ANNOTATION_AGE_AFTER] == "1800s"


async def test_a_clean_up_has_itself_told_in_the_log_whatever_the_store() -> None:
    leader = Leader(api_with(NIGHTLY | CLEANED))
    await leader.turn(THREE)
    settings = {job["spec"]["sql"].split()[0]: job["spec"].get("runtime") for job in leader.api.jobs}
    logged = {"sparkConf": {"spark.databricks.delta.vacuum.logging.enabled": "true"}}
    assert settings == {"OPTIMIZE": None, "VACUUM": logged}


@pytest.mark.parametrize("reason", ["older", "taken away"])
async def test_a_policy_that_does_not_count_or_wants_no_maintenance_makes_nothing(reason: str) -> None:
    api = api_with()
    if reason == "older":
        older = policy_body("older", created="00:00:00", table={"path": "/lake/orders"})
        older["metadata"]["creationTimestamp"] = "2026-11-01T00:00:00Z"
        api.put("policy", older)
    leader = Leader(api)
    if reason == "taken away":
        await leader.turn(THREE - MINUTE)
        assert leader.kept.optimize is not None
        policy = api.objects["policy", "orders"]
        api.put("policy", policy | {"spec": {"table": {"path": "/lake/orders"}}})
        leader.changed(generation=2)
    await leader.turn(THREE)
    assert api.jobs == []
    assert leader.kept == MaintenanceStates()


async def test_whoever_binds_the_policys_name_elsewhere_later_does_not_stop_its_maintenance() -> None:
    api = api_with()
    policy = api.objects["policy", "orders"]
    named = {"path": "/lake/orders", "name": "sales.orders"}
    api.put("policy", policy | {"spec": policy["spec"] | {"table": named}})
    later = policy_body("later", table={"path": "/lake/other", "name": "sales.orders"}, maintenance=CLEANED)
    later["metadata"]["creationTimestamp"] = "2026-11-19T02:00:00Z"
    api.put("policy", later)
    leader = Leader(api)
    await leader.turn(THREE - MINUTE)
    await leader.turn(THREE)
    assert [job["spec"]["sql"] for job in api.jobs] == ["OPTIMIZE delta.`/lake/orders`"]


async def test_what_a_run_waits_for_is_told_however_long_that_is() -> None:
    leader = Leader(api_with(CLEANED))
    unclear = TableState(properties={"delta.deletedFileRetentionDuration": "x" * 5000})
    await leader.turn(THREE, state=unclear)
    assert leader.kept.vacuum is not None
    assert leader.kept.vacuum.message is not None
    assert len(leader.kept.vacuum.message) == 2048
