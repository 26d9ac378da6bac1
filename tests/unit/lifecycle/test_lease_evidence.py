"""What a forgotten lease table is put together from, and what is held where that cannot be read."""

from dataclasses import replace
from typing import Any

import pytest

from sluice.api import names
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import RuntimeProfile
from sluice.leases import Epochs, Grant, Lease
from sluice.lifecycle.attempt import lease_evidence
from sluice.lifecycle.evidence.attempt_evidence import JobEvidence
from sluice.lifecycle.job.job_view import JobView
from sluice.tables import key_of_path
from unit.controller.bodies import job_body, policy_body
from unit.lifecycle.objects import LEASE, RUNNING, TERMINATED, TOKEN, application, pod
from unit.lifecycle.streaming import attempt, stream

ORDERS = key_of_path("/lake/orders")
INTENT = {
    "number": 1,
    "token": TOKEN,
    "hash": "hash",
    "application": "a-1",
    "grantedAt": "2026-11-19T10:00:00Z",
}
TOUCHED = {"table": "file:/lake/orders", "statement": 1, "operation": "UPDATE", "reads": "", "writes": ""}


def world(**status: Any) -> ClusterCache:
    """Returns a world that has the job if a status is given."""
    seen = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})
    if status:
        seen.job_seen(job_body("a") | {"status": status})
    return seen


def evidence(seen: ClusterCache) -> lease_evidence.AllEvidence:
    return {uid: seen.evidence(uid) for uid in seen.all_uids()}


def grants(seen: ClusterCache) -> list[Grant]:
    return lease_evidence.grants(seen.jobs, evidence(seen))


def frozen(seen: ClusterCache, *remembered: Lease) -> list[lease_evidence.Frozen]:
    return lease_evidence.frozen(seen.jobs, evidence(seen), remembered)


def test_a_driver_alone_brings_its_leases_back() -> None:
    seen = world()
    seen.pods.seen(pod(RUNNING))
    assert grants(seen) == [Grant(LEASE, TOKEN)]
    assert lease_evidence.epochs(seen.jobs, evidence(seen)).highest == 3


def test_a_driver_whose_finalizer_somebody_took_off_holds_its_leases_until_it_has_ended() -> None:
    seen = world()
    seen.pods.seen(pod(RUNNING, finalizers=None))
    assert grants(seen) == [Grant(LEASE, TOKEN)]
    seen.pods.seen(pod(TERMINATED, finalizers=None, resourceVersion="6"))
    assert grants(seen) == []


def test_an_application_without_its_finalizer_holds_as_long_as_it_may_start_a_driver() -> None:
    seen = world()
    seen.applications.seen(application("SUBMITTED", finalizers=None))
    assert grants(seen) == [Grant(LEASE, TOKEN)]
    seen.applications.seen(application("FAILED", finalizers=None, resourceVersion="6"))
    assert grants(seen) == []


def test_every_attempt_that_has_not_ended_holds_and_not_the_last_one_alone() -> None:
    earlier = INTENT | {"number": 1}
    later = INTENT | {"number": 2, "application": "a-2", "outcome": "Failed"}
    seen = world(phase="Failed", attempts=[earlier, later], footprint=[TOUCHED])
    assert [grant.lease.attempt for grant in grants(seen)] == [1]


UNREADABLE = [None, "{", "[]", '{"uid": "uid-1"}', '{"tables": 5}', "[" * 100_000, '"\\ud800"']


@pytest.mark.parametrize("record", UNREADABLE)
def test_a_record_that_cannot_be_read_freezes_everything_only_if_nobody_knows_its_tables(
    record: str | None,
) -> None:
    token = {names.ANNOTATION_TOKEN: str(TOKEN)}
    changed = token if record is None else token | {names.ANNOTATION_LEASE: record}
    seen = world()
    seen.pods.seen(pod(RUNNING, annotations=changed))
    assert grants(seen) == []
    (one,) = frozen(seen)
    assert one.who == "Pod etl/a-1-driver"
    assert "put them back" in one.why
    assert one.tables == ()
    (one,) = frozen(seen, LEASE)
    assert one.tables == (ORDERS,)
    seen.job_seen(job_body("a"))
    (one,) = frozen(seen)
    assert one.tables == (ORDERS,)


def test_what_bears_the_label_of_another_job_than_its_record_freezes_the_tables_of_its_record() -> None:
    seen = world()
    seen.pods.seen(pod(RUNNING, labels={names.LABEL_JOB_UID: "another", names.LABEL_ATTEMPT: "1"}))
    (one,) = frozen(seen)
    assert one.tables == (ORDERS,)


