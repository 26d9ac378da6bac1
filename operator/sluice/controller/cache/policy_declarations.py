"""Keeps what the policies of the cluster declare, by table."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from pydantic import ValidationError

from sluice.api.base import Json
from sluice.api.policy import DeltaTablePolicySpec, PolicyTable
from sluice.api.problems import problems_of
from sluice.api.reasons import PolicyReason
from sluice.api.strings import first_of
from sluice.policies.conditions import LeftOut
from sluice.tables import Declarations, Policy, TableKey, declarations_of, keys_of
from sluice.tables.names import NameAndLocation, names_of
from sluice.tables.owners import NOBODY, Owners
from sluice.tables.reported_names import ReportedNames

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _NotUnderstood:
    name: str
    namespace: str
    why: str
    table: NameAndLocation

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class _Squatter:
    table: NameAndLocation
    told: LeftOut | None
    """None: it is not told here, as the operator has written it into its status."""


_Read = Policy | _NotUnderstood | _Squatter
_Found = tuple[Declarations, tuple[LeftOut, ...]]
"""The declarations, and which policies do not count, and why."""


def declarations(bodies: Iterable[Json]) -> _Found:
    """As the operator sees them that wrote their statuses: who may have a policy for which table stands in its configuration."""
    return _together(map(_as_told, bodies), NOBODY)


def _as_told(body: Json) -> _Read:
    return _Squatter(_understood(body).table, None) if _is_told_to_be_no_owner(body) else _read(body, NOBODY)


def _is_told_to_be_no_owner(body: Json) -> bool:
    status = body.get("status")
    if not isinstance(status, dict) or status.get("reason") != PolicyReason.NOT_OWNER.value:
        return False
    return bool(status.get("observedGeneration") == body["metadata"]["generation"])


class PolicyDeclarations:
    """The policies; each is read once per generation, so that a change of one among thousands costs only one."""

    def __init__(self, owners: Owners) -> None:
        self._owners = owners
        self._known: dict[str, tuple[int, _Read]] = {}

    def declarations(self, bodies: Iterable[Json]) -> _Found:
        found: dict[str, tuple[int, _Read]] = {}
        for body in bodies:
            uid, generation = body["metadata"]["uid"], body["metadata"]["generation"]
            known = self._known.get(uid)
            is_same = known is not None and known[0] == generation
            found[uid] = known if known is not None and is_same else (generation, _read(body, self._owners))
        self._known = found
        return _together((read for _, read in found.values()), self._owners)


def with_reports(found: Declarations, reported: ReportedNames, owners: Owners) -> _Found:
    """Adds where names lead by the word of runs. A policy by such a name alone is then for the table that lies there, if it may be,
    unless another policy is for that one: no report takes a table away from a policy. Its author did not know where that is, and so
    not what keeps commits apart there: what it says of that would have others run beside each other, and lose theirs, by the report
    of anybody's run."""
    names = found.names.with_reports(reported.leads, reported.claims)
    by_table = dict(found.by_table)
    left_out: list[LeftOut] = []
    for key, one in found.by_table.items():
        there = names.key_of(key)
        if (
            not key.is_name
            or there.is_name
            or owners.why_not(one.policy.partition("/")[0], [there]) is not None
        ):
            continue
        without_store = replace(one, declared=replace(one.declared, log_store=None))
        counts = by_table.setdefault(there, without_store).policy
        if counts != one.policy:
            del by_table[key]
            why = f"it does not count: runs reported that {key} leads to {there}, and {counts} is the policy for that table"
            left_out.append(LeftOut(one.policy, PolicyReason.LEFT_OUT, why))
    return replace(found, names=names, by_table=by_table), tuple(left_out)


def _read(body: Json, owners: Owners) -> _Read:
    """Reads one policy, if it is for a table of which its namespace may have one."""
    read = _understood(body)
    why = owners.why_not(read.namespace, read.table)
    return read if why is None else _Squatter(read.table, LeftOut(read.key, PolicyReason.NOT_OWNER, why))


