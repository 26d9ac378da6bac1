"""How far a holder reached when it was granted holds where its job can't tell: edited, gone, or not read yet by a new leader."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from sluice.api import names
from sluice.api.job_status import Phase
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.cache.policy_declarations import PolicyDeclarations
from sluice.controller.readers.table_reader import TableReader
from sluice.controller.reporting.status_throttle import PER_SECOND, StatusThrottle
from sluice.controller.scheduling.admission import JobAdmission
from sluice.leases import Reach
from sluice.lifecycle.attempt.lease_evidence import reach_of
from sluice.tables import LogStore, TableFacts, TableKey, key_of_path, unread
from sluice.tables.owners import Owners, TableOwner
from unit.controller.bodies import PARTITIONED, job_body, policy_body
from unit.controller.test_admission import Leases, admitting, held_since_before, turn
from unit.lifecycle.objects import application

FACTS = replace(PARTITIONED, log_store=LogStore.SAFE)
ON = "DELETE FROM delta.`{}` WHERE date = DATE '2026-11-{}'"
PATIENCE = 0.5


class ByTheirLogs:
    """Stands in for the reader: two paths lead to one table."""

    def __init__(self, world: ClusterCache, *paths: str) -> None:
        self._world = world
        self._paths = paths

    def knows(self, job: Any, **_: Any) -> bool:
        for key in job.tables:
            self.tell(key)
        return True

    def tell(self, key: TableKey) -> None:
        table_id = "7d1f" if key.text.endswith(self._paths) else key.text
        self._world.table_seen(key, replace(FACTS, table_id=table_id))


def edited(world: ClusterCache, uid: str, sql: str, version: int = 50) -> None:
    body = world.jobs[uid].body
    meta = body["metadata"] | {"generation": version, "resourceVersion": str(version)}
    world.job_seen(body | {"metadata": meta, "spec": {"sql": sql}})


async def running(leases: Leases, asked: JobAdmission, sql: str) -> None:
    """The job `holder`, as it was granted by this leader."""
    world = asked.world
    world.job_seen(job_body("holder", sql=sql))
    await turn(asked)
    (lease,) = leases.held_by("uid-holder")
    attempt = world.jobs["uid-holder"].open_attempt
    assert attempt is not None
    record = {names.ANNOTATION_LEASE: lease.to_json(), names.ANNOTATION_TOKEN: str(attempt.token)}
    world.applications.seen(application("RUNNING", attempt.application, lease=lease, annotations=record))


@pytest.mark.parametrize("what", ["nothing", "edited", "gone", "listed anew"])
async def test_a_log_that_a_driver_writes_is_nobody_elses_by_another_path(what: str) -> None:
    leases, asked = admitting({})
    world = asked.world
    asked.tables = ByTheirLogs(world, "link", "real")  # type: ignore[assignment]
    await running(leases, asked, ON.format("/lake/link", 20))
    world.job_seen(job_body("waits", sql=ON.format("/lake/real", 20)))
    await turn(asked)
    assert world.jobs["uid-waits"].phase is Phase.WAITING
    if what == "edited":
        edited(world, "uid-holder", ON.format("/lake/link", 21))
    elif what == "gone":
        world.job_gone("uid-holder")
    elif what == "listed anew":
        bodies, apps = [job.body for job in world.jobs.values()], world.applications.mirrors[0].values()
        world.forget()
        await turn(asked)
        for body in bodies:
            world.job_seen(body)
        for app in apps:
            world.applications.seen(app)
        await turn(asked)
        while asked.unread:
            asked.read(asked.unread.take())
    for _ in range(3):
        await turn(asked, *world.jobs)
    assert world.evidence("uid-holder").holds(1), "its driver may still write"
    assert [one.uid for one in leases.held].count("uid-holder") == 1
    assert leases.held_by("uid-waits") == []


async def test_where_a_deleted_job_may_still_be_others_wait_and_are_told_so() -> None:
    """Its lease names what it wrote; by what else it read and rested on, nobody could tell."""
    leases, asked = admitting({})
    asked.tables = logs = ByTheirLogs(asked.world)  # type: ignore[assignment]
    logs.tell(key_of_path("/lake/raw"))
    insert = "INSERT INTO delta.`/lake/sales` SELECT * FROM delta.`/lake/raw` WHERE date = DATE '2026-11-20'"
    await running(leases, asked, insert)
    asked.world.job_gone("uid-holder")
    asked.world.job_seen(job_body("alters", sql="ALTER TABLE delta.`/lake/raw` ADD COLUMN c INT"))
    asked.world.job_seen(job_body("elsewhere", sql=ON.format("/lake/other", 20)))
    await turn(asked, "uid-holder")
    assert asked.world.jobs["uid-elsewhere"].phase is Phase.STARTING
    waits = asked.world.jobs["uid-alters"]
    assert waits.phase is Phase.WAITING
    assert "it is no longer known what it does there" in (waits.status.message or "")


def known_before(leases: Leases, asked: JobAdmission) -> Reach:
    """Returns the reach of `held`, which its leader wrote down."""
    held_since_before(asked, leases)
    (lease,) = leases.held
    asked.tables = ByTheirLogs(asked.world, "sales", "elsewhere")  # type: ignore[assignment]
    asked.tables.knows(asked.world.jobs[lease.uid])
    leases.reaches[lease.holder] = reach_of(asked.world.jobs[lease.uid])
    asked.world.facts.clear()
    asked.world.rests_on_nothing(lease.uid)
    assert not asked.world.jobs[lease.uid].is_read
    return leases.reaches[lease.holder]


async def test_a_new_leader_lets_in_those_who_meet_nobody_that_it_has_not_read() -> None:
    leases, asked = admitting({})
    assert known_before(leases, asked).lasts
    for name, day in (("same", 20), ("next", 21)):
        asked.world.job_seen(job_body(name, sql=ON.format("/lake/sales", day)))
    await turn(asked)
    phases = {uid: job.phase for uid, job in asked.world.jobs.items()}
    assert {uid for uid, phase in phases.items() if phase is Phase.STARTING} == {"uid-a", "uid-b"}
    assert phases["uid-same"] is phases["uid-next"] is None, "nobody is told of what isn't read"
    uid = asked.unread.take()
    assert uid == "uid-of-held"
    asked.read(uid)
    await turn(asked, uid)
    assert asked.world.jobs["uid-next"].phase is Phase.STARTING
    await turn(asked)
    asked.retelling.again(["uid-same"])
    await turn(asked)
    same = asked.world.jobs["uid-same"]
    assert same.phase is Phase.WAITING
    assert (same.status.message or "").startswith("waits for etl/held, which runs on ")


@pytest.mark.parametrize("by", ["/lake/elsewhere", "a name"])
async def test_a_new_leader_lets_in_nobody_whom_the_log_or_a_name_may_lead_to_one_it_has_not_read(
    by: str,
) -> None:
    leases, asked = admitting({})
    known_before(leases, asked)
    sql = "DELETE FROM sales.orders" if by == "a name" else ON.format(by, 20)
    asked.world.job_seen(job_body("same", sql=sql))
    await turn(asked)
    await turn(asked)
    assert leases.held_by("uid-same") == []
    assert leases.held_by("uid-a") != []


@pytest.mark.parametrize(
    ("sql", "facts"),
    [
        ("ALTER TABLE delta.`/lake/t` ADD COLUMN c INT", replace(FACTS, table_id="7d1f")),
        (
            "CREATE OR REPLACE TABLE delta.`/lake/t` USING delta AS SELECT 1 AS a",
            replace(FACTS, table_id="7d1f"),
        ),
        (ON.format("/lake/t", 20), FACTS),
    ],
)
def test_who_may_be_known_otherwise_later_is_to_be_read_before_others_are_let_in(
    sql: str, facts: TableFacts
) -> None:
    _, asked = admitting({})
    asked.world.job_seen(job_body("t", sql=sql))
    (key,) = asked.world.jobs["uid-t"].tables
    asked.world.table_seen(key, facts)
    assert not reach_of(asked.world.jobs["uid-t"]).lasts


async def test_who_edits_a_running_job_holds_up_nobody_after_a_takeover() -> None:
    """Each edit names another table that doesn't answer."""
    leases, asked = admitting({})
    held_since_before(asked, leases)
    world, never = asked.world, threading.Event()

    def read(key: TableKey) -> TableFacts:
        if "hangs" in key.text:
            never.wait(20)
        return FACTS

    asked.tables = TableReader(world, read, patience=PATIENCE)
    world.facts.clear()
    try:
        for version in range(100, 1000):
            edited(world, "uid-of-held", ON.format(f"s3://hangs{version}/x", 20), version)
            while asked.unread:
                uid = asked.unread.take()
                asked.read(uid)
                asked.consider(uid)
            await turn(asked, "uid-a")
            if "uid-a" in leases.asked:
                break
            await asyncio.sleep(PATIENCE / 10)
        assert "uid-a" in leases.asked
        assert version < 110
    finally:
        never.set()
        asked.tables.close()


