"""Remembers what was last told of each object, so that it isn't told again until it changes."""

import logging
from collections.abc import Callable


class ChangeDeduplication:
    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        """What was last told, by uid."""

    def is_news(self, uid: str, said: str) -> bool:
        """Whether this differs from what was last told; it counts as told from then on."""
        before, self._told[uid] = self._told.get(uid), said
        return before != said

    def warns(self, logger: logging.Logger, uid: str, said: str) -> bool:
        """Warns of it if it is news, and returns whether it is."""
        is_news = self.is_news(uid, said)
        if is_news:
            logger.warning("%s", said)
        return is_news

    def forget(self, uid: str) -> None:
        """Forgets an object: all is well with it, or it is gone."""
        self._told.pop(uid, None)

    def forget_unless(self, wanted: Callable[[str], bool]) -> None:
        self._told = {uid: said for uid, said in self._told.items() if wanted(uid)}
