"""The two operators. A step is what one of them does before anybody else may do something: between any two of
its steps it may be paused for as long as the search likes, and its requests may land late, beside its repeats."""

from collections.abc import Iterator

from protocol.grants.invariants import missed_by
from protocol.grants.servers import intended, land, left_by_grant
from protocol.grants.state import (
    NEW,
    Hand,
    Job,
    Key,
    Lease,
    Operator,
    Redis,
    Request,
    Run,
    Setting,
    State,
    Token,
    intent_of,
    lease_of,
    proved_ended,
    spend,
    with_hand,
    with_job,
    with_operator,
    with_run,
)
from protocol.search import Step

NAMES = ("operator A", "operator B")
IDLE = Hand()


class Operators:
    def __init__(self, setting: Setting):
        self.setting = setting
        self.design = setting.design

    def steps(self, s: State) -> Iterator[Step]:
        for who, operator in enumerate(s.operators):
            if operator.role == "follower":
                yield from self._follow(s, who)
            elif operator.role == "leading":
                if not (self.setting.dead_leaders and s.holder != who):
                    yield from self._lead(s, who, operator)
            elif s.holder == who or not self.setting.dead_leaders:
                yield from self._take_over(s, who, operator)
        for request in s.late:
            after = land(s._replace(late=s.late - {request}), request, self.design)[0]
            yield Step("network", f"the delayed {request.kind} for job{request.job} lands", after, fault=True)

    # Leadership

    def _follow(self, s: State, who: int) -> Iterator[Step]:
        if s.holder == who:
            yield Step(NAMES[who], "takes the Lease again under a new epoch", self._claimed(s, who))
        elif s.budget.takeovers:
            after = self._claimed(spend(s, takeovers=1), who)
            yield Step(NAMES[who], "takes the Lease over: its holder was paused", after, fault=True)

    def _claimed(self, s: State, who: int) -> State:
        epochs = [s.lease_epoch]
        if self.design.epoch_from_everywhere:
            epochs += [s.floor, s.redis.epoch, *(run.token.epoch for run in s.runs)]
            epochs += [job.token.epoch for job in s.jobs if job and job.token]
        epoch = max(epochs) + 1
        fresh = Operator("raising", epoch, hands=(IDLE,) * len(s.jobs))
        return with_operator(s, who, **fresh._asdict())._replace(lease_epoch=epoch, holder=who)

    def _deposed(self, s: State, who: int) -> State:
        return with_operator(s, who, **Operator(hands=(IDLE,) * len(s.jobs))._asdict())

    def _take_over(self, s: State, who: int, o: Operator) -> Iterator[Step]:
        name = NAMES[who]
        if s.floor > o.epoch or s.lease_epoch > o.epoch:
            yield Step(name, "sees a newer leader and steps down", self._deposed(s, who))
        elif o.role == "raising":
            raised = s._replace(floor=o.epoch) if self.design.floor_raised else s
            yield Step(
                name,
                f"raises the policy's parameter to {o.epoch}",
                with_operator(raised, who, role="probing"),
            )
        elif o.role == "probing":
            if (
                s.enforced >= o.epoch
                or self.setting.lagging_policy
                or not (self.design.probed and self.design.floor_raised)
            ):
                yield Step(
                    name, "has probed: older epochs are refused", with_operator(s, who, role=self._lists[0])
                )
        elif o.role == "rebuilding":
            yield self._rebuild(s, who, o)
        else:
            following = self._lists[self._lists.index(o.role) + 1]
            found = o.found | self._listed(s, o.role)
            after = with_operator(s, who, role=following, found=found)
            yield Step(name, f"lists {o.role.removeprefix('listing ')}", after)

    @property
    def _lists(self) -> tuple[str, ...]:
        """No transaction spans lists, so they go in the direction in which a lease's record moves."""
        lists = ("listing intents", "listing applications", "listing tombstones")
        if not self.design.tombstones_listed_last:
            lists = (lists[2], lists[0], lists[1])
        return (*lists, "rebuilding")

    def _stands(self, run: Run) -> bool:
        return run.app != "gone" and (run.held or (run.app != "ended" and not self.design.finalizers))

    def _listed(self, s: State, what: str) -> frozenset[Lease]:
        if what == "listing intents":
            return frozenset(
                intent_of(at, job) for at, job in enumerate(s.jobs) if job and job.phase == "granted"
            )
        if what == "listing applications":
            return frozenset(lease_of(run) for run in s.runs if self._stands(run))
        return frozenset(lease_of(run) for run in s.runs if run.tombstone)

    def _rebuild(self, s: State, who: int, o: Operator) -> Step:
        if s.redis.epoch > o.epoch:
            return Step(NAMES[who], "finds a newer epoch in Redis and steps down", self._deposed(s, who))
        after = s._replace(redis=Redis(o.epoch, NEW, o.found), missed=missed_by(s, o.found, self.design))
        after = with_operator(after, who, role="leading", found=frozenset(), held=o.found, version=NEW)
        leases = ", ".join(sorted(str(lease.key) for lease in o.found)) or "nothing"
        return Step(NAMES[who], f"rebuilds Redis under epoch {o.epoch} with {leases}, and leads", after)

    # The leader's work

    def _lead(self, s: State, who: int, o: Operator) -> Iterator[Step]:
        if s.redis.epoch > o.epoch:
            yield Step(NAMES[who], "finds a newer epoch in Redis and steps down", self._deposed(s, who))
        elif self._forgot(s, o):
            yield Step(NAMES[who], "notices that Redis forgot: new epoch", self._begins_anew(s, who))
        for at in range(len(s.jobs)):
            hand = o.hands[at]
            if hand.doing == "idle":
                yield from self._decide(s, who, o, at)
                yield from self._mend(s, who, o, at)
            else:
                yield from getattr(self, f"_{hand.doing}")(s, who, o, at, hand)
        if s.redis.epoch == o.epoch:
            yield from self._sweep(s, who, o)
        for run in s.runs:
            yield from self._end(s, who, o, run)

    def _begins_anew(self, s: State, who: int) -> State:
        """What it knows of leases isn't sure any more. Only who leads may take a new epoch."""
        return self._claimed(s, who) if s.holder == who else self._deposed(s, who)

    def _forgot(self, s: State, o: Operator) -> bool:
        if self.design.amnesia_noticed:
            return s.redis.epoch < o.epoch or s.redis.version != o.version
        return self.design.epoch_compared and s.redis.epoch < o.epoch

    def _decide(self, s: State, who: int, o: Operator, at: int) -> Iterator[Step]:
        job = s.jobs[at]
        if job is None or job.phase != "waiting" or job.attempt >= self.setting.attempts:
            return
        in_the_way = [
            lease
            for lease in o.held
            if lease.spec == job.spec and (lease.key.job, lease.key.uid) != (at, job.uid)
        ]
        unswept = any(lease.key == Key(at, job.uid, job.attempt + 1) for lease in o.held)
        if not in_the_way and not unswept:
            after = with_hand(s, who, at, Hand("granting", job, o.version))
            yield Step(NAMES[who], f"decides on table version {o.version}: job{at} may go", after)

    def _delayed(self, s: State, who: int, r: Request) -> Iterator[Step]:
        """The request is on its way for longer than its sender waits: it'll be repeated, and land twice."""
        if s.budget.late and r.kind in self.setting.late and r not in s.late:
            after = spend(s, late=1)._replace(late=s.late | {r})
            if r.kind == "create":
                after = with_operator(after, who, unsure=True)
            yield Step(NAMES[who], f"sends the {r.kind} for job{r.job}; it is delayed", after, fault=True)

    def _granting(self, s: State, who: int, o: Operator, at: int, hand: Hand) -> Iterator[Step]:
        assert hand.job is not None
        if hand.version != o.version and self.design.decision_void_after_change:
            yield Step(
                NAMES[who], f"drops its decision on job{at}: the table changed", with_hand(s, who, at, IDLE)
            )
            return
        r = Request("grant", o.epoch, at, hand.job, version=hand.version)
        yield from self._delayed(s, who, r)
        after, answer = land(s, r, self.design)
        if isinstance(answer, Token):
            key = Key(at, hand.job.uid, hand.job.attempt + 1)
            lease = Lease(key, answer, hand.job.spec, hand.version)
            left = left_by_grant(answer, key, self.design)
            after = with_operator(after, who, version=left, held=o.held | {lease})
            doing = "intending" if self.design.intent_before_create else "creating"
            job = hand.job if doing == "intending" else intended(r._replace(token=answer))
            yield Step(
                NAMES[who],
                f"is granted token {answer} for job{at}",
                with_hand(after, who, at, Hand(doing, job, token=answer)),
            )
        else:
            what = f"isn't granted job{at}: {answer}"
            yield Step(NAMES[who], what, self._not_as_left(after, who, at))

    def _not_as_left(self, s: State, who: int, at: int) -> State:
        """Redis isn't as this leader left it. Without the rule it believes what it finds."""
        if self.design.amnesia_noticed or s.redis.epoch != s.operators[who].epoch:
            return self._begins_anew(s, who)
        return with_hand(with_operator(s, who, version=s.redis.version), who, at, IDLE)

    def _intending(self, s: State, who: int, o: Operator, at: int, hand: Hand) -> Iterator[Step]:
        assert hand.job is not None
        r = Request("intent", o.epoch, at, hand.job, hand.token)
        yield from self._delayed(s, who, r)
        after, answer = land(s, r, self.design)
        if answer == "ok":
            job = after.jobs[at]
            assert job is not None
            content = job if not self.design.intent_precondition else intended(r)
            then = Hand("creating", content, token=hand.token)
            yield Step(NAMES[who], f"writes the intent of job{at}", with_hand(after, who, at, then))
        elif answer == "refused by policy":
            yield Step(NAMES[who], f"the intent of job{at} is refused: steps down", self._deposed(after, who))
        else:
            then = Hand("returning", hand.job, token=hand.token)
            yield Step(
                NAMES[who], f"can't write the intent of job{at} ({answer})", with_hand(after, who, at, then)
            )

    def _returning(self, s: State, who: int, o: Operator, at: int, hand: Hand) -> Iterator[Step]:
        assert hand.job is not None
        r = Request("release", o.epoch, at, hand.job, hand.token)
        yield from self._delayed(s, who, r)
        yield Step(NAMES[who], f"gives the grant of job{at} back", self._released(s, who, r))

    def _released(self, s: State, who: int, r: Request) -> State:
        o = s.operators[who]
        after, answer = land(s, r, self.design)
        idle = o.hands[r.job]._replace(doing="idle", job=None, token=None, version=NEW)
        if answer != "ok" or (s.redis.version != o.version and self.design.amnesia_noticed):
            return self._begins_anew(after, who)
        held = frozenset(lease for lease in o.held if lease.token != r.token)
        after = with_operator(after, who, version=after.redis.version, held=held)
        return with_hand(after, who, r.job, idle) if o.hands[r.job].token == r.token else after

    def _creating(self, s: State, who: int, o: Operator, at: int, hand: Hand) -> Iterator[Step]:
        assert hand.job is not None
        r = Request("create", o.epoch, at, hand.job, hand.token)
        yield from self._delayed(s, who, r)
        after, answer = land(s, r, self.design)
        if answer == "refused by policy":
            yield Step(
                NAMES[who], f"the application of job{at} is refused: steps down", self._deposed(after, who)
            )
            return
        after = with_hand(after, who, at, IDLE)
        now = after.jobs[at]
        if not self.design.intent_before_create and now == hand.job._replace(
            phase="waiting",
            attempt=hand.job.attempt - 1,
            token=now.token if now else None,
            leased=now.leased if now else "",
        ):
            after = with_hand(after, who, at, Hand("noting", hand.job, token=hand.token))
        yield Step(NAMES[who], f"creates the application of job{at}: {answer}", after)

    def _noting(self, s: State, who: int, o: Operator, at: int, hand: Hand) -> Iterator[Step]:
        """Only in the mutation that creates first: the status is written after the application."""
        now = s.jobs[at]
        ours = now is not None and hand.job is not None and (now.uid, now.phase) == (hand.job.uid, "waiting")
        after = with_job(s, at, hand.job) if ours and o.epoch >= s.enforced else s
        yield Step(NAMES[who], f"notes the attempt in the status of job{at}", with_hand(after, who, at, IDLE))

    def _mend(self, s: State, who: int, o: Operator, at: int) -> Iterator[Step]:
        """An intent without an application: a leader before me was stopped between the two."""
        job = s.jobs[at]
        if job is None or job.phase != "granted" or not self.design.intent_before_create:
            return
        key = Key(at, job.uid, job.attempt)
        if s.run(key):
            if s.budget.watch_lags:
                after = with_hand(spend(s, watch_lags=1), who, at, Hand("creating", job, token=job.token))
                yield Step(
                    NAMES[who], f"doesn't see {key} yet: its watch lags; will create it", after, fault=True
                )
            return
        if not self.design.intents_mended:
            return
        covered = any(lease.token == job.token for lease in o.held)
        taken_back = not covered and self.design.uncovered_taken_back
        if taken_back or (job.spec != job.leased and self.design.withdraw_if_edited):
            yield from self._withdraw(s, who, o, at, job)
        elif self.design.roll_forward:
            after = with_hand(s, who, at, Hand("creating", job, token=job.token))
            yield Step(
                NAMES[who], f"finds an intent of job{at} without an application: rolls it forward", after
            )
        else:
            yield from self._withdraw(s, who, o, at, job)

    def _withdraw(self, s: State, who: int, o: Operator, at: int, job: Job) -> Iterator[Step]:
        if o.epoch < s.enforced:
            return
        after = with_job(s, at, job._replace(phase="waiting", attempt=job.attempt - 1, token=None, leased=""))
        yield Step(NAMES[who], f"withdraws the intent of job{at}", after)

    def _sweep(self, s: State, who: int, o: Operator) -> Iterator[Step]:
        """Release is told by state, never by an event: a lease that nothing in Kubernetes stands for."""
        claimed = {
            intent_of(at, job).token for at, job in enumerate(s.jobs) if job and job.phase == "granted"
        }
        claimed |= {run.token for run in s.runs if self._stands(run) or run.tombstone}
        if not self.design.death_proved:
            claimed -= {run.token for run in s.runs if run.app in ("ended", "gone")}
        written = claimed - {hand.token for hand in o.hands}
        if self.design.hands_counted:
            claimed |= {hand.token for hand in o.hands if hand.token}
        asking = {
            Key(at, h.job.uid, h.job.attempt + 1)
            for at, h in enumerate(o.hands)
            if h.doing == "granting" and h.job
        }
        for lease in sorted(o.held, key=lambda lease: lease.key):
            job, uid, attempt = lease.key
            r = Request("release", o.epoch, job, Job(uid, lease.spec, attempt=attempt - 1), lease.token)
            if lease.token not in claimed and lease.key not in asking:
                yield from self._delayed(s, who, r)
                yield Step(NAMES[who], f"releases the lease of {lease.key}", self._released(s, who, r))
            elif s.budget.watch_lags and not self.design.own_writes_seen and lease.token in written:
                what = f"doesn't see what {lease.key} holds: its watch lags; releases the lease"
                after = self._released(spend(s, watch_lags=1), who, r)
                yield Step(NAMES[who], what, after, fault=True)

    # The end of a run

    def _end(self, s: State, who: int, o: Operator, run: Run) -> Iterator[Step]:
        if run.app == "gone" or (self.design.policy_on_finalizers and o.epoch < s.enforced):
            return
        name = NAMES[who]
        driverless = run.app == "ended" and run.pod == "none" and self.design.driverless_ended
        if driverless and run.held and not run.deleting:
            yield Step(
                name,
                f"deletes the application of {run.key}: no driver is seen",
                with_run(s, run._replace(deleting=True)),
            )
        if run.deleting and run.pod == "none" and run.held and self.design.name_occupied:
            yield Step(
                name,
                f"occupies the driver's name of {run.key} with a gated pod",
                with_run(s, run._replace(pod="gated")),
            )
        over = self._over(s, run)
        if not over and self._owns_up(run):
            yield from self._unproved(s, who, o, run)
        if over:
            yield from self._conclude(s, who, o, run)

    def _over(self, s: State, run: Run) -> bool:
        if proved_ended(run, phase_counts=not self.design.phase_is_no_proof):
            return True
        if not self.design.name_occupied and run.deleting and run.pod == "none":
            return True
        if not self.design.death_proved and run.app == "ended":
            return True
        # Fenced, and the retry that fenced it has said so: it was proved to have ended, and it succeeded.
        return run.pod == "lost" and any(
            later.key[:2] == run.key[:2]
            and later.key.attempt > run.key.attempt
            and (later.succeeded or not self.design.success_tells_of_fence)
            and proved_ended(later, phase_counts=False)
            for later in s.runs
        )

    @staticmethod
    def _owns_up(run: Run) -> bool:
        return run.held and run.pod == "lost" and run.app == "ended"

    def _unproved(self, s: State, who: int, o: Operator, run: Run) -> Iterator[Step]:
        job = s.jobs[run.key.job]
        mine = job is not None and (job.uid, job.attempt, job.phase) == (
            run.key.uid,
            run.key.attempt,
            "granted",
        )
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
            yield Step(
                NAMES[who],
                f"{run.key} is lost: the job may retry under the same lease, and will fence",
                after,
            )
        if run.deleting and not run.tombstone and self.design.tombstone_first:
            yield Step(
                NAMES[who], f"leaves a tombstone for {run.key}", with_run(s, run._replace(tombstone=True))
            )
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
        elif run.held:
            yield from self._let_go(s, who, o, run)

    def _let_go(self, s: State, who: int, o: Operator, run: Run) -> Iterator[Step]:
        if o.unsure and self.design.epoch_step_after_unsure_create:
            if s.holder == who:
                after = self._claimed(s, who)
                yield Step(
                    NAMES[who], "has a create without an answer: new epoch before a name is freed", after
                )
        else:
            after = with_run(s, run._replace(held=False))
            yield Step(NAMES[who], f"takes the finalizers of {run.key} off", after)
