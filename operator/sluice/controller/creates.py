"""Records the creates of applications as this leader sent them: which were answered, and whether one may still land.

Nothing of it outlives the leader. For an intent that it only found, it does not know what its predecessors sent.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sluice.controller.pauses import Pauses
from sluice.lifecycle.withdrawal import Creates

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0


@dataclass
class _Known:
    is_all: bool = False
    """Whether nobody else has sent any."""
    unanswered: int = 0
    refusal: str | None = None


class CreateLog:
    """Keyed by the applications' names within their namespaces, which no two attempts share."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._known: dict[tuple[str, str], _Known] = {}
        self._refused: Pauses[tuple[str, str]] = Pauses(clock, first=FIRST_PAUSE, longest=LONGEST_PAUSE)

    def begins(self, namespace: str, name: str) -> None:
        """Begins with the grant: before it nobody had an intent to create anything for."""
        self._known.setdefault((namespace, name), _Known(is_all=True))

    def sends(self, namespace: str, name: str) -> None:
        """Notes a create before it is sent, so that whatever happens in between leaves it unanswered."""
        self._of(namespace, name).unanswered += 1

    def answered(self, namespace: str, name: str, *, refusal: str | None = None) -> None:
        """Notes that a create made nothing; the next one is sent after a pause. `refusal`: it was definite, and asking again
        may help."""
        known = self._of(namespace, name)
        known.unanswered -= 1
        self._refused.tries((namespace, name))
        if refusal is not None:
            known.refusal = refusal

    def forget(self, namespace: str, name: str) -> None:
        """Forgets the creates: the application exists, or its attempt is over."""
        self._known.pop((namespace, name), None)
        self._refused.forget((namespace, name))

    def of(self, namespace: str, name: str) -> Creates:
        known = self._known.get((namespace, name))
        if known is None:
            return Creates()
        is_due = self._refused.is_due((namespace, name))
        return Creates(known.refusal, known.is_all and not known.unanswered, is_due)

    def seconds_left(self, namespace: str, name: str) -> float:
        """Seconds until the next create may be sent."""
        return self._refused.seconds_left((namespace, name))

    def unanswered(self, namespace: str, name: str) -> int:
        """How many of this leader's creates had no answer."""
        known = self._known.get((namespace, name))
        return 0 if known is None else known.unanswered

    def _of(self, namespace: str, name: str) -> _Known:
        return self._known.setdefault((namespace, name), _Known())
