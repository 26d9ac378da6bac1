"""An operator with several requests under way: each is sent, lands and is answered, and anything may come in between.

One task decides: it sends grants and releases to Redis, one after another. Workers beside it write to the API server,
for different jobs at once, and in order within one job.
"""

from collections.abc import Iterator

from protocol.grants.epochs import IDLE, NAMES
from protocol.grants.operators import Operators
from protocol.grants.servers import intended, land, left_by_grant, write
from protocol.grants.state import (
    Hand,
    Job,
    Key,
    Lease,
    Operator,
    Request,
    Sent,
    State,
    Token,
    Version,
    Write,
    spend,
    with_hand,
    with_operator,
    with_run,
)
from protocol.search import Step

REDIS = ("grant", "release")


def told(r: Request | Write) -> str:
    if isinstance(r, Request) and r.kind == "release":
        return f"release of the lease of {Key(r.job, r.seen.uid, r.seen.attempt + 1)}"
    if isinstance(r, Request):
        return f"{r.kind} for job{r.job}"
    if r.kind == "status":
        return f"status of job{r.job}"
    return f"write to {r.key} ({', '.join(f'{what}: {to}' for what, to in r.changes)})"


class Workers(Operators):
    def steps(self, s: State) -> Iterator[Step]:
        yield from super().steps(s)
        for who, operator in enumerate(s.operators):
            dead = self.setting.dead_leaders and s.holder != who
            for sent in sorted_by_telling(operator.under_way):
                if sent.answer is None:
                    yield from self._lands(s, who, sent, dead)

    # The network, and the servers

    def _lands(self, s: State, who: int, sent: Sent, dead: bool) -> Iterator[Step]:
        if s.budget.refusals and sent.request.kind == "create":
            after = self._with_answer(spend(s, refusals=1), who, sent, "refused")
            yield Step("API server", f"refuses the {told(sent.request)}: a quota", after, fault=True)
        after, answer = self._landed(s, sent.request)
        what = f"the {told(sent.request)} lands: {answer}"
        yield Step("network", what, self._with_answer(after, who, sent, answer), fault=dead)

    @staticmethod
    def _with_answer(s: State, who: int, sent: Sent, answer: object) -> State:
        others = s.operators[who].under_way - {sent}
        return with_operator(s, who, under_way=others | {sent._replace(answer=answer)})

    def _landed(self, s: State, r: Request | Write) -> tuple[State, object]:
        if isinstance(r, Write):
            return write(s, r, self.design)
        if r.kind == "release":
            after, answer = land(s, r, self.design)
            return after, answer if answer != "ok" else (s.redis.version, after.redis.version)
        after, answer = land(s, r, self.design)
        if r.kind == "create":
            after = self._born(s, after, Key(r.job, r.seen.uid, r.seen.attempt))
        return after, answer

    @staticmethod
    def _born(before: State, after: State, key: Key) -> State:
        """What is sent to the one before under this name doesn't fit the new one."""
        there, born = before.run(key), after.run(key)
        again = there is not None and there.app == "gone" and born is not None and born.app == "new"
        return with_run(after, born._replace(birth=born.birth + 1)) if again and born else after

    # The leader

    def _lead(self, s: State, who: int, o: Operator) -> Iterator[Step]:
        if s.redis.epoch > o.epoch:
            yield Step(NAMES[who], "finds a newer epoch in Redis and steps down", self.epochs.deposed(s, who))
        shown_old = self._shown_what_went_back(s, o)
        if not o.under_way or not self.design.rebuild_waits:
            yield from self._begin_anew(s, who, o, shown_old)
        for sent in sorted_by_telling(o.under_way):
            if sent.answer is not None:
                yield self._answered(s, who, o, sent)
            else:
                yield from self._unanswered(s, who, o, sent)
        if o.mistrusts:
            return
        for at in range(len(s.jobs)):
            yield from self._work(s, who, o, at, shown_old)
        if shown_old:
            return
        if s.redis.epoch == o.epoch:
            yield from self._releases(s, who, o)
        for run in s.runs:
            if not self._at_work(o, run.key.job, run.key.uid):
                yield from self._apart(s, who, self.ending.steps(s, who, o, run))

    def _begin_anew(self, s: State, who: int, o: Operator, shown_old: bool) -> Iterator[Step]:
        asked = any(sent.request.kind in REDIS for sent in o.under_way)
        if o.mistrusts:
            yield Step(NAMES[who], "doesn't trust its table: new epoch", self.epochs.begins_anew(s, who))
        elif s.redis.epoch <= o.epoch and self._forgot(s, o) and not asked:
            yield Step(NAMES[who], "notices that Redis forgot: new epoch", self.epochs.begins_anew(s, who))
        if shown_old:
            what = "notices that the API server went back: new epoch"
            yield Step(NAMES[who], what, self.epochs.begins_anew(s, who))

    def _at_work(self, o: Operator, at: int, uid: int) -> bool:
        """Whether a worker is on this job, or the deciding task asks for its lease."""
        hand = o.hands[at]
        about_to = hand.job is not None and hand.job.uid == uid
        return self._under_way(o, at, uid) or (about_to and self.design.one_worker_a_job)

    def _under_way(self, o: Operator, at: int, uid: int) -> bool:
        sent = [
            one.request
            for one in o.under_way
            if one.request.kind != "release" and (one.request.job, uid_of(one.request)) == (at, uid)
        ]
        return len(sent) >= (1 if self.design.one_worker_a_job else 2)

    def _work(self, s: State, who: int, o: Operator, at: int, shown_old: bool) -> Iterator[Step]:
        hand = o.hands[at]
        if hand.job is not None and not self._under_way(o, at, hand.job.uid):
            yield from self._hand_sends(s, who, o, at, hand)
        job = s.jobs[at]
        if job is None or shown_old or self._at_work(o, at, job.uid):
            return
        if hand.doing == "idle" and self._may_ask_redis(o):
            yield from self._decide(s, who, o, at)
        yield from self._apart(s, who, self._mend(s, who, o, at))

    def _may_ask_redis(self, o: Operator) -> bool:
        return not self.design.redis_in_order or not any(sent.request.kind in REDIS for sent in o.under_way)

    def _hand_sends(self, s: State, who: int, o: Operator, at: int, hand: Hand) -> Iterator[Step]:
        assert hand.job is not None
        if hand.doing == "refused":
            yield from self._apart(s, who, self._refused(s, who, o, at, hand))
            return
        r = Request("intent" if hand.doing == "intending" else "create", o.epoch, at, hand.job, hand.token)
        if self._landed(s, r)[1] != "taken":  # by another's application: it is told, and tried again
            yield self._sends(s, who, r)

    def _in_the_way(self, o: Operator, at: int, job: Job) -> list[Lease]:
        leases = super()._in_the_way(o, at, job)
        if self.design.granted_counts:
            return leases
        unwritten = {hand.token for hand in o.hands if hand.doing == "intending"}
        return [lease for lease in leases if lease.token not in unwritten]

    def _decided(self, s: State, who: int, at: int, job: Job, version: Version) -> State:
        return self._sent(s, who, Request("grant", s.operators[who].epoch, at, job, version=version))

    @staticmethod
    def _sent(s: State, who: int, r: Request | Write) -> State:
        under_way = s.operators[who].under_way
        return with_operator(s, who, under_way=under_way | {Sent(r, twin=Sent(r) in under_way)})

    def _sends(self, s: State, who: int, r: Request | Write) -> Step:
        return Step(NAMES[who], f"sends the {told(r)}", self._sent(s, who, r))

    def _apart(self, s: State, who: int, steps: Iterator[Step]) -> Iterator[Step]:
        """What another model does in one step is sent here."""
        o = s.operators[who]
        for step in steps:
            after: State = step.state  # type: ignore[assignment]
            spent = s._replace(budget=after.budget)
            name, what = step.who, step.what
            if after.operators[who].epoch != o.epoch:
                if not o.under_way or not self.design.rebuild_waits:
                    yield step
            elif after.jobs != s.jobs:
                r = _status_write(o.epoch, s, after)
                yield Step(name, f"{what} (sent)", self._sent(spent, who, r), step.fault)
            elif after.runs != s.runs:
                r = _objects_write(o.epoch, s, after)
                yield Step(name, f"{what} (sent)", self._sent(spent, who, r), step.fault)
            else:
                yield step

    def _releases(self, s: State, who: int, o: Operator) -> Iterator[Step]:
        claimed, _ = self._stands_for(s, o)
        for lease in sorted(o.held, key=lambda lease: lease.key):
            name = str(lease.key)
            r = self._release_of(o, lease)
            if lease.token in s.redis.unexplained:
                if self._may_ask_redis(o):
                    run = s.run(lease.key)
                    dead = with_run(s, run._replace(process="dead")) if run else s
                    what = f"says that the driver of {name} is dead, and revokes its lease"
                    yield Step("human", what, self._sent(dead, who, r))
            elif lease.token not in o.releasing:
                if lease.token not in claimed:
                    after = with_operator(s, who, releasing=o.releasing | {lease.token})
                    yield Step(NAMES[who], f"decides to release the lease of {name}", after)
            elif self._may_ask_redis(o):
                after = with_operator(s, who, releasing=o.releasing - {lease.token})
                if lease.token in claimed and self.design.release_looks_again:
                    yield Step(NAMES[who], f"looks again: something stands for the lease of {name}", after)
                elif Sent(r) not in o.under_way:
                    yield Step(NAMES[who], f"sends the {told(r)}", self._sent(after, who, r))

    # What becomes of a request

    def _unanswered(self, s: State, who: int, o: Operator, sent: Sent) -> Iterator[Step]:
        """Its sender waits no longer, and doesn't know. It may still land."""
        r = sent.request
        if not s.budget.late or r.kind not in self.setting.late or r in s.late:
            return
        after = spend(s, late=1)._replace(late=s.late | {r})
        after = with_operator(after, who, under_way=o.under_way - {sent})
        if r.kind == "create":
            after = with_operator(after, who, unsure=True)
        if r.kind in REDIS:
            after = with_operator(after, who, mistrusts=True)
        yield Step(NAMES[who], f"has no answer to the {told(r)}; it is delayed", after, fault=True)

    def _answered(self, s: State, who: int, o: Operator, sent: Sent) -> Step:
        r, answer = sent.request, sent.answer
        after = with_operator(s, who, under_way=o.under_way - {sent})
        what = f"is answered to the {told(r)}: {answer}"
        if answer == "refused by policy":
            return Step(NAMES[who], f"{what}: steps down", self.epochs.deposed(after, who))
        if isinstance(r, Write):
            return Step(NAMES[who], what, self._written(after, who, r, answer))
        return Step(NAMES[who], what, getattr(self, f"_{r.kind}_answered")(after, who, r, answer))

    def _grant_answered(self, s: State, who: int, r: Request, answer: object) -> State:
        if not isinstance(answer, Token):
            return with_operator(s, who, mistrusts=True)
        key = Key(r.job, r.seen.uid, r.seen.attempt + 1)
        lease = Lease(key, answer, r.seen.spec, r.version)
        left = left_by_grant(answer, key, self.design)
        s = with_operator(s, who, version=left, held=s.operators[who].held | {lease})
        return with_hand(s, who, r.job, Hand("intending", r.seen, token=answer))

    def _release_answered(self, s: State, who: int, r: Request, answer: object) -> State:
        o = s.operators[who]
        if not isinstance(answer, tuple):
            return with_operator(s, who, mistrusts=True)
        found, left = answer
        if found != o.version and self.design.amnesia_noticed:
            return with_operator(s, who, mistrusts=True)
        held = frozenset(lease for lease in o.held if lease.token != r.token)
        return with_operator(s, who, version=left, held=held)

    def _intent_answered(self, s: State, who: int, r: Request, answer: object) -> State:
        """Where it can't be written nothing stands for the lease any more, and it is released like any other."""
        if s.operators[who].hands[r.job].token != r.token:
            return s
        then = Hand("creating", intended(r), token=r.token) if answer == "ok" else IDLE
        return with_hand(s, who, r.job, then)

    def _create_answered(self, s: State, who: int, r: Request, answer: object) -> State:
        hand = s.operators[who].hands[r.job]
        if hand.token != r.token:
            return s
        return with_hand(s, who, r.job, hand._replace(doing="refused") if answer == "refused" else IDLE)

    @staticmethod
    def _written(s: State, who: int, r: Write, answer: object) -> State:
        hand = s.operators[who].hands[r.job]
        withdrawn = r.kind == "status" and hand.doing == "refused" and answer == "ok"
        return with_hand(s, who, r.job, IDLE) if withdrawn else s


def sorted_by_telling(under_way: frozenset[Sent]) -> list[Sent]:
    return sorted(under_way, key=repr)


def uid_of(r: Request | Write) -> int:
    return r.uid if isinstance(r, Write) else r.seen.uid


def _status_write(epoch: int, s: State, after: State) -> Write:
    at = next(at for at, job in enumerate(s.jobs) if after.jobs[at] != job)
    seen, then = s.jobs[at], after.jobs[at]
    assert seen is not None
    return Write("status", epoch, at, seen.uid, seen, then)


def _objects_write(epoch: int, s: State, after: State) -> Write:
    there, then = next((a, b) for a, b in zip(s.runs, after.runs, strict=True) if a != b)
    changes = tuple((what, to) for what, to in then._asdict().items() if there._asdict()[what] != to)
    return Write(
        "objects", epoch, there.key.job, there.key.uid, key=there.key, birth=there.birth, changes=changes
    )
