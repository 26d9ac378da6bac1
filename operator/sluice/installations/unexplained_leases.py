"""Leases that no object explains, written down in the operator's namespace: they outlive Redis and the leader that found them,
until they are explained or revoked."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sluice.api import names
from sluice.kube.client import Kube
from sluice.kube.config_map import ConfigMap, Read
from sluice.leases.model import Epochs, Grant, Lease

MOST_IN_WORDS = 5


@dataclass(frozen=True)
class LeaseRecord:
    grant: Grant
    is_tombstone: bool = False
    """Whether its objects had to go though nothing proved that its driver is dead: what is still left of them explains nothing."""


class UnexplainedLeases:
    def __init__(self, kube: Kube, namespace: str, deployment: str) -> None:
        self._map = ConfigMap(kube, namespace, names.unexplained_leases(deployment))
        self._known: Read | None = None
        """As it was when it was last read or written."""

    async def read(self) -> list[LeaseRecord]:
        """Reads them; raises ValueError if one of them can't be read."""
        self._known = await self._map.read()
        return [self._record(key, text) for key, text in self._known.data.items()]

    async def begin(self, records: Iterable[LeaseRecord], epoch: int) -> None:
        """Writes them for a new epoch, also if they are the same: a former leader that has read them before can write no more."""
        await self._write(records, {names.ANNOTATION_WRITER_EPOCH: str(epoch)})

    async def write(self, records: Iterable[LeaseRecord]) -> None:
        """Writes all of them in place of those that were there. Fails with ConflictError if anybody else has written since."""
        await self._write(records, {})

    async def _write(self, records: Iterable[LeaseRecord], annotations: dict[str, str]) -> None:
        wanted = {one.grant.lease.holder.replace("/", "."): _text(one) for one in records}
        known = self._known or await self._map.read()
        if annotations or known.data != wanted:
            self._known = await self._map.write(known, wanted, annotations=annotations)

    def _record(self, key: str, text: str) -> LeaseRecord:
        try:
            fields = json.loads(text)
            token, is_tombstone = fields["token"], fields.get("tombstone", False)
            grant = Grant(Lease.from_json(fields["lease"]), token)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(
                f"{self._map}: {key} cannot be read ({error!r}), and it stands for a lease: put it "
                "right, or remove it once no driver of it runs"
            ) from error
        if type(token) is not int or not Epochs.is_token(token):
            raise ValueError(f"{self._map}: {key}: its token {token!r} is not one that an operator gives")
        if type(is_tombstone) is not bool:
            raise ValueError(f"{self._map}: {key}: tombstone is {is_tombstone!r}, which no operator writes")
        return LeaseRecord(grant, is_tombstone)


def in_words(leases: Sequence[Lease], revoke_command: Callable[[str], str]) -> str:
    """Describes them for people, the most helpful part first: whoever shows it may cut off the end. `revoke_command`: what a
    person types to free the lease of a holder."""
    held = "1 held lease" if len(leases) == 1 else f"{len(leases)} held leases"
    commands = "; ".join(
        f"{revoke_command(lease.holder)} (job {lease.job} on {', '.join(lease.tables)})"
        for lease in leases[:MOST_IN_WORDS]
    )
    return (
        f"No object explains {held} (`sluice leases list`). If a job's namespace left watchNamespaces, add it again. Otherwise, "
        f"once you know that its driver is dead, revoke the lease: {commands}"
    )


def _text(record: LeaseRecord) -> str:
    fields = {"lease": record.grant.lease.to_json(), "token": record.grant.token}
    return json.dumps(fields | ({"tombstone": True} if record.is_tombstone else {}))
