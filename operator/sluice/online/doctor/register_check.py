"""The register of the cluster's installations: what an installation claims there, what is in its way, and who stands beside it."""

from collections.abc import AsyncIterator, Iterator, Mapping

from sluice.api import names
from sluice.installations.claims import Claim, Overlap, first_of, overlaps
from sluice.installations.obstacles import REGISTER, obstacle
from sluice.installations.register import Register, identity_of
from sluice.kube.client import ApiError, Kube
from sluice.kube.resources import LEASES
from sluice.online.access.connection import Installation
from sluice.online.access.leader import LeaderLease, leader_in
from sluice.online.doctor.findings import Finding, fail, ok, warn

_CHECK = "installations"
_BACK = "see the operator's log; a claim that somebody deleted comes back within a minute"


async def register_findings(kube: Kube, at: Installation) -> AsyncIterator[Finding]:
    identity = await identity_of(kube, at.namespace, at.deployment)
    register = await Register(kube).read()
    own = _read(register.data, identity.key)
    # What it would claim: of its Redis nothing is known, because the environment of the operator may say another one.
    wanted = own or Claim(identity, at.watch_namespaces, identity.key, "", "", "")
    why = obstacle(register, identity.key, wanted.to_json())
    if own is None:
        leader = await _leader(kube, at)
        lacking = f"it has no claim of {identity.key}"
        if leader.leads:
            lacking += f", though {leader.name} leads: nothing is granted before its claim is there"
        what, cure = (f"{lacking}; {why.what}", why.cure) if why else (lacking, _BACK)
        yield (fail if leader.leads or why else warn)(_CHECK, REGISTER, what, cure)
    elif why is not None:
        message = (
            f"{why.what}: the next change of a claim cannot be written, nor the claim of a new installation"
        )
        yield warn(_CHECK, REGISTER, message, why.cure)
    found = overlaps(wanted, register.data)
    if own is None and at.profiles is None:  # what it would claim isn't known either
        found = [one for one in found if one.other is None]
    for finding in _in_the_way(found):
        yield finding
    others = sorted(key for key in register.data if key != identity.key)
    if own is not None and not found:
        beside = f"beside {first_of(others)}, with which it shares nothing" if others else "the only one"
        yield ok(_CHECK, identity.key, f"{beside}; its Redis is {own.redis}")


def _in_the_way(found: list[Overlap]) -> Iterator[Finding]:
    for one in found:
        if one.other is None:
            cure = f"put the entry right in {REGISTER}, or remove it once that installation is gone: no other one starts before"
        else:
            cure = f"if it is gone for good, delete its Lease; else give each namespaces and a Redis of its own: see {REGISTER}"
        yield fail(_CHECK, one.key, one.why, cure)


def _read(data: Mapping[str, str], key: str) -> Claim | None:
    try:
        return Claim.from_json(data.get(key, ""))
    except (ValueError, RecursionError):
        return None


async def _leader(kube: Kube, at: Installation) -> LeaderLease:
    """Nobody, where it can't be seen: the check of the operator says so."""
    try:
        return leader_in(await kube.get(LEASES, at.namespace, names.leader_lease(at.deployment)))
    except ApiError as error:
        if not error.status:
            raise
        return LeaderLease(None, None)