def test_a_record_that_cannot_be_read_is_taken_from_another_witness() -> None:
    seen = world()
    seen.pods.seen(pod(RUNNING))
    seen.applications.seen(application(annotations=None))
    assert grants(seen) == [Grant(LEASE, TOKEN)]
    assert frozen(seen) == []


@pytest.mark.parametrize("text", ["seven", "99999999999999999999", "-1", "²", "1e5", "0x10", str(Epochs.END)])
def test_an_epoch_that_no_operator_wrote_is_not_believed(text: str) -> None:
    seen = world()
    body = application("RUNNING")
    body["metadata"]["annotations"][names.ANNOTATION_WRITER_EPOCH] = text
    seen.applications.seen(body)
    assert lease_evidence.epochs(seen.jobs, evidence(seen)).highest == 3
    assert grants(seen) == [Grant(LEASE, TOKEN)]


def test_what_bears_our_label_and_nothing_else_of_ours_holds_nothing_and_says_nothing() -> None:
    foreign = application("RUNNING", finalizers=None)
    foreign["metadata"]["annotations"] = {names.ANNOTATION_WRITER_EPOCH: str(Epochs.END - 1)}
    seen = world()
    seen.applications.seen(foreign)
    assert grants(seen) == []
    assert frozen(seen) == []
    assert lease_evidence.epochs(seen.jobs, evidence(seen)).highest == 0


def test_a_status_that_cannot_be_read_freezes_the_tables_of_its_job() -> None:
    seen = world(phase="Running", attempts=[INTENT | {"number": 0}], footprint=[TOUCHED])
    (one,) = frozen(seen)
    assert one.who == "etl/a"
    assert "status.attempts" in one.why
    assert one.tables == (ORDERS,)


def test_a_time_that_cannot_be_read_stops_nothing() -> None:
    seen = world(phase="Waiting", queuedAt="0000-01-01T00:00:00Z", footprint=[TOUCHED])
    assert frozen(seen) == []
    job = seen.jobs["uid-a"]
    assert job.queued_at == job.arrived_at


def test_an_intent_of_which_nobody_knows_the_tables_freezes_everything() -> None:
    seen = ClusterCache({})
    seen.job_seen(job_body("a", sql="MERGE INTO") | {"status": {"phase": "Starting", "attempts": [INTENT]}})
    assert grants(seen) == []
    (one,) = frozen(seen)
    assert one.tables == ()


def test_what_may_write_without_a_lease_is_known_by_its_record() -> None:
    """An application that landed after its attempt was taken back."""
    over = INTENT | {"outcome": "Withdrawn"}
    seen = world(phase="Waiting", attempts=[over], footprint=[TOUCHED])
    assert lease_evidence.unleased(seen.jobs, evidence(seen), set()) == []
    seen.applications.seen(application())
    assert lease_evidence.unleased(seen.jobs, evidence(seen), set()) == [LEASE]
    assert lease_evidence.unleased(seen.jobs, evidence(seen), {LEASE.holder}) == []


def test_of_a_job_that_the_operator_fails_on_all_known_tables_are_held_or_else_all_there_are() -> None:
    failed = {"uid-a": JobEvidence(failure="deep")}
    seen = world(phase="Running", footprint=[TOUCHED])
    (one,) = lease_evidence.frozen(seen.jobs, failed, ())
    assert (one.uid, one.who, one.why, one.tables) == ("uid-a", "etl/a", "deep", (ORDERS,))
    (gone,) = lease_evidence.frozen({}, failed, ())
    assert gone.tables == ()
    assert "uid-a" in gone.who
    (remembered,) = lease_evidence.frozen({}, failed, [LEASE])
    assert remembered.tables == (ORDERS,)
    assert lease_evidence.grants(seen.jobs, failed) == []


def test_a_spec_that_the_operator_fails_on_ends_no_rebuild(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: JobView) -> str:
        raise RecursionError("deep")

    seen = world(phase="Starting", attempts=[INTENT], footprint=[TOUCHED])
    monkeypatch.setattr(JobView, "hashes", property(fails))
    monkeypatch.setattr(JobView, "tables", property(fails))
    assert [grant.lease.tables for grant in grants(seen)] == [("file:/lake/orders",)]
    unreadable = world(phase="Starting", attempts=[INTENT | {"grantedAt": "?"}], footprint=[TOUCHED])
    assert [one.tables for one in frozen(unreadable)] == [(ORDERS,)]


