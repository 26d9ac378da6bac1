"""The end of a run: its death is proved, its outcome written, its finalizers taken off."""

from collections.abc import Iterator

from protocol.grants.epochs import NAMES, Epochs
from protocol.grants.evidence import is_missing, proved_ended
from protocol.grants.state import FOREIGN, Operator, Run, Setting, State, with_job, with_run
from protocol.search import Step


class Ending:
    def __init__(self, setting: Setting, epochs: Epochs):
        self.setting = setting
        self.design = setting.design
        self.epochs = epochs

    def steps(self, s: State, who: int, o: Operator, run: Run) -> Iterator[Step]:
        if self.design.policy_on_finalizers and o.epoch < s.enforced:
            return
        if run.token == FOREIGN and self.design.own_application_known:
            return
        if self._lost_its_intent(s, o, run):
            return
        if run.app == "gone":
            if run.pod_held and self._over(s, run):
                yield from self._conclude(s, who, o, run)
            return
        yield from self._towards_proof(s, who, o, run)
        if self._over(s, run):
            yield from self._conclude(s, who, o, run)
        elif (run.held or run.pod_held) and self._is_unknown(run):
            yield from self._unproved(s, who, o, run)

    def _towards_proof(self, s: State, who: int, o: Operator, run: Run) -> Iterator[Step]:
        name = NAMES[who]
        if self._nobody_wants(s, o, run):
            what = f"deletes the application of {run.key}: no lease is held for it"
            yield Step(name, what, with_run(s, run._replace(deleting=True)))
        failed = run.app == "ended" and self.design.driverless_ended
        slow = run.app == "new" and not self.design.gated_and_over
        free = run.pod == "none" and not is_missing(run, self.design)
        if free and run.held and (run.deleting or failed or slow) and self.design.name_occupied:
            what = f"occupies the driver's name of {run.key} with a gated pod"
            yield Step(name, what, with_run(s, run._replace(pod="gated")))
        unended = run.deleting and run.app != "ended" and not run.told
        if run.pod == "terminated" and unended and run.pod_held and self.design.terminated_and_ended:
            # Its application may still start another one: its name must be taken once it is free.
            what = f"takes the finalizer of the terminated driver of {run.key} off"
            yield Step(name, what, with_run(s, run._replace(pod_held=False)))

        if run.pod == "forged" and unended:
            what = f"puts the pod that took the driver's name of {run.key} away"
            yield Step(name, what, with_run(s, run._replace(pod="none")))

    def _lost_its_intent(self, s: State, o: Operator, run: Run) -> bool:
        """It is written again first."""
        job = s.jobs[run.key.job]
        if not self.setting.budget.api_restores or job is None or job.phase != "waiting":
            return False
        covered = any(lease.token == run.token for lease in o.held)
        return covered and (job.uid, job.attempt + 1) == run.key[1:]

    def _nobody_wants(self, s: State, o: Operator, run: Run) -> bool:
        """It came back with an API server that went back: its lease was released since."""
        job = s.jobs[run.key.job]
        if job is None or job.uid != run.key.uid or run.deleting or run.app == "ended" or not run.held:
            return False
        if not self.setting.budget.api_restores:
            return False
        covered = {lease.token for lease in o.held} | {hand.token for hand in o.hands}
        return self.design.uncovered_ended and run.token not in covered

    def _over(self, s: State, run: Run) -> bool:
        if proved_ended(run, self.design):
            return True
        if not self.design.name_occupied and run.pod == "none" and (run.deleting or run.app == "ended"):
            return True
        if not self.design.death_proved and run.app == "ended":
            return True
        # Fenced, and the retry that fenced it has said so: it was proved to have ended, and it succeeded.
        return run.pod == "lost" and any(
            later.key[:2] == run.key[:2]
            and later.key.attempt > run.key.attempt
            and (later.succeeded or not self.design.success_tells_of_fence)
            and proved_ended(later, self.design)
            for later in s.runs
        )

    def _is_unknown(self, run: Run) -> bool:
        """How its driver ended, or whether."""
        starts_no_other = run.app == "ended" or run.deleting
        return starts_no_other and (run.pod == "lost" or is_missing(run, self.design))

    def _unproved(self, s: State, who: int, o: Operator, run: Run) -> Iterator[Step]:
        job = s.jobs[run.key.job]
        mine = job is not None and (*job[:1], job.attempt, job.phase) == (*run.key[1:], "granted")
        allowed = o.epoch >= s.enforced or not self.design.policy_on_status
        if (
            job
            and mine
            and allowed
            and job.attempt < self.setting.attempts
            and (self.setting.fenceable or not self.design.hold_if_not_fenceable)
        ):
            # The lease stays: it passes from attempt to attempt, and the next one fences first.
            after = with_job(s, run.key.job, job._replace(phase="waiting"))
            what = f"{run.key} is lost: the job may retry under the same lease, and will fence"
            yield Step(NAMES[who], what, after)
        if run.deleting and not run.tombstone and self.design.tombstone_first:
            what = f"leaves a tombstone for {run.key}"
            yield Step(NAMES[who], what, with_run(s, run._replace(tombstone=True)))
        elif run.deleting:
            yield from self._let_go(s, who, o, run)

    def _conclude(self, s: State, who: int, o: Operator, run: Run) -> Iterator[Step]:
        job = s.jobs[run.key.job]
        if job and job.phase == "granted" and (job.uid, job.attempt) == run.key[1:]:
            if o.epoch < s.enforced and self.design.policy_on_status:
                return
            again = not run.succeeded and job.attempt < self.setting.attempts
            after = with_job(s, run.key.job, job._replace(phase="waiting" if again else "ended"))
            yield Step(NAMES[who], f"writes the outcome of {run.key}: {'retry' if again else 'ended'}", after)
        elif run.held or run.pod_held:
            yield from self._let_go(s, who, o, run)

    def _let_go(self, s: State, who: int, o: Operator, run: Run) -> Iterator[Step]:
        """What proves the end goes last: else nothing does for a leader that comes after the first of the two."""
        if o.unsure and self.design.epoch_step_after_unsure_create:
            if s.holder == who:
                what = "has a create without an answer: new epoch before a name is freed"
                yield Step(NAMES[who], what, self.epochs.claimed(s, who))
        elif run.pod_held and not (run.held and run.pod == "terminated" and self.design.proof_goes_last):
            what = f"takes the finalizer of the driver of {run.key} off"
            yield Step(NAMES[who], what, with_run(s, run._replace(pod_held=False)))
        else:
            what = f"takes the finalizer of the application of {run.key} off"
            yield Step(NAMES[who], what, with_run(s, run._replace(held=False)))