def bound(world: ClusterCache, name: str, table: str, path: str, version: int = 1) -> None:
    world.policy_seen(
        policy_body(name, version=version, generation=version, table={"name": table, "path": path})
    )
    world.heed_policies()


@pytest.mark.parametrize("what", ["running", "edited", "gone"])
async def test_a_log_that_was_first_read_after_the_grant_stays_its_drivers_own(what: str) -> None:
    """Its store didn't answer when it was granted, or its first commit made the table."""
    leases, asked = admitting({})
    world = asked.world

    class NotYet(ByTheirLogs):
        answers = False

        def tell(self, key: TableKey) -> None:
            if self.answers:
                super().tell(key)
            else:
                self._world.table_seen(key, unread("no answer"))

    asked.tables = logs = NotYet(world, "link", "real")  # type: ignore[assignment]
    await running(leases, asked, ON.format("/lake/link", 20))
    logs.answers = True
    logs.knows(world.jobs["uid-holder"])
    world.job_seen(job_body("waits", sql=ON.format("/lake/real", 20)))
    await turn(asked, "uid-holder")
    await turn(asked, "uid-waits")
    assert leases.held_by("uid-waits") == []
    if what == "edited":
        edited(world, "uid-holder", ON.format("/lake/link", 21))
    elif what == "gone":
        world.job_gone("uid-holder")
    for _ in range(3):
        await turn(asked, *world.jobs)
    assert world.evidence("uid-holder").holds(1), "its driver may still write"
    assert leases.held_by("uid-waits") == []


