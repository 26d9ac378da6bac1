"""How leases that nothing explains are written down, and what is said of them."""

from functools import partial
from typing import Any

import pytest

from sluice.api import names
from sluice.installations.unexplained_leases import LeaseRecord, UnexplainedLeases, in_words
from sluice.kube.client import ConflictError
from sluice.leases import Epochs, Grant, Lease
from unit.installations.config_map_server import Server

REVOKE = partial(names.revoke_command, namespace="ops", deployment="sluice")


def test_each_is_told_with_its_command_its_job_and_its_tables() -> None:
    first = Lease("u", 1, "h", "etl/a", ("file:/a", "file:/b"))
    second = Lease("v", 2, "h", "etl/b", ("file:/c",))
    assert in_words([first], REVOKE) == (
        "No object explains 1 held lease (`sluice leases list`). If a job's namespace left watchNamespaces, add it again. "
        "Otherwise, once you know that its driver is dead, revoke the lease: "
        f"{REVOKE('u/1')} (job etl/a on file:/a, file:/b)"
    )
    assert in_words([first, second], REVOKE) == (
        "No object explains 2 held leases (`sluice leases list`). If a job's namespace left watchNamespaces, add it again. "
        "Otherwise, once you know that its driver is dead, revoke the lease: "
        f"{REVOKE('u/1')} (job etl/a on file:/a, file:/b); {REVOKE('v/2')} (job etl/b on file:/c)"
    )


def test_of_many_the_first_are_told_and_their_number() -> None:
    many = [Lease(f"0a6f1f7e-6a1c-4f0e-9d55-{n:012}", 1, "h", "etl/a", ("file:/a",)) for n in range(10_000)]
    said = in_words(many, REVOKE)
    assert said.startswith("No object explains 10000 held leases")
    assert len(said) < 1024


GRANT = Grant(Lease("u", 1, "h", "etl/a", ("file:/a",)), Epochs.token(3, 7))


def records(server: Server) -> UnexplainedLeases:
    kube: Any = server
    return UnexplainedLeases(kube, "ops", "sluice")


async def test_a_tombstone_is_read_as_one_by_whoever_leads_next() -> None:
    server = Server()
    written = [LeaseRecord(GRANT, is_tombstone=True)]
    await records(server).write(written)
    assert await records(server).read() == written


async def test_a_former_leader_that_has_read_them_writes_over_nothing() -> None:
    """Nothing else refuses it: no admission policy judges this ConfigMap."""
    for at_first in ([], [LeaseRecord(GRANT)]):
        server = Server()
        former, leader = records(server), records(server)
        await former.begin(at_first, 7)
        assert await leader.read() == at_first
        await leader.begin(at_first, 8)
        with pytest.raises(ConflictError):
            await former.write([LeaseRecord(GRANT, is_tombstone=True)])
        assert await records(server).read() == at_first
        await leader.write([])
        assert await records(server).read() == []


async def test_what_stands_there_already_is_not_written_once_more() -> None:
    server = Server()
    leader = records(server)
    await leader.read()
    await leader.begin([LeaseRecord(GRANT)], 7)
    await leader.write([LeaseRecord(GRANT)])
    assert server.writes == 1
