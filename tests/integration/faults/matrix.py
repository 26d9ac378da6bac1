"""Which faults can befall which requests, and the rounds in which they do."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice, zip_longest
from random import Random

from integration.faults.misfortunes import Misfortune
from integration.faults.plan import Fault, What

_SCRIPTS = ("grant", "release", "rebuild", "beat", "former", "reach")
_KILLS = (What.KILLED_BEFORE, What.KILLED_AFTER)
_TROUBLE = (What.FAILS, What.THROTTLED, What.SLOW)
_WRITE = (
    *(*_KILLS, What.LANDS_AFTER_DEATH, What.ANSWER_LOST, What.ANSWERED_TOO_LATE),
    *(What.LANDS_LATE, What.LANDS_TWICE, *_TROUBLE, What.WATCHES_DROP),
)
_READ = (What.KILLED_BEFORE, What.ANSWER_LOST, *_TROUBLE)
_UNHEEDED = ("create events", "get what is served")
"""Nothing of the protocol rests on them."""

KILLS = 2
"""In one round; each costs the start of a process."""
TROUBLES = 9


def what_may_befall(point: str) -> Sequence[What]:
    verb, _, about = point.partition(" ")
    if point in _UNHEEDED:
        return ()
    if verb == "redis":
        is_script = about.split(" ")[0] in _SCRIPTS
        script = (What.LANDS_AFTER_DEATH, What.LANDS_LATE, What.LANDS_TWICE) if is_script else ()
        return (*_KILLS, What.ANSWER_LOST, What.FAILS, What.SLOW, *script)
    if verb in ("get", "list", "try"):
        return _READ
    if verb == "watch":
        return (*_READ, What.WATCHES_DROP)
    changes = verb in ("patch", "replace")
    return (*_WRITE, What.CONFLICTS) if changes else _WRITE


@dataclass(frozen=True)
class PlannedRound:
    faults: tuple[Fault, ...] = ()
    misfortune: Misfortune | None = None


def every_kind(usual: Mapping[str, int], takeover: Mapping[str, int]) -> list[Fault]:
    """Each fault that can befall each kind of request, once. Given are the requests of a round in which nothing happens, and of
    one in which a leader is replaced."""
    points = sorted({*usual, *takeover})
    return [Fault(point, 1, what) for point in points for what in what_may_befall(point)]


def rounds_of(
    faults: Iterable[Fault],
    usual: Mapping[str, int],
    misfortunes: Iterable[Misfortune | None],
    chance: Random,
) -> Iterator[PlannedRound]:
    """Mixes them, so that a round has some of either sort, each at some request of its kind, and one of the misfortunes; what only
    a new leader does needs a leader that is killed."""
    placed = [_somewhere(fault, usual, chance) for fault in faults]
    chance.shuffle(placed)
    kills = _by(KILLS, [fault for fault in placed if fault.what.kills])
    troubles = _by(TROUBLES, [fault for fault in placed if not fault.what.kills])
    ahead = cycle(misfortunes)
    for deadly, others in zip_longest(kills, troubles):
        some = (*(deadly or ()), *(others or ()))
        is_of_takeover = any(fault.point not in usual for fault in some)
        brings_one = any(fault.what.kills and fault.point in usual for fault in some)
        must_be_killed = is_of_takeover and not brings_one
        yield PlannedRound(some, Misfortune.LEADER_KILLED if must_be_killed else next(ahead))


def _somewhere(fault: Fault, usual: Mapping[str, int], chance: Random) -> Fault:
    most = min(usual.get(fault.point, 1), 8)
    return Fault(fault.point, chance.randint(1, most), fault.what)


def _by(count: int, faults: Iterable[Fault]) -> list[list[Fault]]:
    left, found = iter(faults), []
    while some := list(islice(left, count)):
        found.append(some)
    return found
