"""A new leader: epoch, policy, lists, rebuild. The same way is gone by a leader that begins anew."""

from collections.abc import Iterator

from protocol.grants.epochs import NAMES, Epochs
from protocol.grants.evidence import application_tells, pod_tells
from protocol.grants.invariants import missed_by
from protocol.grants.state import (
    NEW,
    Lease,
    Operator,
    Redis,
    Setting,
    State,
    Token,
    intent_of,
    lease_of,
    spend,
    with_operator,
)
from protocol.search import Step

INTENTS, APPLICATIONS, PODS, TOMBSTONES = (
    f"listing {what}" for what in ("intents", "applications", "driver pods", "tombstones")
)


class Takeover:
    def __init__(self, setting: Setting, epochs: Epochs):
        self.setting = setting
        self.design = setting.design
        self.epochs = epochs

    def follow(self, s: State, who: int) -> Iterator[Step]:
        if s.holder == who:
            yield Step(NAMES[who], "takes the Lease again under a new epoch", self.epochs.claimed(s, who))
        elif s.budget.takeovers:
            after = self.epochs.claimed(spend(s, takeovers=1), who)
            yield Step(NAMES[who], "takes the Lease over: its holder was paused", after, fault=True)

    def steps(self, s: State, who: int, o: Operator) -> Iterator[Step]:
        name = NAMES[who]
        if s.floor > o.epoch or s.lease_epoch > o.epoch:  # it may see that late: it goes on until then
            yield Step(name, "sees a newer leader and steps down", self.epochs.deposed(s, who))
        if self.design.api_going_back_noticed and o.epoch <= s.went_back:
            what = "notices that the API server went back: new epoch"
            yield Step(name, what, self.epochs.begins_anew(s, who))
        elif o.role == "raising":
            if s.floor <= o.epoch:  # it replaces the version that it has read
                raised = s._replace(floor=o.epoch) if self.design.floor_raised else s
                after = with_operator(raised, who, role="probing")
                yield Step(name, f"raises the policy's parameter to {o.epoch}", after)
        elif o.role == "probing":
            if (
                s.enforced >= o.epoch
                or self.setting.lagging_policy
                or not (self.design.probed and self.design.floor_raised)
            ):
                after = with_operator(s, who, role=self._lists[0])
                yield Step(name, "has probed: older epochs are refused", after)
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
        lists = (INTENTS, APPLICATIONS, PODS, TOMBSTONES)
        if not self.design.tombstones_listed_last:
            lists = (TOMBSTONES, INTENTS, APPLICATIONS, PODS)
        if not self.design.intents_listed_first:
            lists = (APPLICATIONS, PODS, INTENTS, TOMBSTONES)
        return (*lists, "rebuilding")

    def _listed(self, s: State, what: str) -> frozenset[Lease]:
        if what == INTENTS:
            return frozenset(
                intent_of(at, job) for at, job in enumerate(s.jobs) if job and job.phase == "granted"
            )
        if what == TOMBSTONES:
            return frozenset(lease_of(run) for run in s.runs if run.tombstone)
        tells = application_tells if what == APPLICATIONS else pod_tells
        return frozenset(lease_of(run) for run in s.runs if tells(run, self.design))

    def _rebuild(self, s: State, who: int, o: Operator) -> Step:
        if s.redis.epoch > o.epoch or (s.redis.epoch == o.epoch and self.design.rebuild_raises_epoch):
            what = "finds its epoch or a newer one in Redis and steps down"
            return Step(NAMES[who], what, self.epochs.deposed(s, who))
        leases, unexplained = self._whole(s, o)
        redis = Redis(o.epoch, NEW, leases, unexplained)
        after = s._replace(redis=redis, missed=missed_by(s, leases, self.design))
        after = with_operator(after, who, role="leading", found=frozenset(), held=leases, version=NEW)
        keys = ", ".join(sorted(str(lease.key) for lease in leases)) or "nothing"
        return Step(NAMES[who], f"rebuilds Redis under epoch {o.epoch} with {keys}, and leads", after)

    def _whole(self, s: State, o: Operator) -> tuple[frozenset[Lease], frozenset[Token]]:
        """What Kubernetes shows, and what only Redis knows and a person must judge. If the API server went back, it shows
        attempts that ended since: only those hold leases that Redis knows of."""
        explained = {lease.token for lease in o.found}
        remembered = s.redis.unexplained if self.design.unexplained_remembered else frozenset()
        if not (self.design.api_going_back_noticed and s.went_back):
            kept = frozenset(lease for lease in s.redis.leases if lease.token in remembered - explained)
            return o.found | kept, frozenset(lease.token for lease in kept)
        if not self.design.unexplained_held:
            return frozenset(lease for lease in s.redis.leases if lease.token in explained), frozenset()
        return s.redis.leases, frozenset(lease.token for lease in s.redis.leases) - explained
