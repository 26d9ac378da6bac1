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
        fresh = Operator("raising", epoch, hands=(IDLE,) * len(s.jobs))
        return with_operator(s, who, **fresh._asdict())._replace(lease_epoch=epoch, holder=who)

    def deposed(self, s: State, who: int) -> State:
        return with_operator(s, who, **Operator(hands=(IDLE,) * len(s.jobs))._asdict())

    def begins_anew(self, s: State, who: int) -> State:
        """What it knows of leases isn't sure any more. Only who leads may take a new epoch."""
        return self.claimed(s, who) if s.holder == who else self.deposed(s, who)
