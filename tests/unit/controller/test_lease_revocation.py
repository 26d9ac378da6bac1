"""Who revokes a lease gives a word that counts, whatever becomes of what is left of it."""

from types import SimpleNamespace
from typing import Any

from sluice.api import names
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.execution.lease_revocation import LeaseRevocation
from sluice.installations.revocation import RevocationRequest
from sluice.kube.client import ApiError
from sluice.tables import TableKey
from unit.lifecycle.objects import LEASE, RUNNING, pod


def nobody_told() -> Any:
    return SimpleNamespace(changed=lambda _: None)


async def test_what_a_driver_may_have_changed_before_it_was_lost_is_told_before_its_lease_goes() -> None:
    order: list[Any] = []
    request = RevocationRequest("1", LEASE.holder)

    async def revoke(lease: Any) -> None:
        order.append(lease)

    async def nothing(*_: Any, **__: Any) -> None: ...

    leadership: Any = SimpleNamespace(
        annotation=lambda name: request.to_json() if name == names.ANNOTATION_REVOKE else None,
        annotate=nothing,
        lease=None,
    )
    leases: Any = SimpleNamespace(is_sure=True, held=[LEASE], unexplained={LEASE}, revoke=revoke)
    quiet: Any = SimpleNamespace(note_death=nothing, tell_of_lease=nothing, tell=nothing)
    tables: Any = SimpleNamespace(changed=order.append)
    await LeaseRevocation(
        world=ClusterCache({}),
        applications=quiet,
        leases=leases,
        leadership=leadership,
        events=quiet,
        tables=tables,
    ).heed()
    assert order == [tuple(map(TableKey.parse, LEASE.tables)), LEASE]


async def test_where_the_word_cannot_be_noted_on_what_is_left_that_is_the_answer_and_others_are_heeded() -> (
    None
):
    """The operator's right to it may be gone with the roles of a namespace that is being deleted. What is left would hold the lease
    again."""
    world = ClusterCache({})
    left = pod(RUNNING, finalizers=None, deletionTimestamp="2026-11-19T10:30:00Z")
    left["status"] |= {"phase": "Failed"}
    world.pods.seen(left)
    revoked = []

    async def revoke(lease: Any) -> None:
        revoked.append(lease)

    async def note_death(_: Any) -> None:
        raise ApiError(403, "Forbidden", "pods is forbidden")

    answers: list[str] = []

    async def annotate(annotations: dict[str, str]) -> None:
        answers.append(annotations[names.ANNOTATION_REVOKED])

    request = RevocationRequest("1", LEASE.holder)
    leadership: Any = SimpleNamespace(
        annotation=lambda name: request.to_json() if name == names.ANNOTATION_REVOKE else None,
        annotate=annotate,
        lease=None,
    )
    leases: Any = SimpleNamespace(is_sure=True, held=[LEASE], unexplained={LEASE}, revoke=revoke)
    applications: Any = SimpleNamespace(note_death=note_death)
    events: Any = None
    revoking = LeaseRevocation(
        world=world,
        applications=applications,
        leases=leases,
        leadership=leadership,
        events=events,
        tables=nobody_told(),
    )
    await revoking.heed()
    assert revoked == []
    [answer] = answers
    assert "pods is forbidden; revoke the lease once that is gone" in answer
