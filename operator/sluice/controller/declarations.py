"""Keeps what the policies of the cluster declare, by table."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from sluice.api.base import Json
from sluice.api.policy import DeltaTablePolicySpec, PolicyTable
from sluice.api.problems import problems_of
from sluice.policies.status import LeftOut
from sluice.tables import Declarations, Names, Policy, TableKey, declarations_of, keys_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _NotUnderstood:
    policy: str
    why: str
    table: tuple[TableKey | None, TableKey | None]


_Read = Policy | _NotUnderstood
_Found = tuple[Declarations, tuple[LeftOut, ...]]
"""The declarations, and which policies do not count, and why."""


def declarations(bodies: Iterable[Json]) -> _Found:
    return _together(map(_read, bodies))


class KnownPolicies:
    """The policies; each is read once per generation, so that a change of one among thousands costs only one."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, _Read]] = {}

    def declarations(self, bodies: Iterable[Json]) -> _Found:
        found: dict[str, tuple[int, _Read]] = {}
        for body in bodies:
            uid, generation = body["metadata"]["uid"], body["metadata"]["generation"]
            known = self._known.get(uid)
            is_same = known is not None and known[0] == generation
            found[uid] = known if known is not None and is_same else (generation, _read(body))
        self._known = found
        return _together(read for _, read in found.values())


def _read(body: Json) -> _Read:
    """Reads one policy. A policy's trouble stays with that policy: otherwise all jobs would wait for it."""
    metadata = body["metadata"]
    called = f"{metadata['namespace']}/{metadata['name']}"
    try:
        spec = DeltaTablePolicySpec.as_stored(body.get("spec"))
        read = Policy(metadata["name"], metadata["namespace"], spec, metadata["creationTimestamp"])
        read.table, read.declared  # noqa: B018 - what the operator fails on, it fails on here
    except ValidationError as error:
        return _NotUnderstood(called, problems_of(error, most=1), _table_alone(body.get("spec")))
    except Exception as error:
        logger.exception("policy %s: the operator failed on it: it does not count", called)
        return _NotUnderstood(called, f"the operator failed on it: {error!r}"[:1024], (None, None))
    return read


def _together(read: Iterable[_Read]) -> _Found:
    policies: list[Policy] = []
    ignored: list[_NotUnderstood] = []
    for one in read:
        if isinstance(one, Policy):
            policies.append(one)
        else:
            ignored.append(one)
    found = declarations_of(policies, [one.table for one in ignored])
    not_understood = [
        LeftOut(one.policy, "NotUnderstood", f"it is not understood and does not count: {one.why}")
        for one in ignored
    ]
    second = [
        LeftOut(
            policy.key,
            "LeftOut",
            f"only its name binding counts, because {older} is an older policy for the same table",
        )
        for policy, older in found.left_out
    ]
    return found, (*not_understood, *second, *_ambiguous(policies, found.names))


def _ambiguous(policies: Iterable[Policy], names: Names) -> Iterator[LeftOut]:
    """Policies that bind a name which others bind elsewhere: told to both, because both would go on believing in theirs."""
    for policy in policies:
        name, location = policy.table
        if name is None or location is None:
            continue
        key = names.key_of(name)
        elsewhere = sorted(key.bound - {location.text})
        if key.is_name and elsewhere:
            yield LeftOut(
                policy.key,
                "Ambiguous",
                f"other policies bind {name} to {', '.join(elsewhere)}, this one binds it to {location}: jobs of this name wait "
                "for writers of any of these, and no driver is told where it leads, until one location is left",
            )


def _table_alone(spec: Any) -> tuple[TableKey | None, TableKey | None]:
    try:
        table = PolicyTable.as_stored(spec.get("table") if isinstance(spec, dict) else None)
    except ValidationError:
        return None, None
    return keys_of(table.name, table.path)
