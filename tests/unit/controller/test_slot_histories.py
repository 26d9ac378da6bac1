"""Slots in jobs' lives of any order, with leaders that are replaced at any moment: no two that may commit share one, and a job's
attempts all have the same."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from sluice.api.base import Json
from sluice.api.job_status import Attempt, AttemptException, Outcome, Phase
from sluice.api.names import ANNOTATION_RETRY
from sluice.api.reasons import Reason
from sluice.controller.scheduling.admission import JobAdmission
from sluice.kube.mirror import uid_of
from sluice.leases import Grant, Lease, Reach
from sluice.lifecycle.attempt.lease_evidence import grants
from sluice.lifecycle.evidence.finished_jobs import retry_asked
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.lifecycle.retries.manual_retry import RetryGranted, heeded
from sluice.lifecycle.retries.retry_decision import Again, followed
from sluice.lifecycle.spec.commit_ids import kept_slot, slot_named, slot_of
from unit.controller.bodies import job_body
from unit.controller.test_admission import Leases, admitting, turn

LOST = AttemptException(class_="ConcurrentAppendException", message="", retriable=True)
JOBS = [f"job-{number}" for number in range(6)]
ON_THEIR_OWN = ("a", "b")
"""Jobs that the harness brings, which are not retried."""


class AnswersLater(Leases):
    """What is granted is known once Redis has answered; meanwhile others ask."""

    async def grant(self, lease: Lease, reach: Reach) -> Grant | None:
        await asyncio.sleep(0)
        return await super().grant(lease, reach)


class History:
    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)  # noqa: S311 - not a secret
        self.made = 0
        self.leases = AnswersLater()
        _, self.leader = admitting({})
        follow(self.leader, self.leases)
        self.first_slots: dict[str, str] = {}
        self.specs: dict[str, Json] = {}
        for name in JOBS:
            self.create(name)

    def create(self, name: str) -> None:
        self.made += 1
        sql = f"INSERT INTO delta.`/lake/{name}` VALUES (1)"
        body = job_body(name, version=self.made * 1000, sql=sql, retry={"limit": 20, "backoff": "1s"})
        body["metadata"]["uid"] = f"uid-{name}-{self.made}"
        self.specs[uid_of(body)] = body["spec"]
        self.leader.world.job_seen(body)

    def jobs(self) -> Iterator[JobView]:
        yield from (job for job in self.leader.world.jobs.values() if job.name not in ON_THEIR_OWN)

    async def step(self) -> None:
        job = self.chance.choice(list(self.jobs()))
        if self.chance.random() < 0.15:
            self.is_replaced()
        elif job.open_attempt is not None:
            await self.ends(job, job.open_attempt)
        elif job.is_finished and job.phase is Phase.FAILED and self.chance.random() < 0.7:
            await self.is_asked_for_one_more(job)
        elif job.is_finished and not self.leases.held_by(job.uid):
            self.leader.world.job_gone(job.uid)
            self.create(job.name)
        self.are_released()
        for uid in list(self.leader.world.jobs):
            self.leader.consider(uid)
        for uid in list(self.leader.holders.to_read):
            self.leader.read(uid)
        await turn(self.leader, *self.leader.world.jobs)

    async def is_asked_for_one_more(self, job: JobView) -> None:
        """By an annotation: the watch that shows it brings the whole object."""
        version = {"resourceVersion": str(int(job.resource_version) + 1)}
        word = {"annotations": {ANNOTATION_RETRY: str(job.status.attempts[-1].number)}}
        seen = {"metadata": job.body["metadata"] | version | word, "spec": self.specs[job.uid]}
        self.leader.world.job_seen(job.body | seen)
        now = self.leader.world.jobs[job.uid]
        asked = heeded(now, retry_asked(now.body) or "", datetime.now(UTC))
        assert isinstance(asked, RetryGranted), asked
        await self.leader.statuses.write(now, asked.change)

    async def ends(self, job: JobView, attempt: Attempt) -> None:
        outcome = self.chance.choice((Outcome.SUCCEEDED, Outcome.FAILED, Outcome.FAILED, Outcome.NOT_STARTED))
        failed = outcome is Outcome.FAILED
        pause_ago = datetime.now(UTC) - timedelta(minutes=1)
        ended = attempt.model_copy(
            update={"outcome": outcome, "exception": LOST if failed else None, "ended_at": pause_ago}
        )
        change = StatusChange(Phase.SUCCEEDED, Reason.COMMITTED, "", attempt=ended)
        if outcome is not Outcome.SUCCEEDED:
            again = followed(job, ended, self.leader.world.declarations, "", datetime.now(UTC))
            change = StatusChange(Phase.FAILED, Reason.CONCURRENT_APPEND, "", attempt=ended)
            if isinstance(again, Again) and self.chance.random() < 0.7:  # else as if that was its last one
                change = again.change
        await self.leader.statuses.write(job, change)

    def are_released(self) -> None:
        """Some time after their attempts ended."""
        for lease in list(self.leases.held):
            job = self.leader.world.jobs.get(lease.uid)
            if (job is None or job.open_attempt is None) and self.chance.random() < 0.5:
                self.leases.release(lease)

    def is_replaced(self) -> None:
        """By a leader that knows what Kubernetes tells, and nothing else."""
        former = self.leader.world
        _, self.leader = admitting({})
        for body in (job.body for job in former.jobs.values()):
            self.leader.world.job_seen(body)
        world = self.leader.world
        found = grants(world.jobs, {uid: world.evidence(uid) for uid in world.jobs})
        self.leases = AnswersLater()
        self.leases.held = [grant.lease for grant in found]
        self.leases.asked = ["earlier"] * self.made * 1000
        follow(self.leader, self.leases)

    def none_is_shared(self) -> None:
        users: dict[int, set[str]] = {}
        for job in self.jobs():
            slot = kept_slot(job.status.run)
            if slot is not None and job.phase is not Phase.SUCCEEDED:
                users.setdefault(slot, set()).add(job.uid)
            if job.status.run is not None:
                first = self.first_slots.setdefault(job.uid, job.status.run.app_id)
                assert job.status.run.app_id == first, "a retry has another slot than its first attempt"
        numbers = {slot_named(number): number for number in range(1, 100)}
        for lease in self.leases.held:
            if lease.run is not None:
                users.setdefault(numbers[lease.run], set()).add(lease.uid)
            assert len(self.leases.held_by(lease.uid)) == 1, "an attempt began beside the lease of another"
        assert all(len(uids) == 1 for uids in users.values()), users
        assert max(users, default=0) <= 2 * len(JOBS), "the lowest that is free"


def follow(leader: JobAdmission, leases: Leases) -> None:
    leader.leases = leader.granting.leases = leader.refusing.leases = leases  # type: ignore[assignment]
    leader.holders._leases = leader.figures._leases = leases  # type: ignore[assignment]


@pytest.mark.parametrize("seed", range(3))
async def test_no_two_that_may_commit_ever_share_a_slot(seed: int) -> None:
    history = History(seed)
    await turn(history.leader, *history.leader.world.jobs)
    for _ in range(100):
        await history.step()
        history.none_is_shared()
    attempts = [len(job.status.attempts) for job in history.jobs()]
    assert max(attempts) > 1, "some are retried"
    assert all(slot_of(app_id) is not None for app_id in history.first_slots.values())
    assert len(history.first_slots) > len(JOBS), "jobs came and went"
    assert all(uid_of(job.body) == job.uid for job in history.jobs())
