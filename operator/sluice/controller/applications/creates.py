"""Records the creates of applications as this leader sent them: which were answered, and whether one may still land.

Nothing of it outlives the leader. For an intent that it only found, it does not know what its predecessors sent.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sluice.controller.process.retry_pauses import RetryPauses
from sluice.lifecycle.attempt.withdrawal import Creates

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0


@dataclass
class _Known:
    epoch: int
    """The epoch under which the last one was sent."""
    is_all: bool = False
    """Whether nobody else has sent any."""
    unanswered: int = 0
    is_made: bool = False
    """Whether an answer has said that the application exists."""
    refusal: str | None = None
    namespace_ends: bool = False


class CreateLog:
    """Keyed by the applications' names within their namespaces, which no two attempts share."""

    def __init__(self, clock: Callable[[], float], in_force: Callable[[], int | None]) -> None:
        """`in_force`: the epoch below which the API server refuses creates, so that none of them can land any more: 0 before there
        is one; None where it refuses none for that."""
        self._in_force = in_force
        self._known: dict[tuple[str, str], _Known] = {}
        self._refused: RetryPauses[tuple[str, str]] = RetryPauses(
            clock, first=FIRST_PAUSE, longest=LONGEST_PAUSE
        )

    def begins(self, namespace: str, name: str) -> None:
        """Begins with the grant: before it nobody had an intent to create anything for."""
        self._known.setdefault((namespace, name), _Known(self._in_force() or 0, is_all=True))

    def sends(self, namespace: str, name: str) -> None:
        """Notes a create before it is sent, so that whatever happens in between leaves it unanswered."""
        self._of(namespace, name).unanswered += 1

    def answered(
        self, namespace: str, name: str, *, refusal: str | None = None, namespace_ends: bool = False
    ) -> None:
        """Notes that a create made nothing; the next one is sent after a pause. `refusal`: it was definite. `namespace_ends`: and
        none is accepted there any more."""
        known = self._of(namespace, name)
        known.unanswered -= 1
        self._refused.tries((namespace, name))
        if refusal is not None:
            known.refusal, known.namespace_ends = refusal, namespace_ends

    def made(self, namespace: str, name: str, *, before: bool) -> None:
        """Notes an answer that says that the application exists. `before`: an earlier create has made it, which is one that had
        no answer if nobody else has sent any. Those that are left may land once the name is free. That is remembered where a new
        epoch ends it; otherwise it is left to how long a request may be under way, as the application keeps the name."""
        known = self._of(namespace, name)
        known.unanswered -= 1
        if before and known.is_all and not known.is_made and known.unanswered:
            known.unanswered -= 1
        known.is_made = True
        if not known.unanswered or not self.is_fenced:
            self.forget(namespace, name)

    def forget(self, namespace: str, name: str) -> None:
        """Forgets the creates: none can land any more, or the attempt is over."""
        self._known.pop((namespace, name), None)
        self._refused.forget((namespace, name))

    def of(self, namespace: str, name: str) -> Creates:
        known, is_fenced = self._current(namespace, name), self.is_fenced
        if known is None:
            return Creates(none_can_land=self._is_first_to_send, a_new_epoch_helps=is_fenced)
        is_due = self._refused.is_due((namespace, name))
        none_can_land = known.is_all and not known.unanswered
        return Creates(known.refusal, none_can_land, is_due, is_fenced, namespace_ends=known.namespace_ends)

    def seconds_left(self, namespace: str, name: str) -> float:
        """Seconds until the next create may be sent."""
        return self._refused.seconds_left((namespace, name))

    @property
    def is_fenced(self) -> bool:
        """Whether no create can land any more once a new epoch has begun."""
        return self._in_force() is not None

    def may_land(self, namespace: str, name: str, *, exists: bool) -> bool:
        """Whether a create of this leader's that had no answer may still land, once the name is free. `exists`: whether the
        application is or was there, which one of them has made, if no answer says who did."""
        known = self._current(namespace, name)
        if known is None:
            return self.is_fenced and not self._is_first_to_send
        has_landed = exists and known.is_all and not known.is_made
        return known.unanswered > has_landed

    def _of(self, namespace: str, name: str) -> _Known:
        known = self._current(namespace, name)
        if known is None:
            known = _Known(self._in_force() or 0, is_all=self._is_first_to_send)
            self._known[namespace, name] = known
        return known

    @property
    def _is_first_to_send(self) -> bool:
        """Whether all that others sent is refused."""
        return bool(self._in_force())

    def _current(self, namespace: str, name: str) -> _Known | None:
        """What is known of the creates of this epoch: those of older ones are refused, whoever sent them."""
        known, in_force = self._known.get((namespace, name)), self._in_force()
        if known is not None and in_force is not None and known.epoch < in_force:
            known.epoch, known.is_all, known.unanswered = in_force, True, 0
        return known
