"""The two operators. A step is what one of them does before anybody else may do something: between any two of
its steps it may be paused for as long as the search likes, and its requests may land late, beside its repeats."""

from collections.abc import Iterator

from protocol.grants.ending import Ending
from protocol.grants.epochs import IDLE, NAMES, Epochs
from protocol.grants.evidence import tells
from protocol.grants.servers import intended, land, left_by_grant
from protocol.grants.state import (
    FOREIGN,
    NEW,
    Hand,
    Job,
    Key,
    Lease,
    Operator,
    Request,
    Run,
    Setting,
    State,
    Token,
    Version,
    Write,
    intent_of,
    spend,
    with_hand,
    with_job,
    with_operator,
    with_run,
)
from protocol.grants.takeover import Takeover
from protocol.search import Step


class Operators:
    def __init__(self, setting: Setting):
        self.setting = setting
        self.design = setting.design
        self.epochs = Epochs(setting)
        self.takeover = Takeover(setting, self.epochs)
        self.ending = Ending(setting, self.epochs)

    def steps(self, s: State) -> Iterator[Step]:
        for who, operator in enumerate(s.operators):
            if operator.role == "follower":
                yield from self.takeover.follow(s, who)
            elif operator.role == "leading":
                if not (self.setting.dead_leaders and s.holder != who):
                    yield from self._lead(s, who, operator)
            elif s.holder == who or not self.setting.dead_leaders:
                yield from self.takeover.steps(s, who, operator)
        for request in s.late:
            after = self._landed(s._replace(late=s.late - {request}), request)[0]
            yield Step("network", f"the delayed {request.kind} for job{request.job} lands", after, fault=True)

    def _landed(self, s: State, r: Request | Write) -> tuple[State, object]:
        assert isinstance(r, Request)
        return land(s, r, self.design)

    # The leader's work

    def _lead(self, s: State, who: int, o: Operator) -> Iterator[Step]:
        if s.redis.epoch > o.epoch:
            yield Step(NAMES[who], "finds a newer epoch in Redis and steps down", self.epochs.deposed(s, who))
        elif self._forgot(s, o):
            yield Step(NAMES[who], "notices that Redis forgot: new epoch", self.epochs.begins_anew(s, who))
        shown_old = self._shown_what_went_back(s, o)
        if shown_old:
            what = "notices that the API server went back: new epoch"
            yield Step(NAMES[who], what, self.epochs.begins_anew(s, who))
        for at in range(len(s.jobs)):
            hand = o.hands[at]
            if hand.doing != "idle":
                yield from getattr(self, f"_{hand.doing}")(s, who, o, at, hand)
            elif not shown_old:
                yield from self._decide(s, who, o, at)
                yield from self._mend(s, who, o, at)
        if shown_old:
            return
        if s.redis.epoch == o.epoch:
            yield from self._sweep(s, who, o)
        for run in s.runs:
            yield from self.ending.steps(s, who, o, run)

    def _shown_what_went_back(self, s: State, o: Operator) -> bool:
        """Whether its own renewals or older lists, which aren't modelled, show that the API server went back: nothing that came
        back is believed in this epoch."""
        return self.design.api_going_back_noticed and 0 < o.epoch <= s.went_back

    def _forgot(self, s: State, o: Operator) -> bool:
        if self.design.amnesia_noticed:
            return s.redis.epoch < o.epoch or s.redis.version != o.version
        return self.design.epoch_compared and s.redis.epoch < o.epoch

    def _decide(self, s: State, who: int, o: Operator, at: int) -> Iterator[Step]:
        job = s.jobs[at]
        if job is None or job.phase != "waiting" or job.attempt >= self.setting.attempts:
            return
        unswept = any(lease.key == Key(at, job.uid, job.attempt + 1) for lease in o.held)
        unintended = self._unintended(s.run(Key(at, job.uid, job.attempt + 1)))
        if not self._in_the_way(o, at, job) and not unswept and not unintended:
            after = self._decided(s, who, at, job, o.version)
            yield Step(NAMES[who], f"decides on table version {o.version}: job{at} may go", after)

    def _in_the_way(self, o: Operator, at: int, job: Job) -> list[Lease]:
        return [
            lease
            for lease in o.held
            if lease.spec == job.spec and (lease.key.job, lease.key.uid) != (at, job.uid)
        ]

    def _decided(self, s: State, who: int, at: int, job: Job, version: Version) -> State:
        return with_hand(s, who, at, Hand("granting", job, version))

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
            return self.epochs.begins_anew(s, who)
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
            yield Step(
                NAMES[who], f"the intent of job{at} is refused: steps down", self.epochs.deposed(after, who)
            )
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
            return self.epochs.begins_anew(after, who)
        held = frozenset(lease for lease in o.held if lease.token != r.token)
        after = with_operator(after, who, version=after.redis.version, held=held)
        return with_hand(after, who, r.job, idle) if o.hands[r.job].token == r.token else after

    def _creating(self, s: State, who: int, o: Operator, at: int, hand: Hand) -> Iterator[Step]:
        assert hand.job is not None
        r = Request("create", o.epoch, at, hand.job, hand.token)
        yield from self._delayed(s, who, r)
        if s.budget.refusals:
            after = with_hand(spend(s, refusals=1), who, at, hand._replace(doing="refused"))
            yield Step("API server", f"refuses the application of job{at}: a quota", after, fault=True)
        after, answer = land(s, r, self.design)
        if answer == "taken":
            return  # by another's application: it is told, and tried again
        if answer == "refused by policy":
            yield Step(
                NAMES[who],
                f"the application of job{at} is refused: steps down",
                self.epochs.deposed(after, who),
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

    def _refused(self, s: State, who: int, o: Operator, at: int, hand: Hand) -> Iterator[Step]:
        """It is tried again, until the job's patience is over."""
        assert hand.job is not None
        assert hand.token is not None
        again = with_hand(s, who, at, hand._replace(doing="creating"))
        yield Step(NAMES[who], f"tries to create the application of job{at} again", again)
        job = s.jobs[at]
        if job is None or (job.uid, job.token) != (hand.job.uid, hand.token):
            return
        if o.unsure and self.design.unanswered_create_counts:
            if s.holder == who:
                what = "has a create without an answer: new epoch before its intent is withdrawn"
                yield Step(NAMES[who], what, self.epochs.claimed(s, who))
        else:
            # The attempt's number is used up: the next one has another name.
            after = with_job(s, at, job._replace(phase="waiting", token=None, leased=""))
            what = f"withdraws the intent of job{at}: its application is refused"
            yield Step(NAMES[who], what, with_hand(after, who, at, IDLE))

    def _noting(self, s: State, who: int, o: Operator, at: int, hand: Hand) -> Iterator[Step]:
        """Only in the mutation that creates first: the status is written after the application."""
        now = s.jobs[at]
        ours = now is not None and hand.job is not None and (now.uid, now.phase) == (hand.job.uid, "waiting")
        after = with_job(s, at, hand.job) if ours and o.epoch >= s.enforced else s
        yield Step(NAMES[who], f"notes the attempt in the status of job{at}", with_hand(after, who, at, IDLE))

    def _mend(self, s: State, who: int, o: Operator, at: int) -> Iterator[Step]:
        """An intent without an application: a leader before me was stopped between the two."""
        job = s.jobs[at]
        if job is None or not self.design.intent_before_create:
            return
        if job.phase != "granted":
            yield from self._adopt(s, who, o, at, job)
            return
        key = Key(at, job.uid, job.attempt)
        there = s.run(key)
        if there is not None and self._is_seen(there, job):
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

    def _adopt(self, s: State, who: int, o: Operator, at: int, job: Job) -> Iterator[Step]:
        """An application whose intent went with an API server that went back."""
        run = s.run(Key(at, job.uid, job.attempt + 1))
        if job.phase != "waiting" or not self._unintended(run) or o.epoch < s.enforced:
            return
        assert run is not None
        if any(lease.token == run.token for lease in o.held):
            intended_again = job._replace(
                phase="granted", attempt=run.key.attempt, token=run.token, leased=run.spec
            )
            what = f"writes the intent of job{at} again, as its application tells it"
            yield Step(NAMES[who], what, with_job(s, at, intended_again))

    def _unintended(self, run: Run | None) -> bool:
        if run is None or not self.setting.budget.api_restores or run.token == FOREIGN:
            return False
        return tells(run, self.design)

    def _is_seen(self, there: Run, job: Job) -> bool:
        """An application of this attempt, or what is left of it."""
        if there.token != job.token:
            return not self.design.own_application_known
        return there.app != "gone" or there.pod == "gated" or tells(there, self.design)

    def _withdraw(self, s: State, who: int, o: Operator, at: int, job: Job) -> Iterator[Step]:
        if o.epoch < s.enforced:
            return
        used_up = s.run(Key(at, job.uid, job.attempt)) is not None
        left = job.attempt if used_up else job.attempt - 1
        after = with_job(s, at, job._replace(phase="waiting", attempt=left, token=None, leased=""))
        yield Step(NAMES[who], f"withdraws the intent of job{at}", after)

    def _sweep(self, s: State, who: int, o: Operator) -> Iterator[Step]:
        """Release is told by state, never by an event: a lease that nothing in Kubernetes stands for."""
        claimed, written = self._stands_for(s, o)
        for lease in sorted(o.held, key=lambda lease: lease.key):
            r = self._release_of(o, lease)
            if lease.token in s.redis.unexplained:
                run = s.run(lease.key)
                dead = with_run(s, run._replace(process="dead")) if run else s
                what = f"says that the driver of {lease.key} is dead, and revokes its lease"
                yield Step("human", what, self._released(dead, who, r))
            elif lease.token not in claimed:
                yield from self._delayed(s, who, r)
                yield Step(NAMES[who], f"releases the lease of {lease.key}", self._released(s, who, r))
            elif s.budget.watch_lags and not self.design.own_writes_seen and lease.token in written:
                what = f"doesn't see what {lease.key} holds: its watch lags; releases the lease"
                after = self._released(spend(s, watch_lags=1), who, r)
                yield Step(NAMES[who], what, after, fault=True)

    @staticmethod
    def _release_of(o: Operator, lease: Lease) -> Request:
        job, uid, attempt = lease.key
        return Request("release", o.epoch, job, Job(uid, lease.spec, attempt=attempt - 1), lease.token)

    def _stands_for(self, s: State, o: Operator) -> tuple[set[Token | None], set[Token | None]]:
        """Tokens for which there is something, and those of them that don't stand for this leader's unfinished work alone."""
        claimed: set[Token | None] = {
            intent_of(at, job).token for at, job in enumerate(s.jobs) if job and job.phase == "granted"
        }
        claimed |= {run.token for run in s.runs if tells(run, self.design)}
        if not self.design.death_proved:
            claimed -= {run.token for run in s.runs if run.app in ("ended", "gone")}
        written = claimed - {hand.token for hand in o.hands}
        if self.design.hands_counted:
            claimed |= {hand.token for hand in o.hands if hand.token}
        claimed |= s.redis.unexplained
        return claimed, written
