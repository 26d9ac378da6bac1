"""Names that policies bind to one location are one table to the operator, also while policies change under those who hold."""

from dataclasses import replace

import pytest

from sluice.api.job_status import Attempt, Phase
from sluice.conflicts import Level, conflict_between
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import RuntimeProfile
from sluice.footprint import JobFootprint
from sluice.leases import Lease
from sluice.lifecycle.attempt.lease_evidence import grants, holder_of, lease_for
from sluice.lifecycle.job.status import UnderstoodFields
from sluice.tables import LogStore, TableFacts, TableKey, key_of_name, key_of_path, unread
from unit.controller.bodies import PARTITIONED, job_body, policy_body

ORDERS, RETURNS = key_of_path("s3://lake/orders"), key_of_path("s3://lake/returns")
SAFE = replace(PARTITIONED, log_store=LogStore.SAFE)
UNREAD = replace(unread("the store is down"), log_store=LogStore.SAFE)
DAY, NEXT = "DATE '2026-11-19'", "DATE '2026-11-20'"


def world(*policies: tuple[str | None, str | None], facts: TableFacts = SAFE) -> ClusterCache:
    seen = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")})
    for number, (name, path) in enumerate(policies):
        bind(seen, str(number), name, path)
    for key in (ORDERS, RETURNS):
        seen.table_seen(key, facts)
    return seen


def bind(seen: ClusterCache, policy: str, name: str | None, path: str | None, version: int = 1) -> None:
    table = {key: value for key, value in (("name", name), ("path", path)) if value is not None}
    seen.policy_seen(policy_body(policy, version=version, generation=version, table=table))
    seen.heed_policies()


def footprint(seen: ClusterCache, sql: str) -> JobFootprint:
    seen.job_seen(job_body(sql, sql=sql))
    return seen.jobs[f"uid-{sql}"].footprint


def level(seen: ClusterCache, first: str, second: str) -> Level:
    found = conflict_between(footprint(seen, first), footprint(seen, second))
    return found.verdict.level if found is not None else Level.NEVER


def delete(table: str, day: str = DAY) -> str:
    return f"DELETE FROM {table} WHERE date = {day} AND id = 1"


BY_PATH = "delta.`s3://lake/orders`"
BOUND = (
    ("sales.orders", "s3://lake/orders"),
    ("crm.orders", "s3://lake/orders"),
    ("sales.returns", "s3://lake/returns"),
)


@pytest.mark.parametrize("facts", [SAFE, UNREAD])
@pytest.mark.parametrize(
    ("one", "other"),
    [("sales.orders", "crm.orders"), ("sales.orders", BY_PATH), ("spark_catalog.sales.orders", "crm.orders")],
)
def test_by_whatever_names_two_jobs_meet_as_they_would_by_path(
    one: str, other: str, facts: TableFacts
) -> None:
    for first in (DAY, NEXT):
        seen = world(*BOUND, facts=facts)
        by_path = level(seen, delete(BY_PATH, first), delete(BY_PATH))
        assert level(seen, delete(one, first), delete(other)) is by_path
        assert (by_path is Level.NEVER) == (first == NEXT and facts is SAFE)


def test_jobs_by_the_names_of_two_paths_do_not_wait() -> None:
    seen = world(*BOUND)
    assert level(seen, delete("sales.orders"), delete("sales.returns")) is Level.NEVER
    assert level(seen, delete("sales.orders"), delete("delta.`s3://lake/returns`")) is Level.NEVER


def test_a_name_that_two_policies_lead_elsewhere_meets_both() -> None:
    seen = world(("sales.orders", "s3://lake/orders"), ("sales.orders", "s3://lake/returns"))
    for path in ("orders", "returns"):
        assert level(seen, delete("sales.orders", NEXT), delete(f"delta.`s3://lake/{path}`")) > Level.NEVER


def test_after_a_use_a_name_leads_nowhere() -> None:
    seen = world(*BOUND)
    assert footprint(seen, f"USE lake; {delete('sales.orders')}").keys == (key_of_name("sales.orders"),)


def test_what_a_job_does_is_the_same_wherever_its_names_lead() -> None:
    seen = world()
    seen.job_seen(job_body("a", sql=delete("sales.orders")))
    before = seen.jobs["uid-a"].spec_hash
    bind(seen, "p", "sales.orders", "s3://lake/orders")
    assert seen.jobs["uid-a"].tables == (ORDERS,)
    assert seen.jobs["uid-a"].spec_hash == before


