"""Says who comes next: namespaces take turns, so that nobody waits behind thousands that came before into another one."""

from collections import OrderedDict


class FairQueue:
    def __init__(self) -> None:
        self._waiting: dict[str, OrderedDict[str, None]] = {}
        """Uids by namespace, in the order of their turns."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __contains__(self, uid: object) -> bool:
        return any(uid in waiting for waiting in self._waiting.values())

    def add(self, uid: str, namespace: str, *, before_others: bool = False) -> None:
        """`before_others`: of its namespace."""
        waiting = self._waiting.setdefault(namespace, OrderedDict())
        waiting[uid] = None
        if before_others:
            waiting.move_to_end(uid, last=False)

    def take(self) -> str:
        """Takes the next one, of which there must be one."""
        namespace = next(iter(self._waiting))
        waiting = self._waiting.pop(namespace)
        uid = next(iter(waiting))
        del waiting[uid]
        if waiting:
            self._waiting[namespace] = waiting  # behind the other namespaces
        return uid

    def ahead(self, uid: str, namespace: str) -> int:
        """How many of those that wait now have their turns before it."""
        if uid not in self._waiting.get(namespace, {}):
            return 0
        own = list(self._waiting[namespace]).index(uid)
        found, is_before = own, True
        for other, waiting in self._waiting.items():
            is_before = is_before and other != namespace
            if other != namespace:
                found += min(len(waiting), own + is_before)
        return found

    def drop(self, uid: str, namespace: str) -> None:
        """Drops it, if it still has a turn to come."""
        waiting = self._waiting.get(namespace)
        if waiting is not None:
            waiting.pop(uid, None)
        if not waiting:
            self._waiting.pop(namespace, None)