@pytest.mark.parametrize("what", ["edited", "gone"])
async def test_an_edited_job_by_a_name_is_in_nobodys_way_elsewhere(what: str) -> None:
    """Its name was bound: it can't lead to any path that no policy names."""
    leases, asked = admitting({})
    world = asked.world
    bound(world, "orders", "sales.orders", "s3://lake/orders")
    asked.tables = ByTheirLogs(world)  # type: ignore[assignment]
    await running(leases, asked, "DELETE FROM sales.orders WHERE date = DATE '2026-11-20'")
    if what == "edited":
        edited(world, "uid-holder", "DELETE FROM sales.orders WHERE date = DATE '2026-11-21'")
        asked.read("uid-holder")
    else:
        world.job_gone("uid-holder")
    await turn(asked, "uid-holder")
    asked.world.job_seen(job_body("elsewhere", sql=ON.format("s3://other/tmp", 20)))
    await turn(asked)
    assert world.jobs["uid-elsewhere"].phase is Phase.STARTING, world.jobs["uid-elsewhere"].status.message


@pytest.mark.parametrize("leads_to", ["hdfs://nn2/moved", "hdfs://nn1/link"])
async def test_a_name_that_leads_elsewhere_by_now_is_read_before_others_are_let_in(leads_to: str) -> None:
    """Where it leads now may be one with other locations, by their names or by their logs: the reach knows nothing of that."""
    leases, asked = admitting({})
    world = asked.world
    asked.tables = ByTheirLogs(world, "nn1/moved", "nn1/link")  # type: ignore[assignment]
    bound(world, "orders", "sales.orders", "s3://lake/orders")
    bound(world, "others", "sales.others", leads_to)
    await running(leases, asked, "DELETE FROM sales.orders WHERE date = DATE '2026-11-20'")
    assert leases.reaches["uid-holder/1"].lasts
    bound(world, "orders", "sales.orders", "hdfs://nn1/moved", version=2)
    _, successor = admitting({})
    there = successor.world
    successor.leases = successor.holders._leases = leases  # type: ignore[assignment]
    successor.tables = ByTheirLogs(there, "nn1/moved", "nn1/link")  # type: ignore[assignment]
    for body in world.policies.values():
        there.policy_seen(body)
    there.heed_policies()
    there.job_seen(world.jobs["uid-holder"].body)
    for app in world.applications.mirrors[0].values():
        there.applications.seen(app)
    there.job_seen(job_body("waits", sql=ON.format(leads_to, 20)))
    await turn(successor)
    assert "uid-holder" in successor.holders.unread
    successor.read("uid-holder")
    await turn(successor, *there.jobs)
    assert not successor.holders.unread
    await turn(successor, *there.jobs)
    assert leases.held_by("uid-waits") == []


async def test_a_change_of_names_that_is_about_others_leaves_a_reach_enough_for_the_next_leader() -> None:
    leases, asked = admitting({})
    asked.tables = ByTheirLogs(asked.world)  # type: ignore[assignment]
    await running(leases, asked, ON.format("/lake/sales", 20))
    before = leases.reaches["uid-holder/1"]
    bound(asked.world, "others", "sales.others", "s3://lake/others")
    await turn(asked)
    assert leases.reaches["uid-holder/1"] == replace(before, names=asked.world.declarations.names.fingerprint)
    assert before.names != asked.world.declarations.names.fingerprint


