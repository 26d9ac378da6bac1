"""Which versions of Kubernetes Sluice runs on."""

import re

from sluice.api.base import Json
from sluice.kube.client import Kube

OLDEST = (1, 29)
"""The first in which the rules of our resources (CEL) are stable. Pods that are created with a scheduling gate, which prove that no
driver starts, need 1.27."""


class TooOldError(Exception):
    """Says which version of Kubernetes was found, and which is needed."""


async def version_of(kube: Kube) -> Json:
    return await kube.ask("/version")


def too_old(version: Json) -> str | None:
    """Why the operator cannot run there; None if it can."""
    found = tuple(_number(version.get(part)) for part in ("major", "minor"))
    if found >= OLDEST:
        return None
    return (
        f"Kubernetes {version.get('gitVersion') or 'of an unknown version'} is too old: Sluice needs "
        f"{OLDEST[0]}.{OLDEST[1]} or later, because older ones do not check the rules of its resources: upgrade the cluster"
    )


def _number(text: object) -> int:
    """The number, also where a provider of clusters adds a sign, as in `31+`."""
    found = re.match(r"[0-9]{1,6}", str(text))
    return int(found[0]) if found else 0
