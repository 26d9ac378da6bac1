"""One round: jobs are played under faults until all has ended, and the servers' own records are judged."""

from collections import Counter
from dataclasses import dataclass, field
from time import monotonic

from integration.faults.attempts import observed
from integration.faults.checker import Evidence, violations
from integration.faults.installation import Installation
from integration.faults.lease_history import lease_history
from integration.faults.matrix import PlannedRound
from integration.faults.misfortunes import Misfortune, befalls
from integration.faults.plan import Fault, Plan
from integration.faults.replay import changes_of, is_given_back, refused
from integration.faults.workload import ENDS_WITHIN, Round
from integration.waiting import eventually

QUIET = PlannedRound()


@dataclass
class Tally:
    """What was done in all."""

    rounds: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    met: list[Fault] = field(default_factory=list)
    replayed: Counter[bool] = field(default_factory=Counter)
    """Pairs of jobs whose way was replayed through the model, or was none that it has."""

    def note(self, plan: Plan, misfortune: Misfortune | None) -> None:
        self.rounds += 1
        self.met += plan.met
        self.faults.update(str(fault.what) for fault in plan.met)
        if misfortune is not None:
            self.faults[str(misfortune)] += 1

    def __str__(self) -> str:
        each = "\n".join(f"{count:6} {what}" for what, count in sorted(self.faults.items()))
        pairs = f"{self.replayed[True]} of {self.replayed.total()} pairs of jobs replayed through the model"
        return f"{self.faults.total()} faults in {self.rounds} rounds, {pairs}\n{each}"


def play(installation: Installation, planned: PlannedRound, tally: Tally) -> Plan:
    """Plays it; raises AssertionError with all that was violated."""
    cluster, replicas, number = installation.cluster, installation.replicas, next(installation.rounds)
    plan = Plan(planned.faults)
    epoch = eventually(installation.one_epoch, "one epoch is in force", seconds=ENDS_WITHIN)
    installation.begin_to_watch()
    replicas.plan = plan
    this, began = Round(number), monotonic()
    uids = this.plays(cluster)
    try:
        if planned.misfortune is not None:
            befalls(planned.misfortune, installation)
        eventually(
            lambda: this.is_over(cluster),
            f"round {number} is over",
            seconds=ENDS_WITHIN,
            show=lambda: [_said(job) for job in cluster.jobs()],
        )
    except AssertionError as error:
        raise AssertionError(f"{error}\n{_told(plan, planned)}") from error
    finally:
        replicas.plan = Plan()
    tally.note(plan, planned.misfortune)
    print(f"round {number}: {monotonic() - began:.1f} s; {_told(plan, planned)}")
    writes, commands = installation.took_place()
    leases = lease_history(commands, epoch)
    evidence = Evidence(uids, observed(writes, installation.operator), leases)
    found: list[object] = [*violations(evidence), *installation.engine.faults, *replicas.fallen]
    is_known = all(write.is_sure for write in writes)  # the API server itself may break off on a busy machine
    for pair in this.rivals(uids):
        is_modelled = planned.misfortune is None or planned.misfortune.is_in_the_model
        is_modelled = is_modelled and is_known and evidence.seen.went_straight(pair)
        if is_modelled:
            changes = changes_of(pair, writes, leases, epoch)
            touched = any(fault.outdates_a_job for fault in plan.met) or is_given_back(pair, writes)
            unsaid = sum(one.never_said_it for uid in pair for one in evidence.seen.of(uid))
            found += filter(None, [refused(changes, jobs_are_touched=touched, unsaid=unsaid)])
        tally.replayed[is_modelled] += 1
    assert not found, "\n".join([*map(str, found), _told(plan, planned)])
    for job in this.jobs:
        if not job.is_deleted:
            cluster.delete(job.name)
    return plan


def _said(job: object) -> object:
    assert isinstance(job, dict)
    status = job.get("status") or {}
    return job["metadata"]["name"], status.get("phase"), status.get("reason"), status.get("message")


def _told(plan: Plan, planned: PlannedRound) -> str:
    befallen = [*([] if planned.misfortune is None else [planned.misfortune]), *plan.met]
    return "\n".join(["what befell:", *map(str, befallen)])
