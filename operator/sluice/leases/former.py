"""What Redis holds, whoever wrote it: read before a rebuild, and by people."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from redis.asyncio import Redis

from sluice.leases.keys import Keys
from sluice.leases.model import Epochs, Grant, Lease


@dataclass(frozen=True)
class Former:
    """As it was at one moment."""

    installation: str | None = None
    """Whose leases these are; None if nobody has rebuilt it yet."""
    epoch: int = 0
    beat: int = 0
    """Of the leader, when it last told."""
    adopted_from: str | None = None
    """The installation that these leases were granted by, if this one has taken them over and not rebuilt them yet."""
    values: Mapping[str, str] = field(default_factory=dict)
    """The leases' lines by their holders."""

    @property
    def grants(self) -> list[Grant]:
        """ValueError if one of them can't be read."""
        return [_grant(holder, value) for holder, value in self.values.items()]

    @property
    def hints(self) -> list[Lease]:
        """As far as it can be read, of which none is believed alone."""
        found = []
        for value in self.values.values():
            with contextlib.suppress(ValueError, RecursionError):
                found.append(Lease.from_json(value.split("\n", 2)[-1]))
        return found


async def former(redis: "Redis", keys: Keys) -> Former:
    async with redis.pipeline(transaction=True) as asked:
        for key in (keys.installation, keys.epoch, keys.beat, keys.adopted):
            asked.get(key)
        asked.hgetall(keys.leases)
        installation, epoch, beat, adopted, values = await asked.execute()
    return Former(installation, int(epoch or 0), int(beat or 0), adopted, values)


def token_in(text: str) -> int:
    """As scripts answer it: epoch and counter."""
    epoch, counter = text.split(" ")
    return Epochs.token(int(epoch), int(counter))


def _grant(holder: str, value: str) -> Grant:
    try:
        token, _, record = value.split("\n", 2)
        return Grant(Lease.from_json(record), token_in(token))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the lease of {holder} can't be read: {error}") from error
