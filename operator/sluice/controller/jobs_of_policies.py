"""Which jobs each policy has made, as they were last seen."""

from collections import Counter

from sluice.api.base import Json
from sluice.kube.mirror import uid_of
from sluice.lifecycle.keeping import policy_of

_Policy = tuple[str, str]
"""Its namespace and its uid. A job of another namespace is not its own, whatever it says of its owner; one that is created again
has jobs of its own."""


class JobsOfPolicies:
    def __init__(self) -> None:
        self._of: dict[_Policy, dict[str, Json]] = {}
        self._changes: Counter[_Policy] = Counter()

    def of(self, policy: Json) -> tuple[Json, ...]:
        return tuple(self._of.get(_key(policy, uid_of(policy)), {}).values())

    def changes(self, policy: Json) -> int:
        """How often any of them has changed, so that whoever remembers it sees that there is something to look at."""
        return self._changes[_key(policy, uid_of(policy))]

    def follow(self, before: Json | None, now: Json | None) -> None:
        for body, is_there in ((before, False), (now, True)):
            uid = None if body is None else policy_of(body)
            if body is None or uid is None:
                continue
            policy = _key(body, uid)
            self._changes[policy] += 1
            jobs = self._of.setdefault(policy, {})
            if is_there:
                jobs[uid_of(body)] = body
            else:
                jobs.pop(uid_of(body), None)
            if not jobs:
                del self._of[policy]


def _key(body: Json, policy_uid: str) -> _Policy:
    """`body`: of the policy, or of anything in its namespace."""
    return body["metadata"]["namespace"], policy_uid