def _understood(body: Json) -> Policy | _NotUnderstood:
    """A policy's trouble stays with that policy: otherwise all jobs would wait for it."""
    metadata = body["metadata"]
    called = (metadata["name"], metadata["namespace"])
    try:
        spec = DeltaTablePolicySpec.as_stored(body.get("spec"))
        read = Policy(*called, spec, metadata["creationTimestamp"])
        read.table, read.declared  # noqa: B018 - what the operator fails on, it fails on here
    except ValidationError as error:
        return _NotUnderstood(*called, problems_of(error, most=1), table_of(body))
    except Exception as error:
        logger.exception("policy %s/%s: the operator failed on it: it does not count", *reversed(called))
        return _NotUnderstood(*called, f"the operator failed on it: {error!r}"[:1024], (None, None))
    return read


def _together(read: Iterable[_Read], owners: Owners) -> _Found:
    policies: list[Policy] = []
    ignored: list[_NotUnderstood] = []
    squatters: list[_Squatter] = []
    for one in read:
        if isinstance(one, Policy):
            policies.append(one)
        elif isinstance(one, _Squatter):
            squatters.append(one)
        else:
            ignored.append(one)
    bound = [one.table for one in ignored]
    policies, by_name = _without_squatters_by_name(policies, bound, owners)
    found = declarations_of(policies, bound, [one.table for one in squatters])
    not_understood = [
        LeftOut(one.key, PolicyReason.NOT_UNDERSTOOD, f"it is not understood and does not count: {one.why}")
        for one in ignored
    ]
    second = [
        LeftOut(
            policy.key,
            PolicyReason.LEFT_OUT,
            f"only its name binding counts, because {older} is an older policy for the same table",
        )
        for policy, older in found.left_out
    ]
    told = (one.told for one in squatters if one.told is not None)
    return found, (*told, *by_name, *not_understood, *second, *_ambiguous(policies, found))


def _without_squatters_by_name(
    policies: list[Policy], bound: list[NameAndLocation], owners: Owners
) -> tuple[list[Policy], list[LeftOut]]:
    """A policy that says a name alone is for the table to which others bind it."""
    if not owners.given:
        return policies, []
    names = names_of([*(policy.table for policy in policies), *bound])

    @cache  # thousands of policies may say one name, which leads to as many places
    def why_not(namespace: str, name: TableKey) -> str | None:
        return owners.why_not(namespace, _places(names.key_of(name)))

    kept, squatters = [], []
    for policy in policies:
        name, location = policy.table
        why = None if name is None or location is not None else why_not(policy.namespace, name)
        if why is None:
            kept.append(policy)
        else:
            squatters.append(LeftOut(policy.key, PolicyReason.NOT_OWNER, why))
    return kept, squatters


def _places(key: TableKey) -> Iterator[TableKey]:
    if not key.is_name:
        yield key
    else:
        yield from map(TableKey.parse, sorted(key.bound))


def _ambiguous(policies: Iterable[Policy], found: Declarations) -> Iterator[LeftOut]:
    """Policies that bind a name which others bind elsewhere: told to both, because both would go on believing in theirs. What is
    done for the table of the older one is done by its location, of which there is no doubt."""
    left_out = {policy.key for policy, _ in found.left_out}
    several = _several(policies, found)
    for policy in policies:
        name, location = policy.table
        if name is None or location is None:
            continue
        elsewhere = first_of(one for one in several.get(name, ()) if one != location.text)
        if elsewhere:
            goes_on = policy.key not in left_out
            meanwhile = (
                f"This policy goes on for {location}, by that location"
                if goes_on
                else "Only the name binding of this policy counts, as it is the younger one"
            )
            yield LeftOut(
                policy.key,
                PolicyReason.AMBIGUOUS,
                f"other policies bind {name} to {elsewhere}, this one binds it to {location}: until one location is "
                f"left, jobs of this name wait for writers of any of these, and no driver is told where it leads. {meanwhile}",
                goes_on,
            )


def _several(policies: Iterable[Policy], found: Declarations) -> dict[TableKey, list[str]]:
    """The places of each name that is bound to several: thousands of policies may bind one."""
    names = {name for name, _ in (policy.table for policy in policies) if name is not None}
    keys = {name: found.names.key_of(name) for name in names}
    return {name: sorted(key.bound) for name, key in keys.items() if key.is_name and key.bound}


def table_of(body: Json) -> NameAndLocation:
    """The table of a policy, also of one that is not understood in all else."""
    spec = body.get("spec")
    try:
        table = PolicyTable.as_stored(spec.get("table") if isinstance(spec, dict) else None)
    except ValidationError:
        return None, None
    return keys_of(table.name, table.path)
