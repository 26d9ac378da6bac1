"""One round: jobs are played under faults until all has ended, and the servers' own records are judged."""

from collections import Counter
from dataclasses import dataclass, field
from time import monotonic

from integration.faults.attempts import observed
from integration.faults.checker import Evidence, violations
from integration.faults.installation import Installation
from integration.faults.lease_history import lease_history
from integration.faults.matrix import PlannedRound
from integration.faults.plan import Fault, Plan
from integration.faults.workload import ENDS_WITHIN, Round
from integration.waiting import eventually

QUIET = PlannedRound(())
A_KILL = "the leader is killed at any moment"


@dataclass
class Tally:
    """What was done in all."""

    rounds: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    met: list[Fault] = field(default_factory=list)

    def note(self, plan: Plan, *, kills: int) -> None:
        self.rounds += 1
        self.met += plan.met
        self.faults.update(str(fault.what) for fault in plan.met)
        self.faults[A_KILL] += kills

    def __str__(self) -> str:
        each = "\n".join(f"{count:6} {what}" for what, count in sorted(self.faults.items()))
        return f"{self.faults.total()} faults in {self.rounds} rounds\n{each}"


def play(installation: Installation, number: int, planned: PlannedRound, tally: Tally) -> Plan:
    """Plays it; raises AssertionError with all that was violated."""
    cluster, replicas = installation.cluster, installation.replicas
    plan = Plan(planned.faults)
    epoch = installation.epoch
    installation.took_place()
    replicas.plan = plan
    this, began = Round(number), monotonic()
    uids = this.plays(cluster)
    if planned.needs_takeover:
        replicas.kill_leader()
    try:
        eventually(
            lambda: this.is_over(cluster),
            f"round {number} is over",
            seconds=ENDS_WITHIN,
            show=lambda: [_said(job) for job in cluster.jobs()],
        )
    except AssertionError as error:
        raise AssertionError(f"{error}\n{_told(plan)}") from error
    finally:
        replicas.plan = Plan()
    tally.note(plan, kills=int(planned.needs_takeover))
    print(f"round {number}: {monotonic() - began:.1f} s; {'; '.join(map(str, plan.met)) or 'nothing befell'}")
    writes, commands = installation.took_place()
    evidence = Evidence(uids, observed(writes, installation.operator), lease_history(commands, epoch))
    found: list[object] = [*violations(evidence), *installation.engine.faults, *replicas.fallen]
    assert not found, "\n".join([*map(str, found), _told(plan)])
    for job in this.jobs:
        if not job.is_deleted:
            cluster.delete(job.name)
    return plan


def _said(job: object) -> object:
    assert isinstance(job, dict)
    status = job.get("status") or {}
    return job["metadata"]["name"], status.get("phase"), status.get("reason"), status.get("message")


def _told(plan: Plan) -> str:
    return "\n".join(["befallen were:", *map(str, plan.met)])