def test_an_epoch_that_no_operator_has_come_to_is_told_and_not_heeded() -> None:
    """Whoever may edit a status would leave no epoch for those to come."""
    largest = Epochs.token(Epochs.END - 1, 1)
    seen = world(
        phase="Running", attempts=[INTENT, INTENT | {"number": 2, "token": largest, "application": "a-2"}]
    )
    assert lease_evidence.epochs(seen.jobs, evidence(seen), plausible=100).highest == 3
    assert lease_evidence.epochs(seen.jobs, evidence(seen), plausible=100).made_up == [
        f"etl/a bears epoch {Epochs.END - 1}"
    ]
    assert lease_evidence.epochs(seen.jobs, evidence(seen), plausible=Epochs.END).highest == Epochs.END - 1
    beyond = world(phase="Running", attempts=[INTENT | {"token": 2**63 - 1}])
    assert lease_evidence.epochs(beyond.jobs, evidence(beyond)).highest == 0


def test_what_nobody_marked_has_no_epoch_to_tell() -> None:
    copied = application("SUBMITTED", finalizers=None)
    copied["metadata"]["annotations"][names.ANNOTATION_WRITER_EPOCH] = "99"
    seen = world()
    seen.applications.seen(copied)
    assert grants(seen) == [Grant(LEASE, TOKEN)]
    assert lease_evidence.epochs(seen.jobs, evidence(seen)).highest == 0
    copied = application("SUBMITTED", resourceVersion="6")
    copied["metadata"]["annotations"][names.ANNOTATION_WRITER_EPOCH] = "99"
    seen.applications.seen(copied)
    assert lease_evidence.epochs(seen.jobs, evidence(seen)).highest == 99


def test_an_intent_holds_all_tables_of_its_spec_though_the_status_shows_only_so_many() -> None:
    seen = world(phase="Starting", attempts=[INTENT], footprint=[])
    spec_hash = seen.jobs["uid-a"].spec_hash
    seen.job_seen(job_body("a", version=2) | {"status": {"attempts": [INTENT | {"hash": spec_hash}]}})
    assert [grant.lease.tables for grant in grants(seen)] == [("file:/lake/orders",)]


def test_an_intent_is_not_granted_where_its_name_leads_since() -> None:
    """Its driver would be led there, beside whoever holds that place since before."""
    body = job_body("a", sql="DELETE FROM sales.orders")
    seen = world()
    seen.policy_seen(policy_body("orders", table={"name": "sales.orders", "path": "/lake/elsewhere"}))
    seen.heed_policies()
    seen.job_seen(body)
    intent = INTENT | {"hash": seen.jobs["uid-a"].spec_hash}
    version = body["metadata"] | {"resourceVersion": "2"}
    seen.job_seen(body | {"metadata": version, "status": {"attempts": [intent], "footprint": [TOUCHED]}})
    (grant,) = grants(seen)
    assert grant.lease.tables == (ORDERS.text,)
    held = lease_evidence.holder_of(grant.lease, seen.jobs["uid-a"]).footprint.keys
    assert set(held) == {ORDERS, key_of_path("/lake/elsewhere")}


def test_what_has_ended_freezes_nothing() -> None:
    seen = world(phase="Failed", attempts=[INTENT | {"outcome": "Failed"}])
    assert frozen(seen) == []
    still = world(phase="Starting", attempts=[INTENT])
    assert [one.who for one in frozen(still)] == ["a-1"]


def test_an_epoch_with_many_zeros_is_none_that_an_operator_wrote() -> None:
    seen = world()
    body = application("RUNNING")
    body["metadata"]["annotations"][names.ANNOTATION_WRITER_EPOCH] = "0" * 8 + "262142"
    seen.applications.seen(body)
    assert lease_evidence.epochs(seen.jobs, evidence(seen)).highest == 3


def test_two_witnesses_of_one_holder_hold_the_tables_of_both() -> None:
    """The job is gone, and in another namespace somebody has written a record with its uid."""
    other = replace(LEASE, job="other/x", tables=("file:/nothing",))
    seen = world()
    seen.applications.seen(application("RUNNING", "forged", lease=other, namespace="other"))
    seen.pods.seen(pod(RUNNING))
    (grant,) = grants(seen)
    assert set(grant.lease.tables) == {"file:/nothing", *LEASE.tables}


