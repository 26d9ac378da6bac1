"""Jobs whose specs nobody has read yet: reading takes milliseconds of a task that has others to look after, so namespaces take
turns, and nobody waits behind thousands that came before into another one."""


class Unread:
    def __init__(self) -> None:
        self._turns: dict[str, dict[str, None]] = {}
        """By namespace, in the order in which they came."""

    def __bool__(self) -> bool:
        return bool(self._turns)

    def add(self, uid: str, namespace: str) -> None:
        self._turns.setdefault(namespace, {})[uid] = None

    def take(self) -> str:
        namespace = next(iter(self._turns))
        turns = self._turns.pop(namespace)
        uid = next(iter(turns))
        del turns[uid]
        if turns:
            self._turns[namespace] = turns  # behind the other namespaces
        return uid
