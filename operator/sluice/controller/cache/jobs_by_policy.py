"""Which jobs each policy has made, as they were last seen."""

from itertools import count

from sluice.api.base import Json
from sluice.kube.mirror import uid_of
from sluice.lifecycle.job.pruned_objects import policy_of

_Policy = tuple[str, str]
"""Its namespace and its uid. A job of another namespace is not its own, whatever it says of its owner; one that is created again
has jobs of its own."""


class JobsByPolicy:
    def __init__(self) -> None:
        self._of: dict[_Policy, dict[str, Json]] = {}
        self._changes: dict[_Policy, int] = {}
        """The number of the last change of a policy's jobs, where it has any: no two changes have one number."""
        self._numbers = count(1)

    def of(self, policy: Json) -> tuple[Json, ...]:
        return tuple(self._of.get(_key(policy, uid_of(policy)), {}).values())

    def changes(self, policy: Json) -> int:
        """Another number than before where any of them has changed, for whoever remembers the one before."""
        return self._changes.get(_key(policy, uid_of(policy)), 0)

    def follow(self, before: Json | None, now: Json | None) -> None:
        for body, is_there in ((before, False), (now, True)):
            uid = None if body is None else policy_of(body)
            if body is None or uid is None:
                continue
            policy = _key(body, uid)
            self._changes[policy] = next(self._numbers)
            jobs = self._of.setdefault(policy, {})
            if is_there:
                jobs[uid_of(body)] = body
            else:
                jobs.pop(uid_of(body), None)
            if not jobs:
                del self._of[policy], self._changes[policy]


def _key(body: Json, policy_uid: str) -> _Policy:
    """`body`: of the policy, or of anything in its namespace."""
    return body["metadata"]["namespace"], policy_uid
