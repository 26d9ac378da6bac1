"""Reads what Redis holds, whoever wrote it: it is read before a rebuild, and by people; or taken over from an installation that is
gone for good."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from sluice.leases import scripts
from sluice.leases.keys import Keys
from sluice.leases.model import Epochs, Grant, Lease, number_in
from sluice.leases.reach import Reach

_MEND = "delete that key, and the lease table is rebuilt from Kubernetes"


@dataclass(frozen=True)
class StoredState:
    """The table as it was at one moment."""

    installation: str | None = None
    """The installation whose leases these are; None if nobody has rebuilt it yet."""
    epoch: int = 0
    beat: int = 0
    """The leader's beat, when it last told."""
    adopted_from: str | None = None
    """The installation that granted these leases, if this one has taken them over and not rebuilt them yet."""
    values: Mapping[str, str] = field(default_factory=dict)
    """The leases' lines by their holders."""

    @property
    def grants(self) -> list[Grant]:
        """The grants; raises ValueError if one of them can't be read."""
        return [_grant(holder, value) for holder, value in self.values.items()]

    @property
    def hints(self) -> list[Lease]:
        """What can be read of them; none of it is believed alone."""
        found = []
        for value in self.values.values():
            with contextlib.suppress(ValueError, RecursionError):
                found.append(Lease.from_json(value.split("\n", 2)[-1].partition("\n")[0]))
        return found

    @property
    def readable(self) -> dict[str, Grant]:
        """The grants that can be read, by their holders."""
        found = {}
        for holder, value in self.values.items():
            with contextlib.suppress(ValueError):
                found[holder] = _grant(holder, value)
        return found


class DamagedTableError(ValueError):
    """Somebody else wrote over what only the operator writes, so that nothing tells which epoch Redis is in."""


async def former(redis: "Redis", keys: Keys) -> StoredState:
    script = redis.register_script(scripts.FORMER)
    try:
        _, installation, epoch, beat, adopted, leases = await script(keys=keys.all)
    except ResponseError as error:
        if "WRONGTYPE" not in str(error):
            raise
        raise DamagedTableError(f"somebody wrote over a key of {keys.prefix}: {error}; {_MEND}") from error
    except UnicodeDecodeError as error:
        raise DamagedTableError(f"a key of {keys.prefix} does not hold text: {error}; {_MEND}") from error
    return StoredState(
        installation,
        _number(keys.epoch, epoch, most=Epochs.LAST),
        _number(keys.beat, beat),
        adopted,
        dict(zip(leases[::2], leases[1::2], strict=True)),
    )


class AdoptedMeanwhileError(Exception):
    """The table belongs neither to the installation that had it when it was looked at, nor to ours."""


async def adopt(redis: "Redis", keys: Keys, seen: StoredState, installation: str) -> None:
    """Takes the table over. Whoever leads the former installation is refused from now on; the next rebuild holds what nothing
    explains."""
    script = redis.register_script(scripts.ADOPT)
    answer = await script(keys=keys.all, args=[seen.installation or "", installation])
    if answer[0] != "ADOPTED":
        raise AdoptedMeanwhileError(
            f"it belongs to {answer[1] or 'nobody'} now, and belonged to {seen.installation or 'nobody'} a moment ago"
        )


def _number(key: str, text: str | None, **most: int) -> int:
    if text is None:
        return 0
    number = number_in(text, **most)
    if number is None:
        raise DamagedTableError(f"key {key} is {text[:40]!r}, which no operator wrote; {_MEND}")
    return number


def token_in(text: str) -> int:
    """The token as scripts answer it: epoch and counter."""
    epoch, counter = text.split(" ")
    return Epochs.token(int(epoch), int(counter))


def _grant(holder: str, value: str) -> Grant:
    try:
        token, _, record, *reach = value.split("\n", 3)
        return Grant(Lease.from_json(record), token_in(token), Reach.from_json(reach[0]) if reach else None)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the lease of {holder} cannot be read: {error}") from error
