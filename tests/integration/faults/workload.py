"""The jobs of one round: some conflict, some run beside each other, some are deleted while they wait or run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from integration.faults.engine import ENDLESS, FAILS
from integration.operator.played import Played, append, rewrite
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json
from sluice.engines import is_placeholder

ENDS_WITHIN = 120.0
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Planned:
    name: str
    spec: Json
    table: str
    is_deleted: bool = False

    @property
    def ends_as(self) -> str:
        return "Failed" if FAILS in self.name else "Succeeded"

    @property
    def is_blind(self) -> bool:
        return str(self.spec["sql"]).startswith("INSERT")

    def conflicts(self, other: "Planned") -> bool:
        """Whether both may not run at once."""
        run = self.spec.get("runKey")
        same_run = run is not None and run == other.spec.get("runKey")
        return same_run or (self.table == other.table and not (self.is_blind and other.is_blind))


@dataclass(frozen=True)
class Round:
    number: int

    @cached_property
    def jobs(self) -> tuple[Planned, ...]:
        rewritten, appended, ended = (self._table(name) for name in ("rewritten", "appended", "ended"))
        daily = f"daily-{self.number}"
        return (
            self._job("first", rewrite(rewritten), rewritten),
            self._job("second", rewrite(rewritten), rewritten),
            self._job("withdrawn", rewrite(rewritten), rewritten, is_deleted=True),
            self._job("beside", append(appended), appended),
            self._job("besides", append(appended), appended),
            self._job(ENDLESS, rewrite(ended), ended, is_deleted=True),
            self._job("after", rewrite(ended), ended),
            self._job(FAILS, append(self._table("failed")), self._table("failed")),
            self._job("keyed", append(self._table("k1"), runKey=daily), self._table("k1")),
            self._job("keyed-again", append(self._table("k2"), runKey=daily), self._table("k2")),
        )

    def _job(self, name: str, spec: Json, table: str, *, is_deleted: bool = False) -> Planned:
        return Planned(f"r{self.number}-{name}", spec, table, is_deleted)

    def _table(self, name: str) -> str:
        return f"/lake/r{self.number}/{name}"

    def plays(self, cluster: Played) -> dict[str, Planned]:
        """All is created, and what is to be deleted is; returns the jobs by their uids."""
        uids = {cluster.apply(job.name, job.spec): job for job in self.jobs}
        for job in self.jobs:
            if job.is_deleted and ENDLESS not in job.name:
                cluster.delete(job.name)
        for uid, job in uids.items():
            if ENDLESS in job.name:
                eventually(
                    partial(_has_run, cluster, uid),
                    f"the driver of {job.name} runs",
                    seconds=ENDS_WITHIN,
                    show=partial(cluster.status, job.name),
                )
                cluster.delete(job.name)
        return uids

    def rivals(self, uids: Mapping[str, Planned]) -> Iterator[tuple[str, str]]:
        """Pairs of jobs that want one table, by their uids; where one is deleted, it is the first."""
        by_name = {job.name.removeprefix(f"r{self.number}-"): uid for uid, job in uids.items()}
        yield by_name["first"], by_name["second"]
        yield by_name[ENDLESS], by_name["after"]

    def is_over(self, cluster: Played) -> bool:
        """Whether every job has ended and nothing is left of any driver."""
        if any((job.get("status") or {}).get("phase") not in _ENDED for job in cluster.jobs()):
            return False
        there = {job["metadata"]["uid"] for job in cluster.jobs()}
        left = [*cluster.applications(), *(pod for pod in cluster.pods() if not is_placeholder(pod))]
        if any(_job_of(one) not in there or one["metadata"].get("finalizers") for one in left):
            return False
        return not cluster.holders()


def _job_of(body: Json) -> str | None:
    return (body["metadata"].get("labels") or {}).get(names.LABEL_JOB_UID)


def _has_run(cluster: Played, uid: str) -> bool:
    """Whether any driver of it is there, and runs."""
    for application in cluster.applications_of(uid):
        pod = cluster.pod(application["spec"]["driver"]["podName"])
        if pod is not None and (pod.get("status") or {}).get("phase") == "Running":
            return True
    return False