@pytest.mark.parametrize("answers", [True, False])
async def test_who_changes_the_columns_of_a_running_jobs_source_waits_also_where_its_log_does_not_answer_now(
    answers: bool,
) -> None:
    """Others were let in beside it, as these columns told where its rows land."""
    leases, asked = admitting({})
    asked.tables = logs = ByTheirLogs(asked.world)  # type: ignore[assignment]
    raw = key_of_path("/lake/raw")
    logs.tell(raw)
    insert = "INSERT INTO delta.`/lake/sales` SELECT * FROM delta.`/lake/raw` WHERE date = DATE '2026-11-20'"
    await running(leases, asked, insert)
    if not answers:
        logs.tell = lambda key: asked.world.table_seen(key, unread("no answer"))  # type: ignore[method-assign]
    asked.world.job_seen(job_body("alters", sql="ALTER TABLE delta.`/lake/raw` ADD COLUMN c INT"))
    for _ in range(2):
        await turn(asked, *asked.world.jobs)
    assert (asked.world.facts[raw].unread is None) is answers
    assert leases.held_by("uid-alters") == []


@pytest.mark.parametrize("read_first", [True, False])
async def test_who_is_not_to_wait_is_told_once_it_is_known_and_not_behind_all_who_wait(
    read_first: bool,
) -> None:
    leases, asked = admitting({})
    known_before(leases, asked)
    if read_first:
        asked.read("uid-of-held")
    now = [1000.0]
    asked.retelling = asked.telling.retelling = StatusThrottle(lambda: now[0])
    told = {"phase": "Waiting", "observedGeneration": 1, "queuedAt": "2026-11-19T10:00:00Z"}
    on_it = ON.format("/lake/sales", 20)
    for number in range(30):
        asked.world.job_seen(job_body(f"w{number:03}", sql=on_it) | {"status": told})
    asked.world.job_seen(job_body("z", sql=on_it, admission={"whenBlocked": "Fail"}))
    await turn(asked)
    if not read_first:
        assert asked.world.jobs["uid-z"].phase is None
        asked.read("uid-of-held")
    await turn(asked, "uid-of-held")
    assert not asked.holders.to_read
    for _ in range(3):
        now[0] += 1 / PER_SECOND
        await turn(asked)
    assert asked.world.jobs["uid-z"].phase is Phase.FAILED


async def test_a_job_that_is_over_is_held_by_its_reach_until_its_lease_goes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its SQL is not kept, so it can't be understood anew when a table turns out to be otherwise."""
    leases, asked = admitting({})
    asked.tables = ByTheirLogs(asked.world)  # type: ignore[assignment]
    await running(leases, asked, ON.format("/lake/sales", 20))
    job = asked.world.jobs["uid-holder"]
    status = job.body["status"]
    over = [attempt | {"outcome": "Succeeded"} for attempt in status["attempts"]]
    finished = {"phase": "Succeeded", "finishedAt": "2026-11-19T10:06:00Z", "attempts": over}
    metadata = job.body["metadata"] | {"resourceVersion": "60"}
    asked.world.job_seen(job.body | {"metadata": metadata, "status": status | finished})
    assert "sql" not in asked.world.jobs["uid-holder"].body["spec"]
    (key,) = job.tables
    asked.world.table_seen(key, unread("no answer"))
    asked.world.job_seen(job_body("waits", sql=ON.format("/lake/sales", 21)))
    for _ in range(2):
        await turn(asked, *asked.world.jobs)
    assert leases.held_by("uid-holder") != []
    assert leases.held_by("uid-waits") == []
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_name_stays_held_where_a_squatter_said_it_leads_though_the_squatter_goes() -> None:
    leases, asked = admitting({})
    world = asked.world
    for other in ("uid-a", "uid-b"):
        world.job_gone(other)
    owners = Owners((TableOwner(namespaces=("sales",), names=("sales.*",)),))
    world._owners, world._known_policies = owners, PolicyDeclarations(owners)
    world.policy_seen(policy_body("squatter", table={"name": "sales.orders", "path": "/lake/claimed"}))
    world.policy_seen(policy_body("other", table={"name": "crm.orders", "path": "/lake/claimed"}))
    world.heed_policies()
    await running(leases, asked, "DELETE FROM sales.orders WHERE date = DATE '2026-11-20'")
    world.policy_gone("policy-squatter")
    world.heed_policies()
    world.job_seen(job_body("waits", sql=ON.format("/lake/claimed", 20)))
    await turn(asked)
    assert world.jobs["uid-waits"].phase is Phase.WAITING
    leases.held.clear()
    world.job_gone("uid-holder")
    for body in world.applications.mirrors[0].values():
        world.applications.mirrors[0].gone(body["metadata"]["uid"])
    await turn(asked, "uid-holder")
    assert leases.held_by("uid-waits"), "whoever comes after the squatter knows nothing of it"