def test_only_what_a_binding_is_about_is_understood_anew() -> None:
    seen = world()
    kept = footprint(seen, delete("sales.returns")), footprint(seen, delete("delta.`s3://lake/returns`"))
    by_path, by_name = footprint(seen, delete(BY_PATH)), footprint(seen, delete("sales.orders"))
    reader = footprint(seen, "INSERT INTO delta.`s3://lake/returns` SELECT * FROM sales.orders")
    bind(seen, "p", "sales.orders", "s3://lake/orders")
    assert footprint(seen, delete("sales.returns")) is kept[0]
    assert footprint(seen, delete("delta.`s3://lake/returns`")) is kept[1]
    assert footprint(seen, delete(BY_PATH)) is not by_path
    assert footprint(seen, delete("sales.orders")) is not by_name
    assert not reader.tables[0].blind
    assert footprint(seen, "INSERT INTO delta.`s3://lake/returns` SELECT * FROM sales.orders").tables[0].blind


# ------------------------------------------------------------------------------------------ while leases are held


def hold(seen: ClusterCache, sql: str) -> Lease:
    """The job's leases are granted on what is known now."""
    seen.job_seen(job_body("holder", sql=sql))
    view = seen.jobs["uid-holder"]
    attempt = Attempt(number=1, token=1, hash=view.spec_hash, application="a-1", granted_at=view.arrived_at)
    status = view.status.model_copy(
        update=vars(UnderstoodFields.of(view))
        | {"phase": Phase.RUNNING, "attempts": (attempt,), "attempt": 1}
    )
    body = job_body("holder", version=2, sql=sql)
    seen.job_seen(body | {"status": status.model_dump(mode="json", by_alias=True, exclude_defaults=True)})
    return lease_for(view, 1, view.spec_hash)


def met(seen: ClusterCache, lease: Lease, sql: str) -> bool:
    holder = holder_of(lease, seen.jobs.get(lease.uid))
    return conflict_between(footprint(seen, sql), holder.footprint) is not None


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(
    ("before", "after"),
    [(None, "s3://lake/returns"), ("s3://lake/orders", None), ("s3://lake/orders", "s3://lake/returns")],
)
def test_a_binding_that_changes_counts_under_both_keys_until_those_who_hold_end(
    before: str | None, after: str | None, restarted: bool
) -> None:
    """After a restart only what Kubernetes has is known: here the status, before the application was created."""
    seen = world(("sales.orders", before))
    lease = hold(seen, delete("sales.orders"))
    assert not met(seen, lease, delete("sales.orders", NEXT)) or before is None
    bind(seen, "0", "sales.orders", after, version=2)
    bind(seen, "other", "crm.orders", "s3://lake/orders")
    if restarted:
        (grant,) = grants(seen.jobs, {uid: seen.evidence(uid) for uid in seen.jobs})
        lease = grant.lease
    assert met(seen, lease, delete("sales.orders", NEXT))
    if before is not None:
        assert met(seen, lease, delete("crm.orders", NEXT))
    if after is not None:
        assert met(seen, lease, delete("delta.`s3://lake/returns`", NEXT))


@pytest.mark.parametrize("restarted", [False, True])
def test_so_does_that_of_a_table_which_is_only_read(restarted: bool) -> None:
    seen = world(("sales.orders", "s3://lake/orders"))
    lease = hold(seen, "INSERT INTO delta.`s3://lake/new` SELECT * FROM sales.orders")
    bind(seen, "0", "sales.orders", "s3://lake/returns", version=2)
    if restarted:
        (grant,) = grants(seen.jobs, {uid: seen.evidence(uid) for uid in seen.jobs})
        lease = grant.lease
    for path in ("orders", "returns"):
        assert met(seen, lease, f"VACUUM delta.`s3://lake/{path}` RETAIN 1 HOURS"), path


def test_a_lease_is_kept_under_the_location_that_its_name_leads_to() -> None:
    seen = world(*BOUND)
    lease = hold(seen, "INSERT INTO sales.orders SELECT * FROM sales.returns")
    assert (lease.tables, lease.reads) == ((ORDERS.text,), (RETURNS.text,))
    assert TableKey.parse(lease.tables[0]) == ORDERS
