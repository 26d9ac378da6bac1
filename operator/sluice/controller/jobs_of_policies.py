"""Which jobs each policy has made, as they were last seen."""

from collections import Counter

from sluice.api.base import Json
from sluice.kube.mirror import uid_of
from sluice.lifecycle.keeping import policy_of


class JobsOfPolicies:
    """By the policy's uid: one that is created again has jobs of its own."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, Json]] = {}
        self._changes: Counter[str] = Counter()

    def of(self, policy_uid: str) -> tuple[Json, ...]:
        return tuple(self._of.get(policy_uid, {}).values())

    def changes(self, policy_uid: str) -> int:
        """How often any of them has changed, so that whoever remembers it sees that there is something to look at."""
        return self._changes[policy_uid]

    def follow(self, before: Json | None, now: Json | None) -> None:
        for body, is_there in ((before, False), (now, True)):
            policy = None if body is None else policy_of(body)
            if body is None or policy is None:
                continue
            self._changes[policy] += 1
            jobs = self._of.setdefault(policy, {})
            if is_there:
                jobs[uid_of(body)] = body
            else:
                jobs.pop(uid_of(body), None)
            if not jobs:
                del self._of[policy]
