"""What the operator's configuration lets the jobs of a namespace ask of their pods."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field, StrictBool

from sluice.api.base import Model
from sluice.api.bounds import EACH_ONCE, NOT_EMPTY
from sluice.api.sql import ONE_LINE
from sluice.api.validation import Checked, matching
from sluice.templates.requested_permissions import PermissionKind, RequestedPermission

FIELD = "jobPermissions"
RESTRICTED_VOLUMES = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
_ALL = ("*",)
_MOST_TOLD = 3

_Pattern = Annotated[
    str,
    Field(min_length=1, max_length=256),
    Checked(matching(ONE_LINE, "must be one line")),
]
_Patterns = Annotated[tuple[_Pattern, ...], Field(max_length=256), Checked(EACH_ONCE)]


class JobPermission(Model):
    """What jobs of some namespaces may ask of their pods. In each pattern * stands for any characters."""

    namespaces: Annotated[tuple[_Pattern, ...], Field(max_length=256), Checked(NOT_EMPTY, EACH_ONCE)] = _ALL
    """The namespaces that this entry is for. The first entry that names a namespace counts for it, and no other."""
    templates: StrictBool = True
    """Whether they may bring an application of their own (`application`)."""
    service_accounts: _Patterns = _ALL
    """The service accounts that their pods may run under, beside those of the runtime profiles."""
    volumes: _Patterns = RESTRICTED_VOLUMES
    """The kinds of volumes that they may mount."""
    settings: _Patterns = _ALL
    """The settings of Spark and Hadoop (as spark.hadoop.) that they may set, as far as Sluice doesn't refuse them."""
    pod_security: Literal["restricted", "privileged"] = "restricted"
    """restricted: nothing may be asked for that the Pod Security Standard of this name refuses; privileged: all."""

    def is_of(self, namespace: str) -> bool:
        return _is_among(namespace, self.namespaces)

    def grants(self, ask: RequestedPermission) -> bool:
        match ask.kind:
            case PermissionKind.TEMPLATE:
                return self.templates
            case PermissionKind.SERVICE_ACCOUNT:
                return _is_among(ask.what, self.service_accounts)
            case PermissionKind.VOLUME:
                return _is_among(ask.what, self.volumes)
            case PermissionKind.SETTING:
                return _is_among(ask.what, self.settings)
            case PermissionKind.PRIVILEGE:
                return self.pod_security == "privileged"
            case PermissionKind.EXCESS:
                return False


@dataclass(frozen=True)
class Permissions:
    given: tuple[JobPermission, ...] = ()
    accounts: Collection[str] = ()
    """The service accounts of the runtime profiles, which the operator's administrator gave to all jobs."""

    def why_not(self, namespace: str, asks: Iterable[RequestedPermission]) -> str | None:
        """Says what jobs of this namespace may not ask for; None if they may have all of it."""
        refused = self.refused(namespace, asks)
        if refused is None:
            return None
        return (
            f"the operator's configuration ({FIELD}) does not let jobs of the namespace {namespace} use {refused}. Remove it, or "
            f"ask the operator's administrator to permit it there"
        )

    def refused(self, namespace: str, asks: Iterable[RequestedPermission]) -> str | None:
        """Names what of it they may not ask for."""
        permission = next((one for one in self.given if one.is_of(namespace)), _USUAL)
        refused = [ask for ask in asks if not self._has_account(ask) and not permission.grants(ask)]
        return _told(refused) if refused else None

    def _has_account(self, ask: RequestedPermission) -> bool:
        return ask.kind is PermissionKind.SERVICE_ACCOUNT and ask.what in self.accounts


def _is_among(one: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(one, pattern) for pattern in patterns)


def _told(refused: Sequence[RequestedPermission]) -> str:
    told = ", ".join(map(str, refused[:_MOST_TOLD]))
    more = len(refused) - _MOST_TOLD
    return f"{told} and {more} more" if more > 0 else told


_USUAL = JobPermission()
NO_ENTRIES = Permissions()
"""All namespaces may have what a restricted one would take."""
