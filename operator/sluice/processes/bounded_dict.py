"""A dict that keeps what was put into it last."""

from collections import OrderedDict
from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class BoundedDict(OrderedDict[_K, _V]):
    """Callers with several threads hold a lock of their own."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def put(self, key: _K, value: _V) -> None:
        """Puts it last; the first goes where there are too many."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)