def test_two_witnesses_of_one_holder_hold_the_run_that_either_of_them_names() -> None:
    other = replace(LEASE, job="other/x")
    seen = world()
    seen.applications.seen(application("RUNNING", "forged", lease=other, namespace="other"))
    seen.pods.seen(pod(RUNNING, lease=replace(LEASE, run="etl/daily")))
    (grant,) = grants(seen)
    assert grant.lease.run == "etl/daily"


def test_a_run_is_held_by_whatever_witness_of_its_lease_is_left() -> None:
    of_run = replace(LEASE, run="etl/daily")
    seen = world()
    seen.pods.seen(pod(RUNNING, lease=of_run))
    assert [grant.lease.run for grant in grants(seen)] == ["etl/daily"]
    gone = lease_evidence.holder_of(of_run, None)
    assert gone.footprint.run == "etl/daily"
    weekly = world_of_intent(sql="DELETE FROM delta.`/lake/orders`", runKey="weekly")
    assert [grant.lease.run for grant in grants(weekly)] == ["etl/weekly"]
    view = weekly.jobs["uid-a"]
    assert lease_evidence.lease_for(view, 1, view.spec_hash).rights == ("run etl/weekly",)


def test_an_intent_holds_its_run_also_where_its_spec_is_read_otherwise_by_now() -> None:
    """As by another version, or under another profile: the run key stays what it was."""
    seen = world_of_intent(sql="DELETE FROM delta.`/lake/orders`", runKey="weekly")
    body = seen.jobs["uid-a"].body
    [attempt] = body["status"]["attempts"]
    changed = body | {"status": {"attempts": [attempt | {"hash": "another"}], "footprint": [TOUCHED]}}
    changed["metadata"] = body["metadata"] | {"resourceVersion": "9"}
    seen.job_seen(changed)
    assert [(grant.lease.hash, grant.lease.run) for grant in grants(seen)] == [("another", "etl/weekly")]


def world_of_intent(**spec: Any) -> ClusterCache:
    """A job whose intent is written, and nothing else."""
    seen = world()
    seen.job_seen(job_body("a", **spec))
    intent = INTENT | {"hash": seen.jobs["uid-a"].spec_hash}
    seen.job_seen(job_body("a", version=2, **spec) | {"status": {"attempts": [intent]}})
    return seen


def test_a_status_that_tells_the_end_of_this_very_grant_explains_it_beside_an_application_that_was_let_go() -> (
    None
):
    """The application of a finished job stays, and says that it had a driver, whose pod somebody may have put away."""
    ended = INTENT | {"outcome": "Succeeded", "startedAt": "2026-11-19T10:00:05Z"}
    seen = world(phase="Succeeded", attempts=[ended])
    known = [Grant(LEASE, TOKEN)]
    assert lease_evidence.unexplained(known, evidence(seen)) == []
    seen.applications.seen(application("COMPLETED", finalizers=None))
    assert lease_evidence.unexplained(known, evidence(seen)) == []


def test_an_intent_that_was_taken_back_tells_no_drivers_end() -> None:
    """A tombstone outlives it."""
    seen = world(phase="Pending", attempts=[INTENT | {"outcome": "Withdrawn"}])
    known = [Grant(LEASE, TOKEN)]
    assert lease_evidence.unexplained(known, evidence(seen), tombstones={LEASE.holder}) == known
    ended = world(phase="Succeeded", attempts=[INTENT | {"outcome": "Succeeded"}])
    assert lease_evidence.unexplained(known, evidence(ended), tombstones={LEASE.holder}) == []


def test_a_stream_whose_spec_was_changed_may_do_anything_to_its_tables_until_it_has_stopped() -> None:
    shown = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in stream().recorded]
    view = stream(attempt(), status={"footprint": shown})
    reads = ("file:/lake/raw",)
    lease = replace(LEASE, hash=view.spec_hash, tables=("file:/lake/orders",), reads=reads)
    assert lease_evidence.holder_of(lease, view).footprint == view.footprint
    changed = stream(attempt(), trigger={"processingTime": "1 minute"}, status={"footprint": shown})
    assert not lease_evidence.is_of(lease, changed)
    anything = lease_evidence.holder_of(lease, changed).footprint
    assert anything == lease_evidence.holder_of(lease, None).footprint
    assert {one.table for one in anything.tables} == {ORDERS}
    patient = replace(
        view, body=view.body | {"spec": {"stream": view.body["spec"]["stream"] | {"yield": "Aged"}}}
    )
    assert lease_evidence.is_of(lease, patient), "what may be changed at any time changes nothing that runs"
