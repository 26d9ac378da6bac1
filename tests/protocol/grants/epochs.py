"""How a leader begins: with an epoch above all that anybody knows of."""

from protocol.grants.state import Hand, Operator, Setting, State, with_operator

NAMES = ("operator A", "operator B")
IDLE = Hand()


class Epochs:
    def __init__(self, setting: Setting):
        self.design = setting.design

    def claimed(self, s: State, who: int) -> State:
        epochs = [s.lease_epoch]
        if self.design.epoch_from_everywhere:
            epochs += [s.floor, *(run.token.epoch for run in s.runs if run.app != "gone" or run.tombstone)]
            epochs += [job.token.epoch for job in s.jobs if job and job.token]
            epochs += [s.redis.epoch] if self.design.redis_epoch_counts else []
        epoch = max(epochs) + 1
        before = s.operators[who]
        # What it has decided on may outlive its epoch: nothing empties the queue of releases.
        fresh = Operator("raising", epoch, hands=(IDLE,) * len(s.jobs), releasing=before.releasing)
        if not self.design.rebuild_waits:
            fresh = fresh._replace(hands=before.hands, under_way=before.under_way)
        return with_operator(s, who, **fresh._asdict())._replace(lease_epoch=epoch, holder=who)

    def deposed(self, s: State, who: int) -> State:
        sent = s.operators[who].under_way
        s = s._replace(late=s.late | {one.request for one in sent if one.answer is None})
        return with_operator(s, who, **Operator(hands=(IDLE,) * len(s.jobs))._asdict())

    def begins_anew(self, s: State, who: int) -> State:
        """What it knows of leases isn't sure any more. Only who leads may take a new epoch."""
        return self.claimed(s, who) if s.holder == who else self.deposed(s, who)
